#!/usr/bin/env python3
"""Pipeline files and options of passes: rows L1 to L14 of docs/asks.md."""
import difflib
import json
import os
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import run_groups  # noqa: E402

PROGRAM = """DRAM<int> a;
DRAM<int> r[n];
void main(int n, bool flip) {
  foreach (n) { int i => r[i] = flip ? -a[i] : a[i] + 1; };
}
"""

CALLS = """DRAM<int> r[4];
int f(int x) { return x + 1; }
void main(int n) { r[0] = f(f(n)); }
"""


def prepare(s):
    s.write("p.rvt", PROGRAM)
    s.write("calls.rvt", CALLS)
    s.write("d/args.txt", "n=2\nflip=0\n")
    s.write("d/a.bin", b"\1\0\0\0\2\0\0\0")
    s.write("in.rir", s.run(["compile", "p.rvt", "-p", "interp"]).stdout)
    build = pathlib.Path(s.revet).resolve().parent.parent
    s.toys = str(build / "tests/plugins/libtoy-passes.so")


# What is wrong with a file, and the places and words of its errors: L1, L4, L5, L6.
FAULTS = [
    ("a string that does not end", 'name = "x\n', [(1, 10, "")]),
    ("a key given twice", 'name = "x"\nname = "y"\n', [(2, 8, "name")]),
    ("bad UTF-8", b'[strategy]\nmain = []\n# \xff\n', [(3, 3, "utf-8")]),
    ("NUL", b'[strategy]\nmain = []\nx\0 = 3\n', [(3, 2, "")]),
    ("behind a tab and wide characters", '[strategy]\nmain = [ # \u6f22\n\t"inlin"]\n', [(3, 2, "'inlin'")]),
    ("with CRLF", '[strategy]\r\nmain = [\r\n  "inlin"]\r\n', [(3, 3, "'inlin'")]),
    ("behind a byte-order mark", '\ufeff[strategie]\nmain = []\n', [(1, 2, "'strategie'")]),
    ("an unknown key at the top", '[strategy]\nmain = []\n[machin]\n', [(3, 2, "did you mean 'machine'")]),
    ("an unknown key beside a verb", '[strategy]\nmain = [{ repeat = "inline", mx = 3 }]\n',
     [(2, 30, "did you mean 'max'")]),
    ("an unknown key of a parameter", '[strategy]\nmain = []\n[param]\np = { vaules = [1], default = 1 }\n',
     [(4, 7, "did you mean 'values'")]),
    ("an unknown key of the backend", '[strategy]\nmain = ["inline"]\n[backend]\nname = "openmp"\nthread = 3\n',
     [(5, 1, "did you mean 'threads'")]),
    ("a misspelt name of the backend", '[strategy]\nmain = []\n[backend]\nnmae = "openmp"\n', [(4, 1, "'nmae'")]),
    ("a string for a boolean", '[strategy]\nmain = [{ pass = "inline", disabled = "true" }]\n',
     [(2, 39, "must be true or false, found a string")]),
    ("a string for an integer", '[strategy]\nmain = [{ pass = "inline", max-ops = "7" }]\n',
     [(2, 38, "expects an integer from 1 to 1000000000, got the string '7'")]),
    ("a float for an integer", '[strategy]\nmain = [{ pass = "inline", max-ops = 7.5 }]\n', [(2, 38, "the float")]),
    ("an array for an integer", '[strategy]\nmain = [{ pass = "inline", max-ops = [7] }]\n', [(2, 38, "an array")]),
    ("a number for a pass", '[strategy]\nmain = ["inline", 3]\n', [(2, 19, "found an integer")]),
    ("a string for plugins", 'plugins = "x.so"\n[strategy]\nmain = []\n', [(1, 11, "found a string")]),
    ("a value outside its range", '[strategy]\nmain = [{ pass = "inline", max-ops = 0 }]\n', [(2, 38, "from 1 to")]),
    ("an empty id", '[strategy]\nmain = [{ pass = "inline", id = "" }]\n', [(2, 33, "id")]),
    ("two mistakes", '[strategy]\nmain = ["inlin",\n  "canonicalise"]\n', [(2, 9, "'inlin'"), (3, 3, "'canonicalise'")]),
]


def places(s):
    for name, text, wanted in FAULTS:
        s.write("bad.toml", text)
        lines = (text if isinstance(text, bytes) else text.encode()).decode("utf-8", "replace").lstrip("\ufeff").splitlines()
        for words in (["pipeline", "./bad.toml"], ["compile", "p.rvt", "-p", "./bad.toml"]):
            done = s.case(f"{name}: refused", words, 2)
            shown = done.stderr.decode("utf-8", "replace").splitlines()
            for line, column, text_ in wanted:
                head = f"./bad.toml:{line}:{column}: error: "
                at = next((i for i, t in enumerate(shown) if t.startswith(head) and text_ in t), None)
                s.check(f"{name}: {head}..{text_}", at is not None, "\n".join(shown))
                if at is None:
                    continue
                # A caret stands under the column; a tab is shown as eight spaces, a wide character takes two.
                before = lines[line - 1][:column - 1].replace("\t", " " * 8)
                indent = sum(2 if c == "\u6f22" else 1 for c in before)
                s.check(f"{name}: the line and a caret", shown[at + 2].startswith(" " * indent + "^"),
                        "\n".join(shown[at:at + 3]))
            s.check(f"{name}: nothing but that", len([t for t in shown if ": error: " in t]) == len(wanted), "\n".join(shown))
        done = s.run(["pipeline", "./bad.toml", "--diagnostics=json"])
        rows = [json.loads(t) for t in done.stderr.splitlines()]
        places_ = [(r["line"], r["col"]) for r in rows if r["severity"] == "error"]
        s.check(f"{name}: as JSON", places_ == [w[:2] for w in wanted]
                and all(r["file"] == "./bad.toml" and r["message"] and "pass" in r for r in rows), done.stderr)


# A mistake, as command words or as a file's text that a command reads: L2.
PIPELINE = ["pipeline", "./fix.toml"]
OPT = ["opt", "fix.rir"]
MISTAKES = [
    (["compil", "p.rvt", "-p", "openmp"],), (["check", "p.rvt", "--verbos"],), (["check", "p.rvt", "--verify", "eech"],),
    (["check", "p.rvt", "--color", "alwys"],), (["check", "p.rvt", "--diagnostics", "txt"],),
    (["check", "p.rvt", "-Wnarowing"],), (["check", "p.rvt", "-Wno-tautologie"],),
    (["opt", "in.rir", "--time-passes=jsno"],), (["compile", "p.rvt", "-p", "openmp", "--emit", "sorce"],),
    (["passes", "inlin"],), (["backends", "opnmp"],), (["ops", "thread.forech"],), (["pipelines", "opnmp"],),
    (["plugins", "inlin"],), (["reference", "optons"],), (["pipeline", "opnmp"],),
    (["pipeline", "openmp", "--set", "inlin.max-ops=3"],), (["pipeline", "openmp", "--set", "inline.max-opps=3"],),
    (["pipeline", "openmp", "--set", "backend.thread=3"],), (["pipeline", "openmp", "--disable", "canonicalise"],),
    (["pipeline", "openmp", "--enable", "bounds_check"],), (["opt", "in.rir", "-p", "openmp", "--stop-after", "inlin"],),
    (["opt", "in.rir", "-p", "openmp", "--start-at", "inlin"],),
    (["opt", "in.rir", "-p", "openmp", "--dump-after", "inlin"],), (["opt", "in.rir", "--pass", "canonicalise"],),
    (["opt", "in.rir", "--pass", "inline{max_ops=3}"],),
    (["run", "p.rvt", "-p", "interp", "--data", "d", "--races", "wran"],),
    (["run", "p.rvt", "-p", "interp", "--data", "d", "--rps", "2"],),
    (["run", "p.rvt", "-p", "interp", "--data", "d", "--arg", "flop=1"],),
    (PIPELINE, "fix.toml", 'nam = "x"\n[strategy]\nmain = []\n'),
    (PIPELINE, "fix.toml", '[strategie]\nmain = []\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = ["inlin"]\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = [{ pas = "inline" }]\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = [{ pass = "inline", max_ops = 3 }]\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = [{ tri = "inline" }]\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = [{ repeat = "inline", mx = 3 }]\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = [{ if = "has-op foreach", then = [], els = "inline" }]\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = ["$mem"]\nmemo = []\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = [{ pass = "inline", max-ops = "$lim" }]\n[param]\nlimi = 3\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = []\n[param]\nx = { value = [3], default = 3 }\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = [{ at = "foreach", pick = "inermost", do = "id" }]\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = [{ at = "forech", do = "id" }]\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = [{ check = "has-op forech" }]\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = [{ check = "has-lop" }]\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = [{ check = "level=thraed" }]\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = [{ dump = "dto" }]\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = ["inline"]\n[backend]\nname = "opnmp"\n'),
    (PIPELINE, "fix.toml", '[strategy]\nmain = []\n[backend]\nname = "interp"\nraces = "wran"\n'),
    (["check", "fix.rvt"], "fix.rvt", "DRAM<int> a[size];\nvoid main(int siez) { a[0] = siez; }\n"),
    (["check", "fix.rvt"], "fix.rvt", "DRAM<int> a;\nvoid main(int size) { a[0] = sise; }\n"),
    (["check", "fix.rvt"], "fix.rvt",
     "DRAM<int> a;\nvoid main(int n) { foreach (n) { int i =>\n  pragma(eliminate_hierachy);\n  a[i] = 1; }; }\n"),
    (["check", "fix.rvt"], "fix.rvt", "DRAM<int> out;\nint take(int x) { return x; }\nvoid main(int n) { out[0] = tak(n); }\n"),
    (OPT, "fix.rir", '%a = mem.drm() {sym = "a"} : () -> (dram<i32>)\n'),
]


def fixed(text, err):
    """The text with the first suggestion of a message followed: what it is about is quoted before it."""
    hint = re.search(r"^.*\(did you mean '([^']+)'\?\)", err, re.M)
    if not hint:
        return text
    about = [w for w in re.findall(r"'([^']+)'|-W(?:no-)?([\w-]+)", hint[0][:hint.start(1) - hint.start()])]
    about = [w for pair in about for w in pair if w and w != hint[1]]
    wrong = max(about, key=lambda w: difflib.SequenceMatcher(None, w, hint[1]).ratio(), default="")
    return re.sub(rf"(?<![a-z]){re.escape(wrong)}(?![\w-])", hint[1], text, count=1) if wrong else text


def suggestions(s):
    for words, *file in MISTAKES:
        if file:
            s.write(*file)
        name = f"the suggestion for {' '.join(words)}{' with ' if file else ''}{file[1:] or ''}"
        err = s.run(words).stderr.decode()
        s.check(f"{name} is there", "did you mean" in err, err)
        if file:
            s.write(file[0], fixed(file[1], err))
        else:
            words = fixed("\0".join(words), err).split("\0")
        done = s.run(words)
        s.check(f"{name} is accepted", done.returncode == 0 and b"did you mean" not in done.stderr, err + done.stderr.decode())


def no_wild_guesses(s):
    """A suggestion would be accepted in its place: a function is none for a variable, nor one short name for another."""
    for text in ("void f() {}\nvoid main(int n) { a = 1; }\n", "DRAM<int> a;\nint g(int x) { return y; }\nvoid main() { a[0] = g(1); }\n",
                 "int take(int x) { return x; }\nDRAM<int> o;\nvoid main(int n) { o[0] = tale + 1; }\n"):
        s.write("guess.rvt", text)
        err = s.run(["check", "guess.rvt"]).stderr.decode()
        s.write("guess.rvt", fixed(text, err))
        s.check(f"{text!r}: no suggestion, or a good one", "did you mean" not in err or s.run(["check", "guess.rvt"]).returncode == 0, err)


def required_options(s):
    """L7: all that are missing, in one run, each with its type and an example."""
    s.write("need.toml", f'plugins = ["{s.toys}"]\n[strategy]\nmain = ["canonicalize",\n  {{ pass = "need" }}]\n')
    done = s.case("missing options", ["opt", "in.rir", "-p", "./need.toml"], 2,
                  ["./need.toml:4:12: error: pass 'need' needs option 'amount' (an integer from 1 to 9), as in amount = ",
                   "./need.toml:4:12: error: pass 'need' needs option 'kind' (one of big, small), as in kind = "])
    examples = re.findall(r"as in (\S+ = .*)", done.stderr.decode())
    s.write("need.toml", f'plugins = ["{s.toys}"]\n[strategy]\nmain = [{{ pass = "need", {", ".join(examples)} }}]\n')
    s.case("the examples are accepted", ["opt", "in.rir", "-p", "./need.toml"], 0)
    s.case("missing on the command line", ["opt", "in.rir", "--plugin", s.toys, "--pass", "need"], 2, ["'amount'", "'kind'"])


def reading_back(s):
    """L8: what is printed reads back the same and does the same."""
    odd = 'a "b" \\ {c = [d]} \u00e9 \t\n#$x\x7f'
    literal = json.dumps(odd, ensure_ascii=False).replace("\x7f", "\\u007F")
    s.write("odd.toml", f"""name = {literal}
summary = {literal}
plugins = ["{s.toys}"]
[machine]
name = {literal}
"compute.latency" = 7
[strategy]
main = [[], {{ try = {{ first-of = [] }} }}, {{ seq = [] }}, "$nothing", {{ note = {literal} }}, {{ pass = "grow", id = {literal} }},
        {{ try = {{ pass = "mark", only = {literal} }} }}, {{ pass = "mark", only = "", id = "empty" }},
        {{ if = {{ try = "canonicalize" }}, then = [], else = "fail" }}]
nothing = []
[backend]
name = "interp"
""")
    first = s.case("a pipeline with odd texts", ["pipeline", "./odd.toml"], 0)
    s.write("again.toml", first.stdout)
    again = s.case("it reads back", ["pipeline", "./again.toml"], 0)
    s.check("it prints the same", first.stdout and again.stdout == first.stdout, again.stdout.decode())
    results = [s.run(["opt", "in.rir", "-p", f"./{f}.toml", "-q"]) for f in ("odd", "again")]
    s.check("it does the same", results[0].returncode == 0 and results[0].stdout == results[1].stdout
            and results[0].stdout != s.run(["opt", "in.rir"]).stdout, results[0].stderr + results[1].stderr)


def failing_passes(s):
    """L9: which of the passes failed, and where it stands."""
    s.write("fails.toml", f'plugins = ["{s.toys}"]\n[strategy]\nmain = ["canonicalize", "refuse",\n  "canonicalize",\n'
            '  { pass = "refuse", id = "b" }]\n')
    words = ["opt", "in.rir", "-p", "./fails.toml"]
    s.case("the first use", words, 1, ["./fails.toml:3:25: error: pass 'refuse' (2 of 4) failed: it always does"])
    s.case("the second use", [*words, "--disable", "refuse"], 1,
           ["./fails.toml:5:12: error: pass 'b' ('refuse', 4 of 4) failed: it always does"])
    row = json.loads(s.run([*words, "--diagnostics=json"]).stderr.splitlines()[-1])
    s.check("as JSON with the pass", (row["line"], row["pass"]) == (3, "refuse"), str(row))
    s.write("limit.toml", '[strategy]\nmain = [\n  { pass = "inline", max-ops = 1, id = "inl" }]\n')
    s.case("an error of the program found by a pass", ["compile", "calls.rvt", "-p", "./limit.toml"], 1,
           ["calls.rvt:3:", "[pass inl]", "./limit.toml:3:12: error: pass 'inl' ('inline', 1 of 1)"])


def disabling(s):
    """L10: an id stands for one entry, a pass name for all, with their number; L11."""
    s.write("ids.toml", '[strategy]\nmain = ["canonicalize", "count-ops", "canonicalize", { pass = "canonicalize", id = "c" },\n'
            '  { pass = "inline", id = "i" }, { pass = "inline", id = "j" }]\n')

    def left(*words):
        done = s.run(["pipeline", "./ids.toml", *words])
        return re.findall(r'pass = "([^"]+)"', done.stdout.decode()), done.stderr.decode()

    everything = ["canonicalize", "count-ops", "canonicalize", "canonicalize", "inline", "inline"]
    s.check("all", left() == (everything, ""))
    for id_ in ("canonicalize", "canonicalize#2", "c"):
        passes, _ = left("--disable", id_)
        s.check(f"--disable {id_} removes one", passes.count("canonicalize") == 2, str(passes))
    for id_ in ("i", "j"):
        s.check(f"--disable {id_} removes one", left("--disable", id_)[0].count("inline") == 1)
    passes, talk = left("--disable", "inline")
    s.check("--disable of a name removes all", "inline" not in passes, str(passes))
    s.check("it says how many", "2 uses" in talk, talk)
    s.check("-q hides that", left("--disable", "inline", "-q")[1] == "")
    done = s.case("an unmet requirement", ["compile", "p.rvt", "-p", "openmp", "--disable", "inline", "--dump-before", "all"], 2,
                  ["openmp.toml:", "error: backend 'openmp' requires 'inlined'", "pass 'inline' does"])
    s.check("nothing has run", b"----- before" not in done.stderr and not done.stdout, done.stderr)


def before(s, kind, name):
    """Passes that must run before the pass or backend `name`: those that give what it requires and the level that it takes."""
    passes = [json.loads(s.run(["passes", r["name"], "--json"]).stdout) for r in json.loads(s.run(["passes", "--json"]).stdout)]
    out, row = [], json.loads(s.run([kind, name, "--json", "--plugin", s.toys]).stdout)
    for need in row["requires"]:
        giver = next(p["name"] for p in passes if need in p["establishes"])
        out += [p for p in [*before(s, "passes", giver), giver] if p not in out]
    if row["input"] != "any" and "thread" not in row["input"]:
        giver = next(p["name"] for p in passes if p["output"] == row["input"] != p["input"])
        out += [p for p in [*before(s, "passes", giver), giver] if p not in out]
    return out


def summaries(s):
    """L12: every pass says how many ops it looked at and changed."""
    passes = [r["name"] for r in json.loads(s.run(["passes", "--json"]).stdout)]
    for name in passes:
        words = [w for p in [*before(s, "passes", name), name] for w in ("--pass", p)]
        err = s.run(["opt", "p.rvt", *words, "--print-pass-stats", "-o", "out.rir"]).stderr.decode()
        s.check(f"{name} says what it visited and changed",
                re.search(rf"^{name}: (un)?changed, ops \d+ -> \d+, visited [1-9]\d*, changes \d+$", err, re.M), err)
        err = s.run(["opt", s.write("none.rir", "// no ops\n"), "--pass", name, "-v"]).stderr.decode()
        s.check(f"{name} on no ops: -v says so", f"note: pass '{name}' visited 0 ops" in err or "error:" in err, err)
    s.check("without -v no such note", not s.run(["opt", "none.rir", "--pass", "canonicalize"]).stderr)


def quiet(s):
    """L13: -q hides notes, nothing else."""
    s.write("inc.toml", "[param]\nx = 1\n")
    s.write("q.toml", 'include = ["inc.toml"]\n[param]\nx = 2\n[strategy]\nmain = [{ note = "hello" }]\n')
    s.case("notes", ["opt", "in.rir", "-p", "./q.toml"], 0, ["note: hello", "note: 'x' replaces"])
    s.check("-q hides notes", not s.run(["opt", "in.rir", "-p", "./q.toml", "-q"]).stderr)
    s.case("-q shows errors", ["pipeline", "opnmp", "-q"], 2, ["did you mean 'openmp'"])
    s.case("-q shows errors of programs", ["check", s.write("e.rvt", "void main() { x = 1; }\n"), "-q"], 1, ["'x' is not declared"])
    s.case("-q shows warnings", ["check", s.write("w.rvt", "void main(uint u) { if (u >= 0) u = 1; }\n"), "-q"], 0, ["-Wtautology"])


def values_of(accepts):
    """Two texts that an option accepts and one that it does not, from its description; whether it is text."""
    if m := re.match(r"an integer(?: from (-?\d+) to (-?\d+)| >= (-?\d+)| <= (-?\d+))?", accepts):
        low, high, least, most = m.groups()
        low, high = low or least or str(int(most or 9) - 9), high or most or str(int(least or 0) + 9)
        return [low, high], "x", False
    if accepts.startswith("a number"):
        return ["1.5", "2.0"], "x", False
    if accepts.startswith("true or false"):
        return ["true", "false"], "x", False
    if m := re.match(r"one of (.*?)(?:, default|, required)", accepts):
        return m[1].split(", ")[:2], "no such choice", True
    return ["some text", "x=1"], None, True


def options(s):
    """L14: what help says is what the parser takes, for each option of each pass and backend."""
    plugin = ["--plugin", s.toys]
    described = {kind: [json.loads(s.run([kind, row["name"], "--json", *plugin]).stdout)
                        for row in json.loads(s.run([kind, "--json", *plugin]).stdout)] for kind in ("passes", "backends")}
    count = 0
    for kind, rows in described.items():
        for row in rows:
            name = row["name"]
            first = before(s, kind, name)
            help_ = s.run([kind, name, *plugin]).stdout.decode()
            needed = {o["name"]: values_of(o["accepts"]) for o in row["options"] if o["accepts"].endswith("required")}
            for option in row["options"]:
                count += 1
                what, key = f"{name}.{option['name']}", option["name"]
                s.check(f"{what} is described", key in help_ and option["help"] in help_ and option["accepts"] in help_, help_)
                good, bad, is_text = values_of(option["accepts"])
                for value in [*good, *([bad] if bad else [])]:
                    code = 2 if value == bad else 0
                    literal = json.dumps(value) if is_text else value if value != bad else '"x"'
                    rest = {k: json.dumps(v[0]) if t else v[0] for k, (v, _, t) in needed.items() if k != key}
                    pairs = [f"{k} = {v}" for k, v in {key: literal, **rest}.items()]
                    entry = f'{{ pass = "{name}", {", ".join(pairs)} }}' if kind == "passes" else ""
                    backend = "\n".join([f'[backend]\nname = "{name}"', *pairs, ""]) if kind == "backends" else ""
                    main = ", ".join([*(f'"{p}"' for p in first), *([entry] if entry else [])])
                    s.write("opt.toml", f"[strategy]\nmain = [{main}]\n{backend}")
                    shown = [f"{key} = {literal}"] if code == 0 else []
                    s.case(f"{what} = {value} in a file", ["pipeline", "./opt.toml", *plugin], code, [] if code == 0 else [key], shown)
                    owner = name if kind == "passes" else "backend"
                    s.write("set.toml", f"[strategy]\nmain = [{main.replace(f', {key} = {literal}', '')}]\n"
                            + backend.replace(f"{key} = {literal}\n", ""))
                    s.case(f"--set {what}={value}", ["pipeline", "./set.toml", "--set", f"{owner}.{key}={value}", *plugin],
                           code, [] if code == 0 else [key], shown)
                    if option["flag"]:
                        done = s.run(["run", "p.rvt", "-p", "./set.toml", "--data", "d", f"--{key}={value}", *plugin])
                        # A limit on steps may be reached.
                        s.check(f"--{key}={value}", done.returncode in ([2] if code else [0, 3]), done.stderr)
                if option["flag"]:
                    s.case(f"--{key} in the help", ["run", "-p", "./set.toml", "--help", *plugin], 0, [], [f"--{key} V"])
    s.check("there are options", count >= 6, str(count))


if __name__ == "__main__":
    sys.exit(run_groups(prepare, places, suggestions, no_wild_guesses, required_options, reading_back, failing_passes,
                        disabling, summaries, quiet, options))
