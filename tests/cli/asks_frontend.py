#!/usr/bin/env python3
"""Text that the front end and the readers of side files take: rows F1, F2 and F5 to F10 of docs/asks.md."""
import os
import pathlib
import re
import resource
import shutil
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import run_groups  # noqa: E402

SANITIZED = bool(os.environ.get("REVET_SANITIZED"))

PROGRAM = """DRAM<int> a;
DRAM<int> r[n];
void main(int n, bool flip) {
  foreach (n) { int i => r[i] = flip ? -a[i] : a[i] + 1; };
}
"""
PIPELINE = 'name = "x"\nsummary = "s"\n[strategy]\nmain = [\n  "inline",\n  "canonicalize",\n]\n[backend]\nname = "interp"\n'


def deep_ir(s):
    """F1 for the other readers: depth in IR and in pipelines ends in one message."""
    def ifs(n):
        return ("thread.func() {args = [\"c\"], result = void, sym = \"main\"} ({\n^bb0(%c: i1):\n" + "thread.if(%c) ({\n" * n
                + "thread.yield() : () -> ()\n}, {\nthread.yield() : () -> ()\n}) : (i1) -> ()\n" * n
                + "thread.return() : () -> ()\n}) : () -> ()\n")
    s.write("deep.rir", ifs(100000))
    s.case("100000 nested ifs in IR", ["opt", "deep.rir"], 1, ["deep.rir:", "nested too deeply"])
    s.write("deep.rir", ifs(500))
    s.case("500 nested ifs in IR", ["opt", "deep.rir", "--pass", "canonicalize", "-o", "out.rir"], 0)
    s.write("attr.rir", "thread.func() {args = " + "[" * 100000 + "\n")
    s.case("100000 nested lists in IR", ["opt", "attr.rir"], 1, ["attr.rir:1:"])
    for n in (200, 5000, 100000):
        s.write("deep.toml", "[strategy]\nmain = " + "[" * n + "]" * n + "\n")
        s.case(f"{n} nested lists in a pipeline", ["pipeline", "./deep.toml"], 0 if n == 200 else 2, [] if n == 200 else ["deep.toml:"])
    for name, part, n in (("a chain of 2000 strategies", '"${}"', 2000), ("strategies that double 40 times", '"${0}", "${0}"', 40)):
        s.write("deep.toml", '[strategy]\nmain = ["$a0"]\n' + "".join(f"a{i} = [{part.format(f'a{i + 1}')}]\n" for i in range(n))
                + f'a{n} = ["id"]\n')
        limit = lambda: SANITIZED or resource.setrlimit(resource.RLIMIT_AS, (4 << 30,) * 2)  # noqa: E731
        try:
            done = subprocess.run([s.revet, "pipeline", "./deep.toml"], cwd=s.folder, capture_output=True,
                                  timeout=30 if SANITIZED else 3, preexec_fn=limit)
            s.check(f"{name}: done, or a message with a place", done.returncode == 0
                    or (done.returncode == 2 and b"deep.toml:" in done.stderr), f"{done.returncode} {done.stderr[-300:]}")
        except subprocess.TimeoutExpired:
            s.check(f"{name}: three seconds are enough", False)


def seconds(s, statements):
    s.write("long.rvt", f"DRAM<int> a;\nvoid main(int n) {{\n{statements}\n}}\n")
    best = 1e9
    for _ in range(3):
        start = time.monotonic()
        done = s.run(["check", "long.rvt"])
        best = min(best, time.monotonic() - start)
    s.check("it is right", done.returncode == 0, done.stderr[:300])
    return best


def time_to_parse(s):
    """F2: one second is generous for what takes a tenth; growth is measured where a constant no longer counts."""
    if SANITIZED:
        return print("skipped: times mean nothing under sanitizers")
    s.check("10000 terms in a second", seconds(s, "a[0] = n" + " + n" * 10000 + ";") < 1)
    s.check("30 nested parentheses in a second", seconds(s, "a[0] = " + "(" * 30 + "n" + ")" * 30 + ";") < 1)
    s.check("30 nested parentheses at each of 300 places in a second",
            seconds(s, ("a[0] = " + "(n + " * 30 + "n" + ")" * 30 + ";\n") * 300) < 2)
    for name, make in (("terms", lambda n: "a[0] = n" + " + n" * n + ";"), ("statements", lambda n: "a[n] = n + 1;\n" * n),
                       ("conditionals", lambda n: "a[0] = " + "n == 1 ? 2 : " * (n // 100) + "n;")):
        short, double = (seconds(s, make(n)) for n in (20000, 40000))
        s.check(f"time for {name} doubles with the size", double < 3.4 * short + 0.1, f"{short:.3f} s, {double:.3f} s")


def versions(s):
    """F5: the runtime's version is printed, and a pair that was not tested is refused by name."""
    s.case("the runtime's version", ["--version", "--verbose"], 0, [], ["ANTLR runtime: "])
    if not shutil.which("cmake"):
        return print("skipped: no cmake")
    fake = pathlib.Path(s.write("fake/antlr4", '#!/bin/sh\necho "ANTLR Parser Generator  Version 4.5.1"\n'))
    fake.chmod(0o755)
    done = subprocess.run(["cmake", "-S", s.root, "-B", s.folder / "conf", "-G", "Ninja", f"-DREVET_ANTLR={fake}", "-DREVET_TESTS=OFF"],
                          capture_output=True, text=True)
    talk = " ".join((done.stdout + done.stderr).split())
    s.check("another tool is refused, both versions named", done.returncode != 0 and "'4.5.1'" in talk and "runtime '4." in talk
            and "were not tested together" in talk, talk[-800:])


def runs(s, folder, program="p.rvt", pipeline="./p.toml"):
    done = s.run(["run", program, "-p", pipeline, "--data", folder, "--out", "o"])
    return done.returncode, done.stderr, (s.folder / "o/r.bin").read_bytes() if done.returncode == 0 else b""


def line_ends_and_marks(s):
    """F6 and F9: a byte-order mark, CRLF, no last line end: no difference in any text that is read."""
    arguments = "n=2\nflip=0\n"
    s.write("p.rvt", PROGRAM)
    s.write("p.toml", PIPELINE)
    s.write("d/args.txt", arguments)
    s.write("d/a.bin", struct.pack("<2i", 7, 13))
    s.write("d/reported_size.txt", "640\n")
    rir = s.run(["compile", "p.rvt", "-p", "interp"]).stdout.decode()
    plain = runs(s, "d")
    s.check("as it is", plain == (0, b"", struct.pack("<2i", 8, 14)), str(plain))
    marked = "\ufeff"
    forms = {"CRLF": lambda t: t.replace("\n", "\r\n"), "no last line end": lambda t: t.rstrip("\n"), "a mark": lambda t: marked + t,
             "a mark and CRLF": lambda t: marked + t.replace("\n", "\r\n"), "CRLF, no last": lambda t: t.replace("\n", "\r\n").rstrip()}
    for name, change in forms.items():
        s.write("f.rvt", change(PROGRAM))
        s.check(f"a program with {name}", runs(s, "d", "f.rvt") == plain, str(runs(s, "d", "f.rvt")))
        one, two = (s.run(["compile", f, "-p", "interp"]).stdout.replace(b'"f.rvt"', b'"p.rvt"') for f in ("p.rvt", "f.rvt"))
        s.check(f"a program with {name}: the same IR, columns too", one == two and one)
        s.write("f.toml", change(PIPELINE))
        s.check(f"a pipeline with {name}", s.run(["pipeline", "./f.toml"]).stdout == s.run(["pipeline", "./p.toml"]).stdout)
        s.write("f.rir", change(rir))
        s.check(f"IR with {name}", runs(s, "d", "f.rir") == plain, str(runs(s, "d", "f.rir")))
        s.write("e/args.txt", change(arguments))
        s.write("e/a.bin", struct.pack("<2i", 7, 13))
        s.write("e/reported_size.txt", change("640\n").lstrip(marked))
        s.check(f"arguments with {name}", runs(s, "e") == plain, str(runs(s, "e")))
    s.write("f.rvt", marked + "void main() { x = 1; }\n")
    s.case("columns behind a mark", ["check", "f.rvt"], 1, ["f.rvt:1:15: error: "])
    s.write("f.toml", marked + 'nam = "x"\n[strategy]\nmain = []\n')
    s.case("columns behind a mark in a pipeline", ["pipeline", "./f.toml"], 2, ["f.toml:1:1: error: "])
    for name, text, place in (("twice", marked * 2 + "void main() {}\n", "1:1"), ("later", "void main() {}\n" + marked + "\n", "2:1")):
        s.case(f"a mark {name}", ["check", s.write("f.rvt", text)], 1, [f":{place}: error: "])
    s.case("a mark twice in a pipeline", ["pipeline", s.write("f.toml", marked * 2 + PIPELINE)], 2, ["f.toml:1:1: error: "])
    s.case("a lone CR in a pipeline", ["pipeline", s.write("f.toml", PIPELINE.replace("\n", "\r", 1))], 2, ["f.toml:1:"])


def literals(s):
    """F7: what does not fit is an error with a place in every radix; the least value can be written."""
    def value(text, kind="int"):
        s.write("l.rvt", f"DRAM<{kind}> r[1];\nvoid main() {{ r[0] = {text}; }}\n")
        done = s.run(["run", "l.rvt", "-p", "interp", "--out", "lo"])
        if done.returncode != 0:
            return done.stderr.decode().splitlines()[0]
        return struct.unpack({"int": "<i", "uint": "<I", "float": "<f"}[kind], (s.folder / "lo/r.bin").read_bytes())[0]

    for text, want in (("-2147483648", -2**31), ("0x7fffffff", 2**31 - 1), ("-0x80000000", -2**31), ("0b" + "1" * 31, 2**31 - 1),
                       ("'\\xff'", 255), ("2147483647", 2**31 - 1)):
        s.check(f"{text}", value(text) == want, str(value(text)))
    s.check("the largest uint", value("4294967295", "uint") == 2**32 - 1 and value("0xffffffff", "uint") == 2**32 - 1)
    s.check("the largest float", value("3.4028235e38", "float") == struct.unpack("<f", b"\xff\xff\x7f\x7f")[0])
    s.check("the least float", value("1.401298464324817e-45", "float") == struct.unpack("<f", b"\1\0\0\0")[0])
    for text in ("4294967296", "0x100000000", "0b1" + "0" * 32, "99999999999999999999999", "0x" + "f" * 40, "4294967296u", "'\\x100'", "1e39",
                 "1e999999999", "'ab'", "0xg", "0b2", "1e", "12abc", "0x", "08"):
        got = value(text)
        s.check(f"{text} is an error with a place", re.match(r"l.rvt:2:2\d: error: ", str(got)), str(got))


def bounds_and_races(s):
    """F8 and F10."""
    s.write("u.rvt", "DRAM<int> a[9];\nvoid main(uint u) {\n  for (uint k = u; k >= 0; k--) { a[k] = 1; if (k == 0) break; }\n}\n")
    s.case("a countdown that cannot end", ["check", "u.rvt"], 0, ["u.rvt:3:20: warning: ", "always true"])
    for head in ("0u - 1u", "2147483647 + 1", "0 to 4294967295u + 2u", "n to 5 by 0x80000000", "int8(100) to 300", "5 by 0"):
        index = "uint" if "u" in head else "int8" if "int8" in head else "int"
        s.write("b.rvt", f"DRAM<int> a;\nvoid main(int n) {{\n  foreach ({head}) {{ {index} i => a[i] = 1; }};\n}}\n")
        s.case(f"the bound of {head} wraps", ["check", "b.rvt"], 1, ["b.rvt:3:"])
    s.write("w.rvt", "DRAM<int> r[1];\nvoid main(uint n) {\n  foreach (n - 1u by 2000000000) { uint i => atomic_add(r[0], 1); };\n}\n")
    s.case("a bound that wraps in the run is defined", ["run", "w.rvt", "-p", "interp", "--arg", "n=0", "--out", "wo"], 0)
    s.check("it is 4294967295", struct.unpack("<i", (s.folder / "wo/r.bin").read_bytes())[0] == 3)
    s.write("race.rvt", "DRAM<int> a[4];\nvoid main(int n) {\n  foreach (4) { int i =>\n    a[0] = i; };\n}\n")
    s.case("writes that must race are found in the text", ["check", "race.rvt"], 0, ["race.rvt:4:5: warning: "])
    run = ["run", "race.rvt", "-p", "interp", "--arg", "n=4"]
    s.case("a race is seen in a run", run, 0, ["race.rvt:4:5: warning: ", "[-Wrace]"])
    s.case("a race as an error", [*run, "--races", "error"], 1, ["race.rvt:4:5: "])
    s.write("fine.rvt", "DRAM<int> a[4];\nvoid main(int n) {\n  foreach (4) { int i => a[i] = i; };\n"
            "  foreach (4) { int i => atomic_add(a[0], i); };\n}\n")
    done = s.case("no race, no word", ["run", "fine.rvt", "-p", "interp", "--arg", "n=4", "--races", "error"], 0)
    s.check("no race, no warning", not done.stderr, done.stderr)


if __name__ == "__main__":
    sys.exit(run_groups(deep_ir, time_to_parse, versions, line_ends_and_marks, literals, bounds_and_races))
