#!/usr/bin/env python3
"""The command line's contract: exit codes, where messages go, what they say.

Each case is (name, words, exit code, texts that stderr must hold, texts that stdout must hold)."""
import json
import os
import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import Suite, run_groups  # noqa: F401

PROGRAM = """DRAM<int> a;
DRAM<int> r[n];
void main(int n, bool flip, float scale) {
  foreach (n) { int i => r[i] = flip ? -a[i] : a[i] + int(scale); };
}
"""


def usage(s):
    s.case("no command", [], 2, ["a command is missing", "Usage"])
    s.case("unknown command", ["compil"], 2, ["did you mean 'compile'"])
    s.case("unknown option", ["check", "--verbos", "x.rvt"], 2, ["did you mean '--verbose'"])
    s.case("help", ["--help"], 0, [], ["Usage: revet", "Exit status", "REVET_PLUGIN_PATH"])
    s.case("version", ["--version"], 0, [], ["revet 0."])
    for command in ("compile", "run", "opt", "check", "pipeline", "passes", "backends", "ops", "pipelines", "plugins"):
        s.case(f"help of {command}", [command, "--help"], 0, [], [f"Usage: revet {command}", "--plugin"])
    s.case("missing input", ["check"], 2, ["an input file is missing"])
    s.case("two inputs", ["check", "a.rvt", "b.rvt"], 2, ["too many arguments"])
    s.case("no such file", ["check", "no.rvt"], 2, ["cannot read no.rvt: No such file"])
    s.case("a folder", ["check", "dir.rvt"], 2, ["Is a directory"])
    s.case("another kind of file", ["check", "x.cpp"], 2, ["expected a .rvt or a .rir file"])
    s.case("empty program", ["check", s.write("empty.rvt", "")], 1, ["main"])
    s.case("bad --verify", ["check", "p.rvt", "--verify", "eech"], 2, ["did you mean 'each'"])
    s.case("unknown warning", ["check", "p.rvt", "-Wnarowing"], 2, ["did you mean 'narrowing'"])
    s.case("stdin", ["check", "-"], 0, stdin=PROGRAM.encode())
    s.case("stdin with an error", ["check", "-"], 1, ["<stdin>:1:"], stdin=b"int x")


def lists(s):
    s.case("passes", ["passes"], 0, [], ["canonicalize", "inline"])
    s.case("a pass", ["passes", "inline"], 0, [], ["establishes inlined"])
    s.case("unknown pass", ["passes", "inlin"], 2, ["did you mean 'inline'"])
    s.case("backends", ["backends"], 0, [], ["interp", "openmp"])
    s.case("an op", ["ops", "thread.foreach"], 0, [], ["lo, hi, step"])
    s.case("unknown op", ["ops", "thread.forech"], 2, ["did you mean 'thread.foreach'"])
    s.case("pipelines", ["pipelines"], 0, [], ["openmp"])
    for what in ("passes", "backends", "ops", "pipelines", "plugins"):
        done = s.case(f"{what} as JSON", [what, "--json"], 0)
        s.check(f"{what} --json parses", isinstance(json.loads(done.stdout), list))
    for what, names in (("passes", ["inline", "canonicalize"]), ("backends", ["interp", "openmp"])):
        for name in names:
            s.check(f"{name} --json parses", json.loads(s.run([what, name, "--json"]).stdout)["name"] == name)


def pipelines(s):
    def bad(name, text, messages, code=2):
        s.write("bad.toml", text)
        s.case(name, ["pipeline", "./bad.toml"], code, messages)

    strategy = '[strategy]\nmain = ["inline", "canonicalize"]\n'
    bad("TOML syntax", 'name = "x\n', ["bad.toml:1:"])
    bad("unknown key", 'nam = "x"\n' + strategy, ["bad.toml:1:1: error: unknown key 'nam'", "did you mean 'name'", "^~~"])
    bad("wrong type", "name = 3\n" + strategy, ["bad.toml:1:8: error: name must be a string, found an integer"])
    bad("no main", '[strategy]\nother = []\n', ["no strategy 'main'"])
    bad("unknown pass", '[strategy]\nmain = ["inlin"]\n', ["bad.toml:2:9: error: there is no pass 'inlin'", "'inline'"])
    bad("unknown option", '[strategy]\nmain = [{ pass = "inline", max-opps = 3 }]\n', ["bad.toml:2:28", "did you mean 'max-ops'"])
    bad("bad option value", '[strategy]\nmain = [{ pass = "inline", max-ops = true }]\n', ["bad.toml:2:38", "expects an integer", "got the boolean 'true'"])
    bad("reserved key", strategy + "[search]\n", ["'search' is reserved"])
    bad("unknown verb", '[strategy]\nmain = [{ tri = "inline" }]\n', ["bad.toml:2:11: error: unknown key 'tri'", "did you mean 'try'"])
    bad("reserved verb", '[strategy]\nmain = [{ search = "x" }]\n', ["bad.toml:2:11: error: 'search' is reserved"])
    bad("unmet requirement", '[strategy]\nmain = []\n[backend]\nname = "openmp"\n',
        ["bad.toml:4:8", "requires 'inlined'", "pass 'inline' does"])
    bad("unknown backend", strategy + '[backend]\nname = "opnmp"\n', ["there is no backend 'opnmp'", "'openmp'"])
    bad("unknown strategy", '[strategy]\nmain = ["$mem"]\nmemory = []\n', ["there is no strategy 'mem'"])
    bad("recursive strategy", '[strategy]\nmain = ["$main"]\n', ["contains itself"])
    bad("missing include", 'include = ["no.toml"]\n' + strategy, ["bad.toml:1:12", "No such file"])
    bad("defined twice", '[strategy]\nmain = []\nx = []\n[param]\nx = 3\n', ["'x' is defined twice"])
    s.case("no such pipeline", ["pipeline", "opnmp"], 2, ["did you mean 'openmp'"])

    s.write("inc/common.toml", '[strategy]\nclean = ["canonicalize"]\nmain = ["count-ops"]\n[param]\nlimit = 7\n')
    s.write("good file.toml", """name = "a \\"quoted\\" name\\n"
summary = "s"
include = ["inc/common.toml"]
[param]
limit = { values = [5, 9], default = 5 }
[strategy]
main = [{ pass = "inline", max-ops = "$limit" }, "$clean", "count-ops", "$clean", { pass = "canonicalize", id = "last" }]
[backend]
name = "openmp"
threads = 2
""")
    first = s.case("a whole pipeline", ["pipeline", "./good file.toml"], 0, ["'limit' replaces"],
                   ['max-ops = 5', 'id = "last"', "threads = 2"])
    s.write("again.toml", first.stdout)
    again = s.case("reading back", ["pipeline", "./again.toml"], 0)
    s.check("printing again is identical", again.stdout == first.stdout)
    s.case("--set of a parameter", ["pipeline", "./good file.toml", "--set", "limit=9"], 0, [], ["max-ops = 9"])
    s.case("--set outside the values", ["pipeline", "./good file.toml", "--set", "limit=6"], 2, ["one of 5, 9, not 6"])
    s.case("--set of an option", ["pipeline", "./good file.toml", "--set", "inline.max-ops=11"], 0, [], ["max-ops = 11"])
    s.case("--set of an unknown id", ["pipeline", "./good file.toml", "--set", "inlin.max-ops=11"], 2, ["did you mean 'inline'"])
    s.case("--set of the backend", ["pipeline", "./good file.toml", "--set", "backend.threads=3"], 0, [], ["threads = 3"])
    out = s.case("--disable", ["pipeline", "./good file.toml", "--disable", "canonicalize#2"], 0).stdout.decode()
    s.check("--disable removes one", out.count('"canonicalize"') == 2)
    s.case("--disable of an unknown id", ["pipeline", "./good file.toml", "--disable", "canonicalise"], 2, ["'canonicalize'"])
    s.case("--enable", ["pipeline", "openmp", "--enable", "bounds-check"], 0, [], ["bounds-check"])
    for name in ("interp", "openmp"):
        once = s.run(["pipeline", name]).stdout
        s.write("shipped.toml", once)
        s.check(f"{name} reads back", s.run(["pipeline", "./shipped.toml"]).stdout == once and once != b"")


def data(s):
    program = s.write("p.rvt", PROGRAM)
    s.write("d/args.txt", "n=3\r\nflip=false\r\nscale=1.5\r\n")
    s.write("d/a.bin", struct.pack("<3i", 1, 2, 3))
    s.write("want/r.bin", struct.pack("<3i", 2, 3, 4))
    run = ["run", program, "-p", "interp", "--data"]
    stats = s.case("a run", [*run, "d", "--check", "want", "--out", "o", "--stats", "st.json"], 0, [], ["outputs equal want"])
    s.check("the output", (s.folder / "o/r.bin").read_bytes() == struct.pack("<3i", 2, 3, 4))
    figures = json.loads((s.folder / "st.json").read_text())
    s.check("the figures", figures["app"] == "p" and figures["target"] == "interp" and figures["threads"] == 4
            and figures["bytes"] == 24 and figures["checked"] == "expected" and figures["host_threads"] == 1, str(figures))
    s.check("input arrays are not written", not (s.folder / "o/a.bin").exists())
    s.case("--arg wins", [*run, "d", "--arg", "flip=1", "--check", "want"], 4, ["r[0] is -1, expected 2"])
    s.case("--arg of a bad bool", [*run, "d", "--arg", "flip=2"], 1, ["expects 0, 1, true or false"])
    s.case("--arg of an unknown name", [*run, "d", "--arg", "flop=1"], 1, ["did you mean 'flip'"])
    s.case("--arg without a value", [*run, "d", "--arg", "flip"], 2, ["expected NAME=VALUE"])
    s.case("argument too large", [*run, "d", "--arg", "n=4294967296"], 1, ["from -2147483648 to 4294967295"])
    s.case("negative size", [*run, "d", "--arg", "n=4294967295"], 1, ["p.rvt:2:", "negative size -1"])
    s.case("no data", ["run", program, "-p", "interp"], 1, ["argument 'n' is missing"])
    s.case("no data folder", [*run, "nowhere"], 1, ["nowhere"])
    s.case("no pipeline", ["run", program, "--data", "d"], 2, ["-p PIPELINE"])
    s.case("missing file to check", [*run, "d", "--check", "d"], 2, ["r.bin"])
    s.case("bad tolerance", [*run, "d", "--check", "want", "--tolerance", "x"], 2, ["REL[,ABS]"])
    s.case("step limit", [*run, "d", "--max-steps", "3"], 3, ["max-steps = 3"])
    s.case("a flag of another backend", ["run", program, "-p", "openmp", "--data", "d", "--seed", "1"], 2, ["--seed"])
    s.write("short/args.txt", "n=3\nflip=0\nscale=0\n")
    s.case("missing array", [*run, "short"], 1, ["p.rvt:1:", "array 'a' has no size", "a.bin"])
    s.write("short/a.bin", b"1234567")
    s.case("odd size", [*run, "short"], 1, ["7 bytes", "no multiple of the element's 4"])
    s.write("short/a.bin", b"1234")
    s.case("out of bounds", [*run, "short"], 1, ["p.rvt:4:", "index 1 is outside array 'a' of size 1 (read)"])
    s.write("short/r.bin", b"1234")
    s.case("length differs from the size", [*run, "short"], 1, ["array 'r' has size 3", "holds 1 elements"])
    s.write("short/args.txt", "n=3\nflip=0\nscale=1\0x\n")
    s.case("a NUL behind a number", [*run, "short"], 1, ["args.txt:3:1", "expects a number"])
    s.write("short/args.txt", "n=3\nn=4\n")
    s.case("argument twice", [*run, "short"], 1, ["args.txt:2:1", "given twice"])
    header = b"{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }"
    numpy = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.ljust(117) + b"\n"
    s.write("np/args.txt", "n=3\nflip=0\nscale=1\n")
    s.write("np/a.npy", numpy + struct.pack("<3i", 1, 2, 3))
    s.case("NumPy input", [*run, "np", "--check", "want"], 0)
    s.write("np/a.npy", numpy.replace(b"<i4", b"<f4") + struct.pack("<3i", 1, 2, 3))
    s.case("NumPy of another type", [*run, "np"], 1, ["needs '<i4'"])
    s.write("np/a.npy", numpy)
    s.case("NumPy cut short", [*run, "np"], 1, ["shorter or longer"])
    s.write("f.rvt", "DRAM<float> r[1];\nvoid main(float x) { r[0] = x / 3.0; }\n")
    s.write("fw/r.bin", struct.pack("<f", 0.3334))
    f = ["run", "f.rvt", "-p", "interp", "--arg", "x=1", "--check", "fw"]
    s.case("floats differ exactly", f, 4, ["r[0] is 0.33333334, expected 0.3334"])
    s.case("floats agree within a tolerance", [*f, "--tolerance", "1e-3"], 0, [], ["within tolerance 1e-3"])
    s.case("floats differ beyond it", [*f, "--tolerance", "1e-5,1e-6"], 4)


def files(s):
    program = s.write("p.rvt", PROGRAM)
    s.case("to a file", ["compile", program, "-p", "openmp", "-o", "out dir's.cpp"], 0)
    s.check("source and header", (s.folder / "out dir's.cpp").exists() and (s.folder / "out dir's.h").exists())
    s.check("the source includes its header", '#include "out dir\'s.h"' in (s.folder / "out dir's.cpp").read_text())
    s.case("rir on request", ["compile", program, "-p", "openmp", "--emit", "rir"], 0, [], ["thread.foreach"])
    s.case("no source from interp", ["compile", program, "-p", "interp", "--emit", "source"], 2, ["no backend that emits"])
    s.case("full disk", ["compile", program, "-p", "openmp", "--emit", "rir", "-o", "/dev/full"], 2, ["/dev/full", "No space"])
    s.case("no such folder", ["compile", program, "-p", "openmp", "-o", "no/such.cpp"], 2, ["no/such"])
    s.case("a folder as output", ["compile", program, "-p", "openmp", "-o", "."], 2)
    old = s.write("old.rir", "old")
    s.case("a failing compile leaves the old file", ["opt", "broken.rir", "-o", old], 2)
    s.check("the old file is there", pathlib.Path(old).read_text() == "old")
    with open("/dev/full", "w") as full:
        done = subprocess.run([s.revet, "passes"], stdout=full, stderr=subprocess.PIPE)
        s.check("stdout full", done.returncode == 2 and b"<stdout>" in done.stderr, done.stderr)
    s.case("dumps", ["compile", program, "-p", "openmp", "--emit", "rir", "--dump-after", "all", "--dump-dir", "."], 0)
    dumps = sorted(p.name for p in s.folder.glob("0*.rir"))
    s.check("numbered dumps", dumps == ["001-inline.rir", "002-canonicalize.rir"], str(dumps))
    text = s.run(["opt", "002-canonicalize.rir"]).stdout
    dump = (s.folder / "002-canonicalize.rir").read_bytes()
    header, body = dump.split(b"\n", 1)
    s.check("a dump reads back identically", text == body and text != b"")
    s.check("a dump says what made it", b'after pass \'canonicalize\' (2 of 3): { pass = "canonicalize" }' in header, header)
    s.case("--dump-after of an unknown id", ["compile", program, "-p", "openmp", "--dump-after", "inlin"], 2, ["'inline'"])
    s.case("--stop-after", ["opt", "002-canonicalize.rir", "--pass", "count-ops", "--print-pass-stats"], 0, ["thread.foreach"])
    s.case("--time-passes", ["opt", "002-canonicalize.rir", "--pass", "canonicalize", "--time-passes"], 0, ["(verify)", "(total)"])
    done = s.run(["opt", "002-canonicalize.rir", "--pass", "canonicalize", "--time-passes=json"])
    rows = json.loads(done.stderr)
    s.check("time rows add up", abs(sum(r["seconds"] for r in rows["rows"]) - rows["total"]["seconds"]) < 1e-9)
    s.case("broken IR", ["opt", s.write("b.rir", "thread.func() : () -> ()\n")], 1, ["b.rir:1:1", "verifier check 1"])
    s.case("IR that does not parse", ["opt", s.write("c.rir", "thread.func(\n")], 1, ["c.rir:2:1", "expected"])
    done = s.run(["check", s.write("j.rvt", "void main() { x = 1; }\n"), "--diagnostics=json"])
    d = json.loads(done.stderr.splitlines()[0])
    s.check("JSON diagnostics", (d["line"], d["col"], d["severity"]) == (1, 15, "error") and d["file"].endswith("j.rvt"), str(d))
    plain = s.run(["check", "j.rvt"]).stderr
    s.check("no colour when redirected", b"\x1b" not in plain)
    s.check("colour on request", b"\x1b" in s.run(["check", "j.rvt", "--color=always"]).stderr)


def plugins(s):
    s.case("no such plugin", ["passes", "--plugin", "/no/such.so"], 2, ["/no/such.so", "no such file"])
    s.case("empty plugin name", ["passes", "--plugin", ""], 2, ["cannot load plugin ''"])
    s.case("not a plugin", ["passes", "--plugin", s.write("text.so", "hello")], 2, ["text.so", "no ELF header"])
    s.case("empty file", ["passes", "--plugin", s.write("empty.so", "")], 2, ["the file is empty"])
    s.case("a library", ["passes", "--plugin", s.revet], 2, ["not a revet plugin", ".revet.abi"])
    s.case("both are listed", ["passes", "--plugin", "./text.so", "--plugin", "./empty.so"], 2, ["text.so", "empty.so"])
    s.case("a bare name lists what was tried", ["passes", "--plugin", "nothere"], 2, ["tried", "libnothere.so"])
    directory = pathlib.Path(s.revet).resolve().parent.parent / "lib/revet/plugins"
    binary = (directory / "libinline.so").read_bytes()
    s.write("other.so", binary.replace(b"compiler=", b"compilex="))
    s.case("another fingerprint", ["passes", "--plugin", "./other.so"], 2, ["rebuild the plugin", "plugin:", "revet:"])
    s.case("cut short", ["passes", "--plugin", s.write("cut.so", binary[:5000])], 2, ["cut.so"])
    s.case("the same file twice", ["passes", "--plugin", str(directory / "libinline.so"), "--plugin", str(directory / "libinline.so")], 0)
    link = s.folder / "link.so"
    os.symlink(directory / "libinline.so", link)
    s.case("the same file by a link", ["passes", "--plugin", str(directory / "libinline.so"), "--plugin", str(link)], 0)
    s.write("copy.so", binary)
    s.case("two plugins of one name", ["passes", "--plugin", "./copy.so", "--plugin", str(directory / "libinline.so")], 2,
           ["already loaded from", "copy.so"])
    s.case("faulty files matter only if needed", ["passes", "--plugin-path", "."], 0, [], ["inline"])
    s.case("plugins says what is faulty", ["plugins", "--plugin-path", "."], 0, [], ["text.so", "cannot be used"])


def prepare(s):
    (s.folder / "dir.rvt").mkdir()
    s.write("p.rvt", PROGRAM)


if __name__ == "__main__":
    sys.exit(run_groups(prepare, usage, lists, pipelines, data, files, plugins))
