#!/usr/bin/env python3
"""Dumps, reproducers, pictures, the verifier and times: rows E1 to E10 of docs/asks.md.

What needs passes that are broken takes them from tests/faults; tests/cli/plugin_faults.py does more with them."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import run_groups  # noqa: E402

SANITIZED = bool(os.environ.get("REVET_SANITIZED"))

PROGRAM = """DRAM<int> a;
DRAM<int> r[n];
int twice(int x) { return 2 * x + 0; }
void main(int n, bool flip) {
  foreach (n) { int i => r[i] = flip ? -a[i] : twice(a[i]) + twice(a[i]); };
}
"""


def prepare(s):
    s.root = pathlib.Path(s.root).resolve()
    build = pathlib.Path(s.revet).resolve().parent.parent
    s.toys = str(build / "tests/plugins/libtoy-passes.so")
    s.faults = str(build / "tests/faults/libfault-passes.so")
    s.apps = [p for p in sorted(s.root.glob("apps/*/*.rvt")) if p.parent.name == p.stem]
    s.write("p.rvt", PROGRAM)
    s.write("in.rir", s.run(["compile", "p.rvt", "-p", "interp"]).stdout)
    s.write("toys.toml", f'plugins = ["{s.toys}"]\n[strategy]\nmain = ["inline", {{ repeat = {{ at = "arith.constant", do = "count-down" }}, '
            'max = 3 }, { try = ["grow", "refuse"] }, { pass = "canonicalize", id = "a/b c" }, "canonicalize"]\n')


def dumps_of(folder):
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


def dumps(s):
    """E1, E2: numbered, the same in every run; a dump and the next one's entry give the next."""
    for app in s.apps:
        folder = s.folder / f"d {app.stem}"
        folder.mkdir()
        words = ["compile", str(app), "-p", "openmp", "--enable", "bounds-check", "--emit", "rir", "--dump-after", "all",
                 "--dump-before", "inline", "--dump-dir", folder.name]
        out = s.case(f"{app.stem}: dumps", words, 0).stdout
        first = dumps_of(folder)
        names = ["001-inline-before.rir", "002-inline.rir", "003-canonicalize.rir", "004-bounds-check.rir"]
        s.check(f"{app.stem}: their names", list(first) == names, str(list(first)))
        s.run(words)
        s.check(f"{app.stem}: the same again", dumps_of(folder) == first)
        for before, after in zip(names, names[1:]):
            header, body = first[after].split(b"\n", 1)
            found = re.fullmatch(r"// revet \S+, after pass '(\S+)' \((\d) of 3\): (\{.*\})", header.decode())
            s.check(f"{app.stem}: the header of {after}", found, header)
            s.write("one.toml", f"[strategy]\nmain = [{found[3]}]\n")
            done = s.case(f"{app.stem}: {before} and the entry of {after}", ["opt", f"{folder.name}/{before}", "-p", "./one.toml"], 0)
            s.check(f"{app.stem}: {before} and the entry of {after} give {after}", done.stdout == body)
        s.check(f"{app.stem}: the last is the result", body == out)
    (s.folder / "t").mkdir()
    words = ["opt", "in.rir", "-p", "./toys.toml", "--dump-after", "all", "--dump-dir", "t", "-o", "out.rir"]
    s.case("dumps of a strategy", words, 0)
    first = dumps_of(s.folder / "t")
    s.check("each run of a pass has its own", [n[:4] for n in first] == [f"{i:03}-" for i in range(1, len(first) + 1)] and len(first) > 6
            and any(n.endswith("-a_b c.rir") for n in first), str(list(first)))
    s.run(words)
    s.check("the same again", dumps_of(s.folder / "t") == first)
    for name in first:
        s.case(f"{name} reads back", ["opt", f"t/{name}", "-o", "out.rir"], 0)
    s.case("no such folder", ["opt", "in.rir", "--pass", "inline", "--dump-after", "all", "--dump-dir", "nowhere"], 2, ["nowhere"])


def broken_passes(s):
    """E3, E5, E6, E10; the toys give what does not need a broken pass."""
    if not os.path.exists(s.faults):
        return print("skipped: tests/faults is not built")
    plugin = ["--plugin", s.faults]
    words = ["opt", "in.rir", *plugin, "--pass", "canonicalize", "--pass", "breaks-ir", "--pass", "count-ops"]
    done = s.case("each: the pass that broke the module, and the rule", words, 70, ["'breaks-ir' (2 of 3)", "verifier check 3", "revet replay"])
    s.check("the place of the broken op", re.search(rb"^p.rvt:\d+:\d+: error: .*check 3", done.stderr, re.M), done.stderr)
    done = s.case("ends: the rule", [*words, "--verify=ends"], 70, ["verifier check 3", "the pipeline"])
    s.check("ends: all passes ran", b"'breaks-ir' (2 of 3)" not in done.stderr.split(b"replay")[0] or b"count-ops" in done.stderr, done.stderr)
    bad = s.case("none: the bad module can be seen", [*words, "--verify=none"], 0)
    s.check("none: it is printed", bad.stdout.startswith(b"%a = mem.dram"))
    s.write("bad.rir", bad.stdout)
    s.case("it is broken", ["opt", "bad.rir"], 1, ["verifier check 3", "p.rvt:"])
    s.case("none reads it", ["opt", "bad.rir", "--verify=none"], 0)
    for words, row in (([], True), (["--verify=ends"], True), (["--verify=none"], False)):
        table = json.loads(s.run(["opt", "in.rir", "--pass", "canonicalize", "--time-passes=json", *words]).stderr)
        spent = [r["seconds"] for r in table["rows"] if r["id"] == "(verify)"]
        s.check(f"{words}: a row for the verifier", len(spent) == 1 and (spent[0] > 0) == row, str(table))
    if SANITIZED:
        return print("skipped: a sanitizer ends a pass that crashes before the host can report it")
    (s.folder / "before").mkdir()
    s.case("a crash", ["opt", "in.rir", *plugin, "--pass", "canonicalize", "--pass", "writes-to-null", "--dump-before", "all",
                       "--dump-dir", "before"], 70)
    left = dumps_of(s.folder / "before")
    s.check("what it was given is there", list(left) == ["001-canonicalize-before.rir", "002-writes-to-null-before.rir"], str(list(left)))
    s.case("and is whole", ["opt", "before/002-writes-to-null-before.rir", "-o", "out.rir"], 0)
    for folder in s.folder.glob("revet-crash-*"):
        shutil.rmtree(folder)


def killed_pass(s):
    """E10: the dump is on disk before the pass begins, even where the process is killed in it."""
    s.write("large.rvt", "DRAM<int> a;\nvoid main(int n) {\n" + "".join(f"  a[{i}] = n * {i} + a[n + {i}];\n" for i in range(6000)) + "}\n")
    s.run(["compile", "large.rvt", "-p", "interp", "-o", "large.rir"])
    whole = (s.folder / "large.rir").read_bytes()
    folder = s.folder / "killed"
    folder.mkdir()
    process = subprocess.Popen([s.revet, "opt", "large.rir", "--pass", "canonicalize", "--dump-before", "all", "--dump-dir", "killed",
                                "-o", "killed.rir"], cwd=s.folder)
    dump = folder / "001-canonicalize-before.rir"
    end = time.monotonic() + 60
    while not dump.exists() and time.monotonic() < end and process.poll() is None:
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    s.check("the dump is whole", dump.exists() and dump.read_bytes().split(b"\n", 1)[1] == whole)


def pictures(s):
    """E7: any name is drawn, and large graphs are cut down."""
    odd = r'a<b>c\"d\\e{f}g|h\x0ai&j%k'
    text = (s.folder / "in.rir").read_text().replace('sym = "a"', f'sym = "{odd}"').replace('args = ["n"', f'args = ["{odd}"')
    s.write("odd.rir", text)
    s.case("odd names", ["opt", "odd.rir", "-o", "same.rir"], 0)
    dot = s.case("odd names as a picture", ["compile", "odd.rir", "-p", "interp", "--emit", "dot"], 0).stdout
    s.write("large2.rvt", "DRAM<int> a;\nvoid main(int n) {\n" + "".join(f"  a[{i}] = n * {i} + a[n + {i}];\n" for i in range(500)) + "}\n")
    large = s.case("a large program", ["compile", "large2.rvt", "-p", "openmp", "--emit", "dot"], 0).stdout.decode()
    nodes = re.findall(r"^ *(n\d+) \[", large, re.M)
    s.check("at most 500 ops are drawn", len(nodes) < 520 and len(set(nodes)) == len(nodes), str(len(nodes)))
    s.check("it says so", re.search(r'label="\d+ of \d{4} ops are drawn"', large) and "more ops" in large)
    done = s.run(["compile", "p.rvt", "-p", "openmp", "--emit", "dot"])
    s.check("a small one is whole", b"are drawn" not in done.stdout)
    s.check("the same again", s.run(["compile", "p.rvt", "-p", "openmp", "--emit", "dot"]).stdout == done.stdout)
    if not shutil.which("dot"):
        return print("skipped: dot of Graphviz is not installed")
    texts = {"odd": dot, "large": large.encode(), "small": done.stdout}
    texts |= {a.stem: s.run(["compile", str(a), "-p", "openmp", "--emit", "dot"]).stdout for a in s.apps[:2]}
    vrda = ["-p", "vrda-untimed", "--emit", "dot"]
    texts |= {f"blocks of {a.stem}": s.run(["compile", str(a), *vrda, "--stop-after", "structure-to-cfg"]).stdout
              for a in s.apps}
    texts |= {f"graph of {a.stem}": s.run(["compile", str(a), *vrda]).stdout for a in s.apps}
    for name, text in texts.items():
        drawn = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, timeout=120)
        s.check(f"dot draws {name} without a word", drawn.returncode == 0 and not drawn.stderr, drawn.stderr)
        svg = xml.etree.ElementTree.fromstring(drawn.stdout)
        shown = "\n".join(e.text or "" for e in svg.iter("{http://www.w3.org/2000/svg}text"))
        if name.startswith("blocks"):
            ends = ["cfg.foreach_enter child", "cfg.foreach_enter behind", "cfg.cond_br true", "cfg.cond_br false",
                    "cfg.loop_br back", "cfg.loop_exit loops = 1", "^bb0", "^bb7"]
            s.check(f"{name}: blocks, and edges by their terminators", all(e in shown for e in ends), shown)
        if name.startswith("graph"):
            words = text.decode()
            contexts = set(re.findall(r'subgraph cluster_(n\d+) \{\n *label="flow.context', words))
            ends = set(re.findall(r"(n\d+) ->|-> (n\d+)", words))
            s.check(f"{name}: contexts are open, streams reach into them",
                    contexts and not contexts & {n for pair in ends for n in pair} and "flow.yield" in shown, words)
            s.check(f"{name}: links say element, depth and kind", "stream<i32, 2, vector>" in shown, shown)
        if name == "odd":
            s.check("the name is shown, escaped as in IR", odd in shown, shown)


def times(s):
    """E9: rows are exclusive, none is negative, and they add up; wall and processor time are two columns."""
    for words in (["compile", str(s.apps[0]), "-p", "openmp", "--enable", "bounds-check", "-o", "x.cpp"],
                  ["opt", "in.rir", "-p", "./toys.toml", "-o", "x.rir"], ["opt", "in.rir", "-p", "./toys.toml", "--verify=none", "-o", "x.rir"],
                  ["opt", "large.rir", "--pass", "canonicalize", "--pass", "canonicalize", "-o", "x.rir"]):
        name = " ".join(words[2:5])
        table = json.loads(s.run([*words, "--time-passes=json"]).stderr.splitlines()[-1])
        rows, total = table["rows"], table["total"]
        s.check(f"{name}: schema", table["schema"] >= 1 and all(set(r) == {"id", "runs", "seconds", "cpu_seconds"} for r in rows), str(table))
        s.check(f"{name}: each id once", len({r["id"] for r in rows}) == len(rows))
        for column in ("seconds", "cpu_seconds"):
            values = [r[column] for r in rows]
            s.check(f"{name}: no {column} below 0", all(v >= 0 for v in values), str(table))
            s.check(f"{name}: {column} add up", abs(sum(values) - total[column]) <= 1e-6 + 0.001 * total[column], str(table))
        s.check(f"{name}: one thread takes no more processor than time", total["cpu_seconds"] <= total["seconds"] * 1.2 + 0.02, str(table))
        text = s.run([*words, "--time-passes"]).stderr.decode()
        cells = [line.split() for line in text.splitlines() if "%" in line]
        s.check(f"{name}: the table has the same rows", [c[3] for c in cells] == [*(r["id"].split()[0] for r in rows), "(total)"], text)
        shares = [float(c[2].rstrip("%")) for c in cells]
        s.check(f"{name}: shares add up", abs(sum(shares[:-1]) - 100) < 0.1 * len(shares), text)
    table = json.loads(s.run(["opt", "in.rir", "-p", "./toys.toml", "--time-passes=json", "-q", "-o", "x.rir"]).stderr)
    runs = {r["id"]: r["runs"] for r in table["rows"]}
    s.check("runs of a pass are counted", runs["count-down"] >= 3 and runs["inline"] == 1, str(runs))


if __name__ == "__main__":
    sys.exit(run_groups(prepare, dumps, broken_passes, killed_pass, pictures, times))
