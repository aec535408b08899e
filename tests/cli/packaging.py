#!/usr/bin/env python3
"""What is made from the option tables (reference pages, man page, completion) and the Debian package."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import run_groups


def reference(s):
    for page in ("passes", "ops", "backends", "options", "machine"):
        made = s.run(["reference", page]).stdout.decode()
        s.check(f"docs/reference/{page}.md is what the program says (tools/docs.sh rewrites it)",
                made == pathlib.Path(s.root, f"docs/reference/{page}.md").read_text())
    s.case("unknown page", ["reference", "optoins"], 2, ["did you mean 'options'"])
    man = s.run(["reference", "man"]).stdout.decode().replace("\\-", "-")
    commands = re.findall(r"^  ([a-z-]+) ", s.run(["--help"]).stdout.decode().split("Options")[0], re.M)
    s.check("commands are found", len(commands) > 10, commands)
    for command in commands:
        text = s.run([command, "--help"]).stdout.decode()
        options = set(re.findall(r"--[a-z][a-z-]*", text))
        missing = [o for o in options if f"{o}" not in man]
        s.check(f"the man page has every option of {command}", len(options) > 20 and not missing, missing)


def complete(s, *words):
    script = s.write("revet.bash", s.run(["reference", "bash"]).stdout)
    quoted = " ".join(f"'{w}'" for w in (s.revet, *words))
    done = subprocess.run(["bash", "-c", f"source '{script}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _revet; "
                           "printf '%s\\n' \"${COMPREPLY[@]}\""], capture_output=True, text=True, cwd=s.folder)
    s.check(f"completion of {words} talks to nobody", done.stderr == "", done.stderr)
    return done.stdout.split()


def completion(s):
    s.check("commands", complete(s, "comp") == ["compile"])
    s.check("options of a command", complete(s, "run", "--tol") == ["--tolerance"])
    s.check("options of all commands", complete(s, "opt", "--strategy") == ["--strategy-trace"])
    s.check("pipelines", "openmp" in complete(s, "compile", "-p", "op"))
    s.check("passes", complete(s, "opt", "--pass", "cano") == ["canonicalize"])
    s.check("ops", "thread.foreach" in complete(s, "ops", "thread.fo"))


def debian_package(s):
    build = pathlib.Path(s.revet).resolve().parent.parent
    done = subprocess.run(["cpack", "-B", s.folder / "pkg"], cwd=build, capture_output=True, text=True)
    s.check("cpack", done.returncode == 0, done.stdout + done.stderr)
    package = next((s.folder / "pkg").glob("*.deb"))
    root = s.folder / "root"
    subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    control = subprocess.run(["dpkg-deb", "-I", package], capture_output=True, text=True).stdout
    s.check("depends on a compiler and the libraries", "g++" in control and "libantlr4" in control, control)
    for path in ("bin/revet", "lib/librevet.so", "lib/revet/plugins/libinline.so", "include/revet/plugin.hpp",
                 "lib/cmake/Revet/RevetConfig.cmake", "share/man/man1/revet.1", "share/doc/revet/LICENSE",
                 "share/bash-completion/completions/revet", "share/zsh/site-functions/_revet",
                 "share/revet/pipelines/openmp.toml", "share/revet/templates/pass/CMakeLists.txt"):
        s.check(f"the package has {path}", (root / "usr" / path).exists())
    program = s.write("p.rvt", "DRAM<int> a[1]; void main() { a[0] = 3; }")
    done = subprocess.run([root / "usr/bin/revet", "compile", program, "-p", "openmp"], capture_output=True, text=True)
    s.check("the packaged program runs", done.returncode == 0 and "a[0] = 3" in done.stdout, done.stderr)


if __name__ == "__main__":
    sys.exit(run_groups(reference, completion, debian_package))
