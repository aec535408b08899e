#!/usr/bin/env python3
"""`revet sweep`: designs, estimates, outputs, reports, and what is refused."""
import itertools
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import run_groups  # noqa: E402

PROGRAM = """DRAM<int> a[n];
DRAM<int> r[n];
void main(int n) {
  foreach (n) { int i =>
    pragma(eliminate_hierarchy);
    SRAM<int, 4> s;
    int v = a[i];
    if (v > 3) { v = v * 2; } else { v = v + i; }
    while (v > 10) { v = v - 3; };
    s[i & 3] = v;
    r[i] = s[i & 3];
  };
}
"""
PASSES = ["eliminate-hierarchy", "if-to-select", "fuse-allocations", "canonicalize"]
VARY = [w for p in PASSES for w in ("--vary", f"{p}.enabled=true,false")]


def prepare(s):
    s.write("p.rvt", PROGRAM)
    s.write("d/args.txt", "n=5\n")
    s.write("d/a.bin", b"".join(v.to_bytes(4, "little") for v in (1, 20, 3, 44, 5)))
    s.sweep = lambda *words: ["sweep", "p.rvt", "-p", "vrda-untimed", *words]


def points(s, name, words):
    done = s.case(name, [*words, "--json"], 0)
    return json.loads(done.stdout)["points"] if done.stdout else []


def designs(s):
    settings = lambda found: [tuple(p["settings"].values()) for p in found]
    two = ["--vary", "if-to-select.max-ops=0,5,9", "--vary", "fuse-allocations.enabled=true,false"]
    got = settings(points(s, "cartesian", s.sweep(*two)))
    s.check("all points, the last key fastest", got == list(itertools.product(("0", "5", "9"), ("true", "false"))), str(got))
    got = settings(points(s, "one-at-a-time", s.sweep(*two, "--design", "one-at-a-time")))
    s.check("first values, then each", got == [("0", "true"), ("5", "true"), ("9", "true"), ("0", "false")], str(got))
    pair = ["--vary", "if-to-select.max-ops=0,5", "--vary", "fuse-allocations.enabled=true,false", "--design", "paired"]
    got = settings(points(s, "paired", s.sweep(*pair)))
    s.check("values in step", got == [("0", "true"), ("5", "false")], str(got))
    got = settings(points(s, "pairwise", s.sweep(*VARY, "--design", "pairwise")))
    for i, j in itertools.combinations(range(len(PASSES)), 2):
        seen = {(p[i], p[j]) for p in got}
        s.check(f"every pair of {PASSES[i]} and {PASSES[j]}", len(seen) == 4, str(got))
    s.check("fewer than all", len(got) < 2 ** len(PASSES), str(len(got)))


def estimates(s):
    found = points(s, "estimates", s.sweep("--vary", "if-to-select.enabled=true,false"))
    on, off = (p["statistics"] for p in found)
    s.check("an if costs filters and merges", off["values into merges"] > on["values into merges"], f"{on} {off}")
    s.check("nothing was run", all(p["outputs"] is None and p["threads"] is None for p in found))
    table = s.case("a table", s.sweep("--vary", "if-to-select.enabled=true,false"), 0,
                   stdout=["| if-to-select.enabled | contexts |", "| true |", "| false |", "not run"]).stdout
    again = s.run(s.sweep("--vary", "if-to-select.enabled=true,false")).stdout
    s.check("the same again", table == again)
    s.case("statistics of another pass", s.sweep("--vary", "if-to-select.max-ops=0", "--estimate", "link-kinds", "--json"), 0,
           stdout=['"vector"', '"scalar"'])


def outputs(s):
    s.case("all outputs equal", s.sweep(*VARY, "--data", "d"), 0, stdout=["| equal |"])
    s.case("expected outputs", ["run", "p.rvt", "-p", "interp", "--data", "d", "--out", "e"], 0)
    s.case("checked", s.sweep("--vary", "if-to-select.enabled=true,false", "--data", "d", "--check", "e"), 0)
    s.write("wrong/r.bin", bytes(20))
    s.case("a difference", s.sweep("--vary", "if-to-select.enabled=true,false", "--data", "d", "--check", "wrong"), 4,
           stderr=["2 of 2 points failed or differ", "the sweep goes on"], stdout=["FAIL (exit 4)"])
    s.case("a point that fails", s.sweep("--vary", "backend.max-firings=0,3", "--data", "d"), 3,
           stderr=["1 of 2 points failed"], stdout=["| 0 |", "equal", "FAIL (exit 3)"])
    s.case("an argument", s.sweep("--vary", "if-to-select.max-ops=0", "--data", "d", "--arg", "n=9"), 1, stderr=["a.bin"])


def reports(s):
    s.case("a report", s.sweep("--vary", "if-to-select.max-ops=0,4", "--data", "d", "--report", "out"), 0)
    report = json.loads((s.folder / "out/sweep.json").read_text())
    s.check("what made it", {"version", "command", "pipeline", "plugins", "inputs"} <= set(report["made_by"]), str(report["made_by"]))
    s.check("schema and axes", report["schema"] == 1 and report["axes"] == [{"key": "if-to-select.max-ops", "values": ["0", "4"]}])
    for folder in ("p.rvt", "/proc/revet"):
        s.case(f"a report in {folder}", s.sweep("--vary", "if-to-select.max-ops=0", "--report", folder), 2, stderr=[f"cannot make {folder}"])
    s.check("the table", "| if-to-select.max-ops |" in (s.folder / "out/sweep.md").read_text())


def refused(s):
    s.case("no program", ["sweep", "-p", "vrda-untimed", "--vary", "a.b=1"], 2, stderr=["file"])
    s.case("no pipeline", ["sweep", "p.rvt", "--vary", "a.b=1"], 2, stderr=["-p PIPELINE"])
    s.case("nothing varies", s.sweep(), 2, stderr=["nothing varies"])
    s.case("no value", s.sweep("--vary", "if-to-select.max-ops"), 2, stderr=["KEY=V1,V2"])
    s.case("an empty value", s.sweep("--vary", "if-to-select.max-ops=1,"), 2, stderr=["a value is empty"])
    s.case("a key twice", s.sweep("--vary", "a.b=1", "--vary", "a.b=2"), 2, stderr=["'a.b' varies twice"])
    s.case("an unknown pass", s.sweep("--vary", "if-to-selct.max-ops=1"), 2, stderr=["did you mean 'if-to-select'"])
    s.case("an unknown option", s.sweep("--vary", "if-to-select.max-op=1"), 2, stderr=["max-ops"])
    s.case("a value out of range", s.sweep("--vary", "if-to-select.max-ops=-1"), 2, stderr=["expects an integer"])
    s.case("enabled is a truth value", s.sweep("--vary", "if-to-select.enabled=yes"), 2, stderr=["true or false"])
    s.case("an unknown design", s.sweep("--vary", "if-to-select.max-ops=1", "--design", "pairwis"), 2, stderr=["'pairwise'"])
    s.case("pairs that do not fit", s.sweep("--vary", "if-to-select.max-ops=1,2", "--vary", "backend.seed=1", "--design", "paired"), 2,
           stderr=["2 values"])
    s.case("another launcher", s.sweep("--vary", "if-to-select.max-ops=1", "--launcher", "slurm"), 2, stderr=["only local"])
    s.case("a check of nothing", s.sweep("--vary", "if-to-select.max-ops=1", "--check", "d"), 2, stderr=["--data"])
    s.write("none.toml", '[strategy]\nmain = ["inline", "if-to-select"]\n')
    s.case("no backend", ["sweep", "p.rvt", "-p", "./none.toml", "--vary", "if-to-select.max-ops=1", "--data", "d"], 2, stderr=["no backend"])
    s.case("an unknown estimate", s.sweep("--vary", "if-to-select.max-ops=1", "--estimate", "count-op"), 2, stderr=["count-ops"])
    s.case("help", ["sweep", "--help"], 0, stdout=["--vary", "--design", "pairwise"])
    s.write("bad.rvt", "void main() { x = 1; }\n")
    s.case("a program that is wrong", ["sweep", "bad.rvt", "-p", "vrda", "--vary", "if-to-select.max-ops=1,2"], 1, stderr=["bad.rvt:1:15"])


if __name__ == "__main__":
    sys.exit(run_groups(prepare, designs, estimates, outputs, reports, refused))
