#!/usr/bin/env python3
"""The cycle-level simulator as users see it: rows S1 to S17 and E8 of docs/asks.md."""
import csv
import io
import json
import math
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import run_groups  # noqa: E402

STATES = ("busy", "starved", "blocked", "idle")
PROGRAM = """DRAM<int> a;
DRAM<int> r[1];
void main(int n) {
  int s = foreach (n) reduce(+) { int i =>
    int x = a[i];
    while (x > 0) { x = x / 2 - 1; };
    return x;
  };
  r[0] = s;
}
"""


def prepare(s):
    s.root = pathlib.Path(s.root).resolve()
    app = s.root / "apps/murmur3"
    s.program, s.data = str(app / "murmur3.rvt"), str(app / "data/tiny")
    s.words = ["run", s.program, "-p", "vrda", "--data", s.data]
    s.write("graph.toml", "[strategy]\nmain = []\n[backend]\nname = \"vrda\"\n")
    s.graph = (s.root / "backends/vrda/tests/buffer_too_small_around_a_reduction.rir").read_text()
    s.summary = s.case("a run", [*s.words, "--stats", "s.json", "--stats", "s.csv"], 0).stdout.decode()
    s.text = (s.folder / "s.json").read_text()
    s.figures = json.loads(s.text)


def deadlocks(s):
    """S1 to S3: a graph that cannot go on says why, and is no result; buffers are finite."""
    s.write("small.rir", s.graph)
    words = ["-p", "./graph.toml", "--arg", "n=600"]
    done = s.case("a buffer that is too small", ["run", "small.rir", *words, "--stats", "none.json", "--trace", "stuck.json"], 3,
                  ["deadlock at cycle ", "waits for room on output", "small.rir:13:8", "the smallest buffer whose growth releases it"])
    s.check("there is no total to compare", not done.stdout and not (s.folder / "none.json").exists(), done.stdout)
    found = re.search(rb"(\d+) tokens instead of (\d+)", done.stderr)
    s.check("but a trace of how it came to it", json.loads((s.folder / "stuck.json").read_text())["traceEvents"])
    depth = 2 + int(found[1]) - int(found[2])
    s.write("large.rir", s.graph.replace("depth = 2}", f"depth = {depth}}}"))
    s.case("the buffer that it names is large enough", ["run", "large.rir", *words], 0)
    s.write("less.rir", s.graph.replace("depth = 2}", f"depth = {depth - 1}}}"))
    s.case("one less is not", ["run", "less.rir", *words], 3, ["deadlock"])
    s.case("lists that do not fit: unit, cycle, stream", ["run", str(s.root / "backends/vrda/tests/lists_of_different_lengths.rir"), *words], 70,
           ["cycle ", "dram_store 'stored'", "stream 'j'", "where data belongs"])


def limits(s):
    """S4, S5: no progress and the limit are told apart from deadlock, with the setting's name."""
    s.case("the limit", [*s.words, "--max-cycles", "500"], 3, ["the cycle limit was reached: 500 (option max-cycles)", "a thread ended last at cycle"])
    s.case("no progress", [*s.words, "--no-progress", "100"], 3, ["no progress: no thread ended from cycle", "(option no-progress = 100)"])
    s.case("a limit that is enough", [*s.words, "--max-cycles", str(s.figures["cycles"] + 1)], 0)


def figures(s):
    """S6 to S11, S15, S16: what the summary, the JSON and the table say, and that it adds up."""
    j = s.figures
    s.check("cycles to the last result and to quiescence",
            f"cycles: {j['cycles_to_last_result']} to the last result, {j['cycles']} to quiescence, at 1.6 GHz" in s.summary, s.summary)
    for part in (r"\d+ thousand simulated per second of host time", rf"DRAM: {j['dram']['bytes']} bytes moved, [\d.]+% of 895\.9 GB/s",
                 rf"units: {j['resources']['cu']} of 200 cu", "lanes: "):
        s.check(f"the summary has {part}", re.search(part, s.summary), s.summary)
    table = list(csv.DictReader(io.StringIO((s.folder / "s.csv").read_text())))
    paths = [row["path"] for row in table]
    s.check("rows have paths of their own", len(paths) == len(set(paths)) and len(paths) > 4 * len(j["units"]))
    s.check("and units and descriptions", all(row["unit"] and row["description"] for row in table), str([r for r in table if not r["unit"]]))
    values = {row["path"]: row["value"] for row in table}
    s.check("the table has the same numbers", values["cycles"] == str(j["cycles"])
            and all(values[f"units.{u['path']}.{state}"] == str(u[state]) for u in j["units"] for state in STATES))
    for unit in j["units"]:
        s.check(f"{unit['path']}: cycles add up", sum(unit[state] for state in STATES) == j["cycles"], str(unit))
    d = j["dram"]
    s.check("bursts issued are completed", d["bursts_issued"] == d["bursts_completed"] > 0)
    s.check("bytes add up", d["bytes"] == d["bytes_read"] + d["bytes_written"] and d["bytes"] % 32 == 0)
    s.check("utilisation is of the peak", math.isclose(d["utilisation"], d["bytes"] / (j["seconds"] * d["peak_gbps"] * 1e9)))
    s.check("seconds are cycles", math.isclose(j["seconds"], j["cycles"] / (j["clock_ghz"] * 1e9)))
    r = j["resources"]
    for kind in ("cu", "mu", "ag"):
        s.check(f"{kind}: uses add up", sum(use[kind] for use in r["uses"].values()) == r[kind])
        s.check(f"{kind}: shares add up", math.isclose(sum(j["stalls"][kind][state] for state in STATES), 1))
    s.check("no number that is none", not re.search(r"\b(nan|inf)\b", s.text, re.I))
    s.case("ideal DRAM", [*s.words, "--set", "machine.dram.ideal=true", "--stats", "ideal.json", "--stats", "ideal.csv"], 0, stdout=["not limited"])
    ideal = json.loads((s.folder / "ideal.json").read_text())["dram"]
    s.check("what was not measured is null", ideal["utilisation"] is None and ideal["row_hits"] is None and ideal["activates"] is None, str(ideal))
    s.check("and empty in the table", "\ndram.activates,commands,rows opened,\n" in (s.folder / "ideal.csv").read_text())
    s.check("clock and machine are echoed", j["clock_ghz"] == 1.6 and "clock-ghz = 1.6\n" in j["machine"]["keys"] and len(j["machine"]["hash"]) == 16)
    s.check("version and fidelity", j["model"]["version"] >= 1 and {"units", "links", "memory", "dram"} <= set(j["model"]["fidelity"]))
    s.check("host time is no figure", j["made_by"]["host"]["seconds"] > 0)


def slices(s, *words):
    """The trace's slices as (path, state, from, to), and its other events."""
    s.case(f"a trace {words}", [*s.words, "--stats", "t.s.json", "--trace", "t.json", *words], 0)
    events = json.loads((s.folder / "t.json").read_text())["traceEvents"]
    paths = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    return [(paths[e["pid"], e["tid"]], e["name"], e["args"]["from"], e["args"]["to"]) for e in events if e["ph"] == "X"], events


def sums(found):
    out = {}
    for path, state, begin, end in found:
        out[path, state] = out.get((path, state), 0) + end - begin
    return out


def traces(s):
    """S12, S13: slices of units that add up to the figures; windows and patterns cut, and change nothing."""
    j = s.figures
    found, events = slices(s)
    spent = {(u["path"], state): u[state] for u in j["units"] for state in STATES[:3] if u[state]}
    s.check("cycles of the slices are those of the figures", sums(found) == spent, str(set(sums(found).items()) ^ set(spent.items())))
    s.check("slices of a unit do not overlap", all(a[0] != b[0] or a[3] <= b[2] for a, b in zip(sorted(found, key=lambda f: (f[0], f[2])),
                                                                                        sorted(found, key=lambda f: (f[0], f[2]))[1:])))
    s.check("times are cycles of the clock", all(math.isclose(e["dur"] * 1e3, (e["args"]["to"] - e["args"]["from"]) / j["clock_ghz"], rel_tol=1e-3)
                                                 for e in events if e["ph"] == "X"))
    counters = sorted((e["ts"], e["args"]["read"], e["args"]["written"]) for e in events if e["ph"] == "C")
    for i, key in ((1, "bytes_read"), (2, "bytes_written")):
        moved = sum((b[0] - a[0]) * a[i] * 1e3 for a, b in zip(counters, counters[1:]))
        s.check(f"the counter of DRAM adds up to {key}", math.isclose(moved, j["dram"][key], rel_tol=0.01, abs_tol=2), f"{moved}")
    without = lambda text: {k: v for k, v in json.loads(text).items() if k != "made_by"}
    s.check("a trace changes no figure", without((s.folder / "t.s.json").read_text()) == without(s.text))
    window, _ = slices(s, "--trace-from", "300", "--trace-to", "700")
    cut = [(p, state, max(a, 300), min(b, 700)) for p, state, a, b in found if a < 700 and b > 300]
    s.check("a window cuts", sorted(window) == sorted(cut))
    open_end, _ = slices(s, "--trace-from", "300")
    s.check("a window without an end", sums(open_end) == sums([(p, state, max(a, 300), b) for p, state, a, b in found if b > 300]))
    some, _ = slices(s, "--trace-units", "MU*")
    s.check("a pattern selects", sorted(some) == sorted(f for f in found if f[0].startswith("MU")) and some)
    for first, last in (("7", "5"), ("5", "5")):
        s.case(f"a window {first} to {last}", [*s.words, "--trace", "x.json", "--trace-from", first, "--trace-to", last], 2,
               [f"'trace-to' is cycle {last}, not after 'trace-from', {first}"])
    s.case("a cycle that is no number", [*s.words, "--trace", "x.json", "--trace-from", "a:b"], 2, ["trace-from", "a:b"])
    s.case("a pattern of no unit", [*s.words, "--trace", "x.json", "--trace-units", "XU*"], 2, ["matches no unit", "XU*"])
    s.case("a folder that is not there", [*s.words, "--trace", "no/x.json"], 2, ["cannot write no/x.json"])
    s.write("wrong.rvt", "DRAM<int> a;\nDRAM<int> r[1];\nvoid main(int n) { r[0] = a[n]; }\n")
    s.write("wrong/a.bin", b"1234")
    s.case("an error of the program leaves no trace", ["run", "wrong.rvt", "-p", "vrda", "--data", "wrong", "--arg", "n=7", "--trace", "x.json"], 1,
           ["wrong.rvt:3:"])
    s.check("nothing is left of those", not list(s.folder.glob("*x.json*")), str(list(s.folder.iterdir())))


def the_same_again(s):
    """S14, S17: 20 runs are one; what watches a run changes nothing."""
    first = None
    for number in range(20):
        folder = f"out{number}"
        env = dict(os.environ, PADDING="x" * (number * 977))
        s.run([*s.words, "--out", folder, "--stats", "again.json"], env=env)
        j = json.loads((s.folder / "again.json").read_text())
        del j["made_by"]["command"]
        del j["made_by"]["host"]["seconds"]
        result = json.dumps(j), [p.read_bytes() for p in sorted((s.folder / folder).iterdir())]
        first = first or result
        s.check(f"run {number} is the first", result == first and result[1])
    s.write("w.rvt", PROGRAM)
    s.write("w/a.bin", b"\xff\xff\xff\x0f" * 20000)
    words = [s.revet, "run", "w.rvt", "-p", "vrda", "--data", "w", "--arg", "n=20000"]
    quiet = subprocess.run(words, cwd=s.folder, capture_output=True, timeout=300)
    s.check("nothing is said where nobody looks", quiet.returncode == 0 and not quiet.stderr, quiet.stderr)
    main, side = pty.openpty()
    process = subprocess.Popen([*words, "--stats", "tty.json"], cwd=s.folder, stdout=subprocess.PIPE, stderr=side, env=dict(os.environ, TERM="xterm"))
    os.close(side)
    heard = b""
    while True:
        try:
            part = os.read(main, 4096)
        except OSError:
            break
        if not part:
            break
        heard += part
    out = process.communicate()[0]
    os.close(main)
    strip = lambda text: re.sub(rb"; \d+ thousand.*", b"", text)
    s.check("a terminal changes no figure", process.returncode == 0 and strip(out) == strip(quiet.stdout), out + quiet.stdout)
    s.check("what a terminal is told is progress", not heard or re.search(rb"cycle \d+, \d+ threads ended, \d+ cycles per second", heard), heard)


def pictures(s):
    """E8: units stand on their grid, coloured by what they did."""
    compile_words = ["compile", s.program, "-p", "vrda", "--emit", "dot"]
    plain = s.case("a placed graph", compile_words, 0).stdout.decode()
    boxes = re.findall(r'^  u\d+ \[pos="(-?\d+),(-?\d+)!"', plain, re.M)
    s.check("each unit has a place of its own", len(boxes) == len(set(boxes)) == len(s.figures["units"]), str(len(boxes)))
    coloured = s.case("in colours", [*compile_words, "--stats", "s.json"], 0).stdout.decode()
    s.check("with a legend", all(f'label="{state}"' in coloured for state in STATES) and "striped" in coloured)
    s.case("the same", [*compile_words, "--stats", "s.json", "-o", "p.dot"], 0)
    s.check("in every run", (s.folder / "p.dot").read_text() == coloured)
    s.write("other.json", s.text.replace('"path": "CU', '"path": "XU'))
    s.case("figures of another graph", [*compile_words, "--stats", "other.json"], 2, ["they are of another graph"])
    s.write("no.json", "{}")
    s.case("figures of no simulated run", [*compile_words, "--stats", "no.json"], 2, ["no figures of a simulated run"])
    s.case("no placed graph", ["compile", s.program, "-p", "vrda-untimed", "--emit", "dot", "--stats", "s.json"], 2, ["a placed graph"])
    s.case("--stats of another form", ["compile", s.program, "-p", "vrda", "--emit", "rir", "--stats", "s.json"], 2, ["--emit dot"])
    if not shutil.which("dot"):
        return print("skipped: dot of Graphviz is not installed")
    texts = {"plain": plain, "coloured": coloured}
    for app in sorted(s.root.glob("apps/*/*.rvt")):
        if app.parent.name != app.stem:
            continue
        # Machines of other sizes hold the apps that are too large for the paper's.
        done = s.run(["compile", str(app), "-p", "vrda", "--emit", "dot", "--set", "machine.grid.rows=30", "--set", "machine.grid.columns=30"])
        s.check(f"{app.stem} is drawn", done.returncode == 0, done.stderr.decode())
        texts[app.stem] = done.stdout.decode()
    for name, text in texts.items():
        for words in (["dot", "-Tsvg"], ["neato", "-n2", "-Tsvg"]):
            drawn = subprocess.run(words, input=text.encode(), capture_output=True, timeout=120)
            s.check(f"{words[0]} draws {name} without a word", drawn.returncode == 0 and not drawn.stderr, drawn.stderr)
            svg = xml.etree.ElementTree.fromstring(drawn.stdout)
            titles = [e.text for e in svg.iter("{http://www.w3.org/2000/svg}title")]
            s.check(f"{words[0]}: units of {name}", sum(bool(re.fullmatch(r"u\d+", t or "")) for t in titles) == text.count("[pos=\"") - text.count("legend"))


def machine_files(s):
    """Faults of machine files are told at their place, with the nearest name."""
    machines = s.root / "pipelines/machines"
    pipeline = (s.root / "pipelines/vrda.toml").read_text().replace('"parts/', f'"{s.root}/pipelines/parts/').replace('"revet-hpca24.toml"', '"m.toml"')
    s.write("p.toml", pipeline)
    base = f'base = "{machines}/revet-hpca24.toml"\n'
    for name, text, place, parts in (
            ("an unknown key", base + "[compute]\nlatancy = 3\n", "m.toml:3:1", ["unknown key 'compute.latancy'", "did you mean 'compute.latency'?"]),
            ("a wrong type", base + "[compute]\nlatency = \"six\"\n", "m.toml:3:11", ["an integer from 1 to 1000 (cycles)", "'six'"]),
            ("a fraction", base + "[compute]\nlatency = 6.5\n", "m.toml:3:11", ["an integer", "'6.5'"]),
            ("a number for a name", base + "name = 7\n", "m.toml:2:8", ["'name' expects a string"]),
            ("a number for a boolean", base + "[dram]\nideal = 1\n", "m.toml:3:9", ["true or false"]),
            ("out of range", base + "[compute]\nlatency = 0\n", "m.toml:3:11", ["from 1 to 1000", "'0'"]),
            ("a missing key", "name = \"x\"\n", "m.toml:1:1", ["the machine has no 'clock-ghz' (GHz)"]),
            ("a base that is not there", 'base = "nothere.toml"\n', "m.toml:1:8", ["cannot read", "nothere.toml"]),
            ("a bad mapping", base + "[dram]\nmapping = \"co1 ch5 xx3\"\n", "m.toml:3:11", ["'dram.mapping' expects", "co1 ch5 pc1 bg2 co4 ba2 ro14"]),
            ("no TOML", base + "[compute\n", "m.toml:2:9", [])):
        s.write("m.toml", text)
        done = s.case(name, ["pipeline", "./p.toml"], 2, [f"{place}: error: ", *parts])
        s.check(f"{name}: the line and a caret", re.search(rb"^ *\^~*$", done.stderr, re.M), done.stderr)
    (s.folder / "m.toml").unlink()
    s.case("no file", ["pipeline", "./p.toml"], 2, ["p.toml:", "cannot read", "m.toml"])
    s.case("a key on the command line", ["pipeline", "vrda", "--set", "machine.compute.latancy=3"], 2, ["did you mean 'compute.latency'?"])
    s.case("a machine that ships", ["pipeline", "vrda", "--set", "machine.file=ideal-dram.toml"], 0, stdout=["ideal-dram.toml"])
    s.case("one that does not", ["pipeline", "vrda", "--set", "machine.file=idealdram.toml"], 2, ["did you mean 'ideal-dram.toml'?"])
    s.write("big.rvt", "DRAM<int> a;\nDRAM<int> r[1];\nvoid main() { r[0] = a[5]; }\n")
    s.write("big/a.bin", bytes(1 << 20))
    s.case("arrays that are larger than DRAM", ["run", "big.rvt", "-p", "vrda", "--data", "big", "--set", "machine.dram.mapping=co1 ch5 pc1 bg2 co1 ba2 ro1"],
           3, ["the arrays need 1052672 bytes of DRAM", "has 262144"])


if __name__ == "__main__":
    sys.exit(run_groups(prepare, deadlocks, limits, figures, traces, the_same_again, pictures, machine_files))
