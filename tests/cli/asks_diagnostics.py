#!/usr/bin/env python3
"""Messages about programs, IR, pipelines and data: rows D1 to D8 and L3 of docs/asks.md."""
import json
import os
import pathlib
import random
import re
import sys
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import run_groups  # noqa: E402

PROGRAM = """DRAM<int> a;
DRAM<int> r[n];
void main(int n, bool flip, float scale) {
  foreach (n) { int i => r[i] = flip ? -a[i] : a[i] + int(scale); };
}
"""

# Words of the parser's own making; a user knows none of them.
JARGON = re.compile(r"viable alternative|extraneous input|mismatched input|token recognition|<EOF>|<missing|"
                    r"\b(?:IDENT|NUMBER|CHARACTER|STRAY|[LR]PAREN|[LR]BRACE|SEMICOLON|ARROW|MEMORY)\b")
LOCATED = re.compile(r"^[^:\n]+:[1-9]\d*:[1-9]\d*: error: .", re.M)


def programs(s):
    root = pathlib.Path(s.root).resolve()
    return sorted([*root.glob("tests/programs/*.rvt"), *root.glob("apps/*/*.rvt")])


def prepare(s):
    s.write("p.rvt", PROGRAM)
    s.write("in.rir", s.run(["compile", "p.rvt", "-p", "interp"]).stdout)
    s.write("d/args.txt", "n=3\nflip=0\nscale=1\n")
    s.write("d/a.bin", bytes(12))


def independent_mistakes(s):
    """D2, and the form of D5."""
    text = "DRAM<int> a;\nint f(int x) { return x + ; }\nint g(int x) { return y; }\nvoid main() {\n\t a[0] = f(1) g(2); }\n"
    s.write("three.rvt", text)
    done = s.case("three mistakes in three functions", ["check", "three.rvt"], 1)
    err = done.stderr.decode()
    s.check("three errors", re.findall(r"^three.rvt:(\d+:\d+): error: ", err, re.M)
            == ["2:27", "3:23", "5:15"], err)
    s.write("many.rvt", "void main() {\n" + "".join(f"  x{i} = 1;\n" for i in range(30)) + "}\n")
    for limit, shown in ((None, 20), (1, 1), (29, 29), (30, 30), (1000, 30)):
        words = ["check", "many.rvt", *([] if limit is None else ["--max-errors", str(limit)])]
        err = s.case(f"at most {limit} errors", words, 1).stderr.decode()
        s.check(f"at most {limit} errors: that many", err.count(": error: ") == shown, err)
        note = f"{30 - shown} more errors are not shown; --max-errors N shows more"
        s.check(f"at most {limit} errors: the rest is counted", (note in err) == (shown < 30), err)
    for limit in ("-1", "x", "1.5", ""):
        s.case(f"--max-errors '{limit}'", ["check", "many.rvt", "--max-errors", limit], 2, ["max-errors"])
    for words in (["check", "many.rvt"], ["pipeline", s.write("two.toml", '[strategy]\nmain = ["inlin"]\n')],
                  ["opt", s.write("no.rir", "x\n")]):
        for form in ("text", "json"):
            done = s.run([*words, "--max-errors", "0", "--diagnostics", form])
            s.check(f"{words[0]} --max-errors 0 as {form} says why it fails", done.returncode and done.stderr, done.stderr)


def bytes_that_are_no_text(s):
    """D3: located, exit 1, no exception's text; also where the only fault is in a comment."""
    for name, bad, message in (("Latin-1", b"\xe9", "invalid UTF-8 byte 0xE9"), ("a lone continuation", b"\x80", "invalid UTF-8 byte 0x80"),
                               ("a cut sequence", b"\xe2\x82", "invalid UTF-8 byte 0xE2"), ("overlong", b"\xc0\xaf", "invalid UTF-8 byte 0xC0"),
                               ("a surrogate", b"\xed\xa0\x80", "invalid UTF-8 byte 0xED"),
                               ("above U+10FFFF", b"\xf5\x80\x80\x80", "invalid UTF-8 byte 0xF5"),
                               ("NUL", b"\0", "NUL")):
        for where, text, at in (("in a comment", b"void main() {}\n// \xc3\xa9 %s\n", "2:6"), ("in code", b"void main() { %s }\n", "1:15"),
                                ("at the end", b"void main() {}\n%s", "2:1"), ("at the start", b"%s void main() {}\n", "1:1")):
            s.write("bytes.rvt", text % bad)
            done = s.case(f"{name} {where}", ["check", "bytes.rvt"], 1, [f"bytes.rvt:{at}: error: {message}"])
            s.check(f"{name} {where}: no exception", not re.search(rb"std::|what\(\)|exception|terminate called", done.stderr), done.stderr)
            s.check(f"{name} {where}: output is text", b"\0" not in done.stderr, done.stderr)
    s.case("in IR", ["opt", s.write("bytes.rir", b"// \xe9\nx\0\n")], 1, ["bytes.rir:"])
    s.write("b/args.txt", b"n=3\nflip=\xe9\nscale=1\n")
    s.write("b/a.bin", bytes(12))
    s.case("in arguments", ["run", "p.rvt", "-p", "interp", "--data", "b"], 1, ["b/args.txt:2:"])
    done = s.run(["run", "p.rvt", "-p", "interp", "--data", "b", "--diagnostics=json"])
    s.check("in arguments, as JSON", done.returncode == 1 and json.loads(done.stderr.splitlines()[0]), done.stderr)


def places(s):
    """D4: each message names the file that holds the text it is about."""
    s.write("inc.toml", '[strategy]\nx = ["inlin"]\n')
    s.write("main.toml", 'include = ["inc.toml"]\n[strategy]\nmain = ["$x"]\n')
    s.case("an included pipeline", ["pipeline", "./main.toml"], 2, ["inc.toml:2:6: error: ", "'inlin'"])
    s.case("an included pipeline, from elsewhere", ["pipeline", "../" + s.folder.name + "/main.toml"], 2, ["/inc.toml:2:6: error: "])
    s.case("IR", ["opt", s.write("x.rir", '%a = mem.dram() {sym = "a"} : () -> (dram<i32>)\n%a\n')], 1, ["x.rir:3:1: error: "])
    s.case("IR of a program", ["run", "in.rir", "-p", "interp", "--data", "d", "--arg", "n=4"], 1, ["p.rvt:4:", "array 'a'"])
    run = ["run", "p.rvt", "-p", "interp", "--data"]
    for name, file, text, message in (("an argument", "args.txt", "n=3\nflip=7\nscale=1\n", "args.txt:2:1: error: "),
                                      ("no argument", "args.txt", "n=3\n\nflip\n", "args.txt:3:1: error: "),
                                      ("a size to report", "reported_size.txt", "x\n", "reported_size.txt:1:1: error: "),
                                      ("NumPy data", "a.npy", "no", "a.npy"), ("data", "a.bin", "12345", "a.bin")):
        folder = f"side {file} {name}"
        for keep in ("args.txt", "a.bin"):
            if not (file.startswith("a.") and keep == "a.bin"):
                s.write(f"{folder}/{keep}", (s.folder / "d" / keep).read_bytes())
        s.write(f"{folder}/{file}", text)
        s.case(f"{name}", [*run, folder], 1, [f"{folder}/{message}"])
    s.case("the command line", [*run, "d", "--arg", "flip=7"], 1, ["--arg", "'flip'"])
    s.case("an option on the command line", [*run, "d", "--set", "backend.seed=x"], 2, ["--set backend.seed=x", "'seed'"])
    s.case("a pass on the command line", ["opt", "in.rir", "--pass", "inline{max-ops=x}"], 2, ["--pass inline{max-ops=x}", "'max-ops'"])


def form(s):
    """D5: carets stand under the place, whatever is before it."""
    for name, before, width in (("a tab", "\t", 8), ("wide characters", "/* \u6f22\u5b57 */ ", 11), ("accents", "/* e\u0301\u00e9 */ ", 9)):
        s.write("form.rvt", f"void main() {{\n{before}int v = missing;\n}}\n")
        err = s.run(["check", "form.rvt"]).stderr.decode().splitlines()
        column = len(before) + 9
        s.check(f"behind {name}", len(err) == 3 and err[0] == f"form.rvt:2:{column}: error: 'missing' is not declared"
                and err[2] == " " * (width + 8) + "^~~~~~~", "\n".join(err))
    for name, words in (("a program", ["check", "form.rvt"]), ("IR", ["opt", s.write("form.rir", "x\n")]),
                        ("a pipeline", ["pipeline", s.write("form.toml", "x\n")])):
        first = s.run(words).stderr.decode().splitlines()[0]
        s.check(f"of {name}: in lower case, without a full stop", re.search(r": error: [a-z'0-9].*[^.]$", first), first)
    for words in (["check", "form.rvt"], ["check", "nothere.rvt"], ["pipeline", "opnmp"]):
        row = json.loads(s.run([*words, "--diagnostics=json"]).stderr.splitlines()[0])
        s.check(f"{words}: as JSON", {"file", "line", "col", "message", "pass", "severity"} <= set(row), str(row))


def no_false_warnings(s):
    """D6: with every warning on, a right program is told nothing about names that are used."""
    flags = ["-Wbounds", "-Wnarrowing", "-Wpragma", "-Wrace", "-Wtautology"]
    s.write("used.rvt", "const int in_size = 4;\nconst int in_array = 16;\nDRAM<int> a[in_array * n];\nvoid main(int n, int in_child) {\n"
            "  SRAM<int, in_size> m;\n  foreach (n) { int i => foreach (2) { int k => a[in_child + k] = m[0]; }; };\n}\n")
    s.check("all warnings, no warning", s.run(["check", "used.rvt", *flags]).stderr == b"", s.run(["check", "used.rvt", *flags]).stderr)
    for path in programs(s):
        err = s.run(["check", str(path), *flags]).stderr.decode("utf-8", "replace")
        s.check(f"{path.name}: no word of unused names", not re.search(r"warning: .*(unused|never used|not used)", err), err)


def tokens(text):
    return re.findall(rb"\s+|[A-Za-z_]\w*|\d+|.", text, re.S)


ODD = [b"", b"0", b"-1", b"2147483648", b"99999999999999999999", b"1e39", b"nan", b'"', b"\0", b"\xff", b"$x", b"[", b"{", b"}", b"i33"]


def mutations(texts, count, seed):
    """The texts with a few tokens or bytes changed, the same ones in every run."""
    rng = random.Random(seed)
    for _ in range(count):
        words = tokens(rng.choice(texts))
        for _ in range(rng.choice([1, 1, 2, 3])):
            i = rng.randrange(len(words) + 1)
            j = min(len(words), i + rng.randrange(1, 6))
            kind = rng.randrange(6)
            if kind == 0:
                words[i:j] = []
            elif kind == 1:
                words[i:i] = words[i:j] * rng.choice([1, 30])
            elif kind == 2:
                other = tokens(rng.choice(texts)) or [b" "]
                k = rng.randrange(len(other))
                words[i:j] = other[k:k + rng.randrange(1, 30)]
            elif kind == 3:
                words[i:j] = [rng.choice(ODD)]
            elif kind == 4:
                words[i:] = []
            else:
                words[i:j] = [bytes(rng.randrange(256) if rng.random() < 0.3 else b for b in b"".join(words[i:j]))]
        yield b"".join(words)


def mutated(s):
    """D7, L3, D1: whatever the text is, the end is success or a message with a place, in the language's own terms."""
    rvt = [p.read_bytes() for p in programs(s) if p.stat().st_size < 20000]
    rir = [p.read_bytes() for p in sorted(pathlib.Path(s.root).resolve().glob("plugins/*/tests/*.rir"))]
    rir = [text for text in rir if b"flow.graph" not in text]  # which these passes and backends do not take
    rir += [s.run(["compile", str(p), "-p", "interp"]).stdout for p in programs(s)[-9:]]
    toml = [p.read_bytes() for p in sorted(pathlib.Path(s.root).resolve().glob("pipelines/*.toml"))]
    toml += [b'name = "x"\nsummary = ""\n[param]\np = { values = [2, 4], default = 4 }\n[strategy]\nmain = ["inline", "$m", { try = { at ='
             b' "foreach", pick = "innermost", do = "id" } }, { if = "!has-op while", then = ["canonicalize"], else = "fail" },\n'
             b'{ normalize = [], max = 3 }, { times = "$p", do = { repeat = "canonicalize", max = 2 } }]\n'
             b'm = [{ any-of = ["id", "fail"], default = 0 }, { pass = "inline", max-ops = 30, id = "i", disabled = true }]\n'
             b'[backend]\nname = "openmp"\nthreads = 2\n']
    jobs = []
    for kind, texts, count, commands in (
            ("rvt", rvt, 300, [["compile", "%", "-p", "openmp", "--enable", "bounds-check", "-o", "/dev/null"]]),
            ("rir", rir, 200, [["opt", "%", "--pass", "inline", "--pass", "canonicalize", "-o", "/dev/null"],
                               ["compile", "%", "-p", "openmp", "-o", "/dev/null"],
                               ["run", "%", "-p", "interp", "--max-steps", "2000"]]),
            ("toml", toml, 200, [["pipeline", "./%"], ["opt", "in.rir", "-p", "./%", "-o", "/dev/null"]])):
        for number, text in enumerate(mutations(texts, count, 20240501)):
            file = f"m{number}.{kind}"
            s.write(file, text)
            jobs += [(kind, file, [w.replace("%", file) for w in command]) for command in commands]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda job: s.run(job[2]), jobs))
    failed = 0
    for (kind, file, words), done in zip(jobs, results):
        err = done.stderr.decode("utf-8", "replace")
        allowed = {"rvt": (0, 1), "rir": (0, 1, 3), "toml": (0, 1, 2)}[kind]
        failed += done.returncode != 0
        problems = []
        if done.returncode not in allowed:
            problems.append(f"exit {done.returncode}")
        if done.returncode != 0 and not err:
            problems.append("nothing on stderr")
        if re.search(r"internal error|exception|std::|terminate called", err):
            problems.append("an internal error")
        if done.returncode != 0 and kind != "rir" and not LOCATED.search(err):
            problems.append("no place")
        if kind == "rvt" and (JARGON.search("\n".join(t for t in err.splitlines() if ": error: " in t))):
            problems.append("the parser's words")
        for line in err.splitlines():
            expected = re.search(r"error: expected (.*?)(?: after .*)?, found", line)
            if expected and kind == "rvt" and len(re.split(r", (?:or )?| or ", expected[1])) > 5:
                problems.append(f"too many alternatives: {line}")
        s.check(f"a mutation, {' '.join(words)}", not problems,
                f"{'; '.join(problems)}\n{err}\n{(s.folder / file).read_bytes()!r}" if problems else "")
    s.check("mutations are refused and accepted", len(jobs) // 20 < failed < len(jobs) - len(jobs) // 20, f"{failed} of {len(jobs)}")


# Texts that once ended in a crash or an internal error; what they are told.
FOUND_IR = [
    ("a value used before its region, in a text that ends too early",
     'thread.func() {args = [], result = void, sym = "main"} ({\n^bb0(%q: i32):\n  %u = arith.neg(%i) : (i32) -> (i32)\n'
     "  thread.foreach(%q) ({\n  ^bb1(%i: i32):\n    x\n", "found.rir:6:5: error: "),
]
FOUND = [
    ("DRAM<int> o;\nvoid main() {\n  o;\n}\n", "found.rvt:3:3: error: 'o' is a DRAM array"),
    ("DRAM<int> o;\nvoid main(int n) {\n  for (o; n < 3; o) { n++; }\n}\n", "found.rvt:3:8: error: 'o' is a DRAM array"),
    ("DRAM<int> o;\nvoid main() {\n  ReadIt<4> it(o, 0);\n  it;\n}\n", "found.rvt:4:3: error: 'it' is"),
]


def found(s):
    for text, message in FOUND:
        s.write("found.rvt", text)
        s.case(f"found: {text!r}", ["compile", "found.rvt", "-p", "openmp"], 1, [message])
    for name, text, message in FOUND_IR:
        s.write("found.rir", text)
        s.case(f"found: {name}", ["opt", "found.rir"], 1, [message])


def absent_parts(s):
    """D8: what is not there is named, with what works without it."""
    for cxx in ("/no/such/c++", "false", "no-such-compiler"):
        done = s.run(["run", "p.rvt", "-p", "openmp", "--data", "d"], env=dict(os.environ, CXX=cxx, REVET_CACHE_DIR=str(s.folder)))
        s.check(f"CXX={cxx}", done.returncode == 2 and cxx.encode() in done.stderr and b"openmp" in done.stderr, done.stderr)
    for name in ("cuda", "plasticine", "nothing-like-it"):
        s.case(f"pipeline {name}", ["compile", "p.rvt", "-p", name], 2, [f"'{name}'", "interp", "openmp"])
    s.case("a form of output that no backend makes", ["compile", "p.rvt", "-p", "openmp", "--emit", "config"], 2, ["rir", "source"])


if __name__ == "__main__":
    sys.exit(run_groups(prepare, independent_mistakes, bytes_that_are_no_text, places, form, no_false_warnings, mutated, found, absent_parts))
