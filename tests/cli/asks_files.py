#!/usr/bin/env python3
"""Files that are written: whole or not at all. Row C19 of docs/asks.md."""
import hashlib
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import run_groups  # noqa: E402

PROGRAM = """DRAM<int> a;
DRAM<int> r[n];
DRAM<int> q[n];
void main(int n) {
  foreach (n) { int i => r[i] = a[i] + 1; q[i] = a[i] * 3; };
}
"""
OLD = b"what was there before\n"


def prepare(s):
    s.umask = os.umask(0o022)
    os.umask(s.umask)
    s.write("p.rvt", PROGRAM)
    s.write("d/args.txt", "n=4\n")
    s.write("d/a.bin", struct.pack("<4i", 1, 2, 3, 4))
    s.run_words = ["run", "p.rvt", "-p", "interp", "--data", "d"]
    # Each way to write a file: the words, and the file that is named.
    s.ways = {
        "compile -o": (["compile", "p.rvt", "-p", "openmp", "-o", "%/x.cpp"], "x.cpp"),
        "compile --emit rir -o": (["compile", "p.rvt", "-p", "openmp", "--emit", "rir", "-o", "%/x.rir"], "x.rir"),
        "compile --emit dot -o": (["compile", "p.rvt", "-p", "openmp", "--emit", "dot", "-o", "%/x.dot"], "x.dot"),
        "opt -o": (["opt", "p.rvt", "--pass", "inline", "-o", "%/x.rir"], "x.rir"),
        "run --out": ([*s.run_words, "--out", "%"], "r.bin"),
        "run --stats": ([*s.run_words, "--stats", "%/s.json"], "s.json"),
        "--strategy-trace": (["compile", "p.rvt", "-p", "openmp", "-o", "x.cpp", "--strategy-trace", "%/t.jsonl"], "t.jsonl"),
        "--dump-dir": (["compile", "p.rvt", "-p", "openmp", "-o", "x.cpp", "--dump-after", "all", "--dump-dir", "%"], "001-inline.rir"),
        "--write-reproducer": (["compile", "p.rvt", "-p", "openmp", "-o", "x.cpp", "--write-reproducer", "%"], "input.rir"),
    }


def words_in(words, folder):
    return [w.replace("%", folder) for w in words]


def replaced(s):
    """An old file is replaced by another one at the end: who has it open sees no change."""
    for name, (words, file) in s.ways.items():
        folder = s.folder / f"new {name}"
        folder.mkdir()
        path = folder / file
        path.write_bytes(OLD)
        with open(path, "rb") as before:
            done = s.case(f"{name} over an old file", words_in(words, folder.name), 0)
            s.check(f"{name}: the old file is whole where it is open", before.read() == OLD)
        s.check(f"{name}: the new one is there", path.read_bytes() not in (OLD, b""), done.stderr)
        s.check(f"{name}: nothing else is left", not list(folder.glob(".*")) and not list(folder.glob("*tmp*")), str(list(folder.iterdir())))
        mode = path.stat().st_mode & 0o777
        s.check(f"{name}: the mode of a new file", mode == 0o666 & ~s.umask, oct(mode))


def failed_runs(s):
    """A run that fails leaves what was there, whatever the reason."""
    s.write("bad.rvt", "void main() { x = 1; }\n")
    s.write("short/args.txt", "n=5\n")
    s.write("short/a.bin", struct.pack("<4i", 1, 2, 3, 4))
    toys = str(pathlib.Path(s.revet).resolve().parent.parent / "tests/plugins/libtoy-passes.so")
    for name, words, file, code in (
            ("a wrong program", ["compile", "bad.rvt", "-p", "openmp", "-o", "f/x.cpp"], "x.cpp", 1),
            ("a pass that fails", ["opt", "p.rvt", "--plugin", toys, "--pass", "refuse", "-o", "f/x.rir"], "x.rir", 1),
            ("no such pass", ["opt", "p.rvt", "--pass", "inlin", "-o", "f/x.rir"], "x.rir", 2),
            ("a wrong access", ["run", "p.rvt", "-p", "interp", "--data", "short", "--out", "f"], "r.bin", 1),
            ("a wrong access, figures", ["run", "p.rvt", "-p", "interp", "--data", "short", "--stats", "f/s.json"], "s.json", 1),
            ("a limit on steps", [*s.run_words, "--max-steps", "3", "--out", "f"], "r.bin", 3),
            ("no backend that emits", ["compile", "p.rvt", "-p", "interp", "--emit", "source", "-o", "f/x.cpp"], "x.cpp", 2),
            ("no compiler", ["run", "p.rvt", "-p", "openmp", "--data", "d", "--out", "f"], "r.bin", 2)):
        path = pathlib.Path(s.write(f"f/{file}", OLD))
        done = s.run(words, env=dict(os.environ, CXX="/no/such/compiler"))
        s.check(f"{name}: exit {code}", done.returncode == code and done.stderr, f"{done.returncode} {done.stderr}")
        s.check(f"{name}: the old file survives", path.read_bytes() == OLD)
        s.check(f"{name}: nothing else is left", len(list(path.parent.iterdir())) == 1, str(list(path.parent.iterdir())))
        path.unlink()
        s.run(words, env=dict(os.environ, CXX="/no/such/compiler"))
        s.check(f"{name}: no file where there was none", not list(path.parent.iterdir()), str(list(path.parent.iterdir())))


def full_disk(s):
    for words in (["compile", "p.rvt", "-p", "openmp", "--emit", "rir", "-o", "/dev/full"], ["opt", "p.rvt", "-o", "/dev/full"],
                  [*s.run_words, "--stats", "/dev/full"], ["compile", "p.rvt", "-p", "openmp", "-o", "x.cpp", "--strategy-trace", "/dev/full"]):
        s.case(" ".join(words), words, 2, ["/dev/full", "No space left"])
    s.write("long.rvt", "DRAM<int> a;\nvoid main(int n) {\n" + "".join(f"  a[{i}] = n * {i} + a[n + {i}];\n" for i in range(3000)) + "}\n")
    asked = [["--help"], ["--version"], ["--version", "--verbose"], ["--print-abi"], ["--print-search-dirs"], ["passes"], ["passes", "--json"],
             ["backends"], ["ops"], ["pipelines"], ["plugins"], ["pipeline", "openmp"], ["run", "--help"], ["reference", "man"],
             ["compile", "p.rvt", "-p", "openmp"], ["compile", "long.rvt", "-p", "openmp"], ["opt", "long.rvt"], ["opt", "p.rvt", "-o", "-"],
             s.run_words, [*s.run_words, "--stats", "-"], ["compile", "p.rvt", "-p", "openmp", "-o", "x.cpp", "--strategy-trace", "-"]]
    for words in asked:
        with open("/dev/full", "wb") as full:
            done = subprocess.run([s.revet, *words], cwd=s.folder, stdout=full, stderr=subprocess.PIPE)
        s.check(f"{' '.join(words)} with no space on stdout", done.returncode == 2 and b"<stdout>" in done.stderr, f"{done.returncode} {done.stderr}")
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([s.revet, *words], cwd=s.folder, stdout=write, stderr=subprocess.PIPE)
        os.close(write)
        s.check(f"{' '.join(words)} to nobody", done.returncode == 2 and b"<stdout>" in done.stderr, f"{done.returncode} {done.stderr}")
        done = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', s.revet, *words], cwd=s.folder, stderr=subprocess.PIPE)
        s.check(f"{' '.join(words)} with stdout closed", done.returncode == 2 and done.stderr, f"{done.returncode} {done.stderr}")
    for name, (words, file) in s.ways.items():
        folder = s.folder / f"closed {name}"
        folder.mkdir()
        # A file that is opened must not become stdout or stderr.
        subprocess.run(["sh", "-c", 'exec "$0" "$@" >&- 2>&-', s.revet, *words_in(words, folder.name)], cwd=s.folder)
        again = s.folder / f"open {name}"
        again.mkdir()
        s.run(words_in(words, again.name))
        if file not in ("s.json", "t.jsonl"):
            s.check(f"{name} with all closed: the file is the same", (folder / file).read_bytes() == (again / file).read_bytes())


def read_only(s):
    """A folder that may not be written to: exit 2 with the path, nothing in it."""
    user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    s.folder.chmod(0o755)
    folder = s.folder / "read only"
    folder.mkdir()
    for name, (words, file) in s.ways.items():
        if name != "run --out":
            (folder / file).write_bytes(OLD)
    folder.chmod(0o555)
    scratch = s.folder / "scratch"
    scratch.mkdir()
    scratch.chmod(0o777)
    for name, (words, file) in s.ways.items():
        words = [w.replace("x.cpp", "scratch/x.cpp") if w == "x.cpp" else w for w in words]
        try:
            done = s.run(words_in(words, folder.name), env=dict(os.environ, REVET_CACHE_DIR=str(scratch)), **user)
        except PermissionError:
            return print("skipped: the build folder is closed to other users")
        s.check(f"{name} in a folder that is read only", done.returncode == 2 and b"read only" in done.stderr
                and b"Permission denied" in done.stderr, f"{done.returncode} {done.stderr}")
        if name != "run --out":
            s.check(f"{name}: the old file survives", (folder / file).read_bytes() == OLD)
    folder.chmod(0o755)
    locked = pathlib.Path(s.write("locked.rvt", PROGRAM))
    locked.chmod(0)
    done = s.run(["check", "locked.rvt"], **user)
    s.check("a program that may not be read", done.returncode == 2 and b"locked.rvt: Permission denied" in done.stderr, done.stderr)


def killed(s):
    """SIGKILL at any moment leaves the old file or the new one."""
    rng = random.Random(7)
    n = 1 << 21
    s.write("k/args.txt", f"n={n}\n")
    s.write("k/a.bin", bytes(4 * n))
    s.write("copy.rvt", "DRAM<int> a;\nDRAM<int> r[n];\nvoid main(int n) { foreach (2) { int i => r[i] = 1 + a[i]; }; }\n")
    for name, words, files in (
            ("compile -o", ["compile", "long.rvt", "-p", "openmp", "-o", "k/o.cpp"], ["o.cpp", "o.h"]),
            ("dumps", ["opt", "long.rvt", "--pass", "inline", "--pass", "canonicalize", "--dump-after", "all", "--dump-dir", "k", "-o", "k/o.rir"],
             ["001-inline.rir", "002-canonicalize.rir", "o.rir"]),
            ("run --out", ["run", "copy.rvt", "-p", "interp", "--data", "k", "--out", "k/out", "--stats", "k/s.json"], ["out/r.bin", "s.json"])):
        start = time.monotonic()
        s.case(f"{name}, not killed", words, 0)
        length = time.monotonic() - start
        digest = lambda p: hashlib.sha256(p.read_bytes()).digest()  # noqa: E731
        new = {f: digest(s.folder / "k" / f) for f in files}
        hit = 0
        for _ in range(12):
            for file in files:
                (s.folder / "k" / file).write_bytes(OLD)
            process = subprocess.Popen([s.revet, *words], cwd=s.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(length * rng.random())
            process.kill()
            hit += process.wait() != 0
            for file in files:
                path = s.folder / "k" / file
                whole = path.read_bytes() == OLD or digest(path) == new[file]
                if file == "s.json" and not whole:
                    whole = json.loads(path.read_text())["app"] == "copy"
                s.check(f"{name}: {file} is whole", whole)
        s.check(f"{name}: some were hit", hit > 2, str(hit))
        for left in (s.folder / "k").rglob(".*tmp"):
            left.unlink()


def interrupted(s):
    """SIGINT: exit 130, no temporary file, the old file."""
    for number in range(8):
        pathlib.Path(s.write("i/o.cpp", OLD))
        process = subprocess.Popen([s.revet, "compile", "long.rvt", "-p", "openmp", "-o", "i/o.cpp"], cwd=s.folder, stderr=subprocess.PIPE)
        time.sleep(0.01 + 0.01 * number)
        process.send_signal(2)
        err = process.communicate()[1]
        s.check("interrupted", process.returncode in (0, 130) and (process.returncode == 0 or b"interrupted" in err), f"{process.returncode} {err}")
        s.check("nothing is left", not list((s.folder / "i").glob(".*")), str(list((s.folder / "i").iterdir())))
    cache = s.folder / "cache"
    slow = pathlib.Path(s.write("slow-c++", '#!/bin/sh\n[ "$1" = --version ] && { echo slow 1; exit; }\nexec sleep 20\n'))
    slow.chmod(0o755)
    process = subprocess.Popen([s.revet, "run", "p.rvt", "-p", "openmp", "--data", "d"], cwd=s.folder, stderr=subprocess.PIPE, start_new_session=True,
                               env=dict(os.environ, CXX=str(slow), REVET_CACHE_DIR=str(cache), TMPDIR=str(s.folder)))
    end = time.monotonic() + 20
    while not list(cache.glob("*/*.cpp")) and time.monotonic() < end:
        time.sleep(0.01)
    start = time.monotonic()
    os.killpg(process.pid, 2)
    process.communicate()
    s.check("interrupted while the C++ compiler runs", process.returncode == 130 and time.monotonic() - start < 1.5,
            f"{process.returncode}, {time.monotonic() - start:.1f} s")
    s.check("nothing is left of it", not list(cache.iterdir()), str(list(cache.iterdir())))


if __name__ == "__main__":
    sys.exit(run_groups(prepare, replaced, failed_runs, full_disk, read_only, killed, interrupted))
