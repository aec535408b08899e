#!/usr/bin/env python3
"""A stranger's view: installs to a prefix with a space in its name, moves it, reaches it through a
symlink, and from that alone generates a plugin of each kind, builds, tests and runs it."""
import hashlib
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import run_groups


def run(*words, **options):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=600, **options)
    return done.returncode, done.stdout + done.stderr


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def install(s):
    build = pathlib.Path(s.revet).resolve().parent.parent
    code, talk = run("cmake", "--install", build, "--prefix", s.folder / "first place")
    s.check("installs", code == 0, talk)
    (s.folder / "first place").rename(s.folder / "second place")
    (s.folder / "link").symlink_to("second place")
    s.prefix = s.folder / "link"
    s.host = s.prefix / "bin/revet"
    s.host_digest = digest(s.host)
    s.write("p.rvt", "DRAM<int> a[4]; void main() { foreach (4) { int i => a[i] = i * 8; }; }")
    code, s.before = run(s.host, "compile", s.folder / "p.rvt", "-p", "openmp")
    s.check("the moved host runs", code == 0 and "a[i]" in s.before, s.before)


def build(s, source):
    start = time.monotonic()
    code, talk = run("cmake", "-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={s.prefix}",
                     "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    s.check(f"{source.name} configures", code == 0, talk)
    code, talk = run("cmake", "--build", source / "build")
    s.check(f"{source.name} builds", code == 0, talk)
    s.check(f"{source.name} builds in under a minute", time.monotonic() - start < 60)


def generate(s, kind, name):
    code, talk = run(s.host, "new-plugin", name, "--kind", kind, cwd=s.folder)
    s.check(f"new-plugin {kind}", code == 0 and f"{name}/ is a complete {kind} plugin" in talk, talk)
    source = s.folder / name
    left = [str(p) for p in source.rglob("*") if p.is_file() and (b"example-" + kind.encode() in p.read_bytes() or
            "example" in p.name)]
    s.check("every name was replaced", not left, left)
    build(s, source)
    code, talk = run("ctest", "--test-dir", source / "build", "--output-on-failure")
    s.check(f"the tests of a new {kind} pass", code == 0 and "No tests were found" not in talk, talk)
    return source / "build"


def new_pass(s):
    made = generate(s, "pass", "my-pass")
    code, talk = run(s.host, "passes", "my-pass", "--plugin-path", made)
    s.check("passes lists it", code == 0 and "libmy-pass.so" in talk, talk)
    code, talk = run(s.host, "compile", s.folder / "p.rvt", "-p", "openmp", "--emit", "rir", "-o", s.folder / "p.rir")
    s.check("compile", code == 0, talk)
    code, talk = run(s.host, "opt", s.folder / "p.rir", "--plugin", made / "libmy-pass.so", "--pass", "my-pass")
    s.check("it runs", code == 0 and "arith.shl" in talk, talk)
    code, after = run(s.host, "compile", s.folder / "p.rvt", "-p", "openmp", "--plugin-path", made)
    s.check("output is the same with an unused plugin", code == 0 and after == s.before, after)
    code, after = run(s.host, "compile", s.folder / "p.rvt", "-p", "openmp", "--plugin", made / "libmy-pass.so")
    s.check("output is the same with a loaded plugin", code == 0 and after == s.before, after)


def new_op(s):
    made = generate(s, "op", "my-op")
    code, talk = run(s.host, "ops", "my_op.average", "--plugin-path", made)
    s.check("ops describes it", code == 0, talk)


def new_backend(s):
    made = generate(s, "backend", "my-backend")
    code, talk = run(s.host, "backends", "--plugin-path", made)
    s.check("backends lists it", code == 0 and "my-backend" in talk, talk)
    lines = len((s.folder / "my-backend/my_backend.cpp").read_text().splitlines())
    s.check("it has at most 300 lines", lines <= 300, lines)


def mistakes(s):
    def bad(name, words, text):
        code, talk = run(s.host, "new-plugin", *words, cwd=s.folder)
        s.check(name, code == 2 and text in talk, talk)
    bad("no name", [], "a name is missing")
    bad("a path", ["../x"], "is no name for a plugin")
    bad("upper case", ["Mine"], "is no name for a plugin")
    bad("a target of CMake", ["test"], "CMake needs it")
    bad("kind", ["x", "--kind", "pas"], "did you mean 'pass'")
    bad("taken", ["my-pass"], "is there already")


def stranger(s):
    """The plugin of docs/plugins.md; throws a type of the host, which the host knows."""
    source = s.folder / "stranger"
    source.mkdir()
    for path in pathlib.Path(s.root, "tests/sdk").iterdir():
        (source / path.name).write_bytes(path.read_bytes())
    build(s, source)
    opt = [s.host, "opt", s.folder / "p.rir", "--plugin", source / "build/libstranger.so", "-o", s.folder / "out.rir"]
    code, talk = run(*opt, "--pass", "count-stores", "--print-pass-stats")
    s.check("counts", code == 0 and "count-stores: unchanged" in talk and "1  stores" in talk, talk)
    s.check("changes nothing", (s.folder / "out.rir").read_bytes() == (s.folder / "p.rir").read_bytes())
    code, talk = run(*opt, "--pass", "count-stores{refuse=true}")
    s.check("an exception of the host's type is known", code == 1 and "refused, as asked" in talk, talk)
    source = s.folder / "consumer"
    source.mkdir()
    (source / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(consumer LANGUAGES CXX)\n"
                                           "find_package(revet REQUIRED)\nadd_executable(consumer main.cpp)\n"
                                           "target_link_libraries(consumer PRIVATE Revet::revet)\n")
    (source / "main.cpp").write_text("#include <revet/text.hpp>\nint main() { return revet::print(revet::Module()) != \"\"; }\n")
    build(s, source)
    code, talk = run(source / "build/consumer")
    s.check("a consumer of five lines runs", code == 0, talk)
    s.check("the host is the same, byte for byte", digest(s.host) == s.host_digest)


if __name__ == "__main__":
    sys.exit(run_groups(install, new_pass, new_op, new_backend, mistakes, stranger))
