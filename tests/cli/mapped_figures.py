#!/usr/bin/env python3
"""What the figures of a mapped run say of folded contexts, memories in several units, and copies of regions."""
import json
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import run_groups  # noqa: E402

FACTOR = ["--set", "unroll-replicate.target-utilisation=0", "--set", "unroll-replicate.factor=4"]


def figures(s, name, program, n, *words):
    """The figures of a run whose outputs are those of the interpreter."""
    s.write("p.rvt", program)
    s.write("d/a.bin", b"".join(struct.pack("<i", 7 * i % 64) for i in range(n)))
    data = ["--data", "d", "--arg", f"n={n}"]
    s.case(f"{name}: interpreted", ["run", "p.rvt", "-p", "interp", *data, "--out", "o"], 0)
    s.case(name, ["run", "-q", "p.rvt", "-p", "vrda", *data, "--check", "o", "--stats", "f.json", *words], 0)
    return json.loads((s.folder / "f.json").read_text())


def folding(s):
    """Addresses of scalars and reductions of voids are done in the unit of the access; what has a vector is not."""
    for name, body, cu, folded in (
            ("an address of scalars at an AG", "r[0] = a[n / 2 + 5];", False, {"mu": 0, "ag": 1}),
            ("of vectors", "foreach (n - 9) { int i => r[i] = a[i / 2 + 5]; };", True, {"mu": 0, "ag": 0}),
            ("at a memory, and a reduction of voids", "SRAM<int, 64> m; foreach (n) { int i => m[i] = i; }; r[0] = m[n - 1];", True,
             {"mu": 2, "ag": 0})):
        j = figures(s, name, f"DRAM<int> a;\nDRAM<int> r[n];\nvoid main(int n) {{ {body} }}\n", 50)
        r = j["resources"]
        s.check(f"{name}: folded", r["folded"] == folded, str(r))
        s.check(f"{name}: {'some' if cu else 'no'} compute units", (r["cu"] > 0) == cu, str(r))


def memories(s):
    """pragma(threads=N) asks for buffers in as many units as they fill, and all of those are used."""
    program = """DRAM<int> a;
DRAM<int> r[n];
void main(int n) {
  foreach (n) { int i =>
    pragma(threads=%d);
    SRAM<int, 1024> m;
    m[a[i]] = i;
    r[i] = m[a[i]] + m[63 - a[i]];
  };
}
"""
    for threads, units in ((64, 1), (65, 2), (256, 4)):
        j = figures(s, f"{threads} buffers", program % threads, 600)
        (row,) = [m for m in j["memories"] if m["bytes"] == 4096]
        s.check(f"{threads} buffers of 4 KiB in {units} of 256 KiB", row["buffers"] == threads and row["units"] == units, str(row))
        used = [u for u in j["units"] if u["path"].startswith("MU") and u["path"].endswith(".m")]
        s.check(f"{threads} buffers: units", len(used) >= units, str(used))


THREADS = 12000
# A thread is 92 to 99 times in the loop, so that the copies are what takes the time.
WORK = """DRAM<int> a;
DRAM<int> r[1];
void main(int n) {
  SRAM<int, 128> table;
  SRAM<uint, 32> passed;  // by all copies
  foreach (128) { int i => table[i] = 3 * i; };
  r[0] = foreach (n) reduce(+) { int i =>
    int x = a[i] / 8 + 92;
    replicate (4) {
      pragma(threads=1024);
      SRAM<int, 4> m;
      m[0] = table[x];
      atomic_add(passed[0], 1u);
      while (x > 0) { x--; };
      x = m[0];
    };
    return x;
  };
}
"""


def throttling(s):
    """A copy that is slow takes longer, or where pointers deal, gets less; nothing else changes."""
    runs = {}
    for distribution in ("static", "dynamic"):
        for rate in (1, 0.5):
            words = [*FACTOR, "--set", f"unroll-replicate.distribution={distribution}", "--set", "machine.throttle.region=3", "--set",
                     f"machine.throttle.rate={rate}"]
            runs[distribution, rate] = figures(s, f"{distribution}, {rate}", WORK, THREADS, *words)
        fast, slow = runs[distribution, 1], runs[distribution, 0.5]
        s.check(f"{distribution}: the same program", all(fast[key] == slow[key] for key in ("threads", "resources", "memories", "lanes")))
        for j, rate in ((fast, 1), (slow, 0.5)):
            rows = j["regions"]
            (shared,) = [m["path"] for m in j["memories"] if m["bytes"] == 128]
            s.check(f"{distribution}: a table for each copy", sum(m["bytes"] == 512 for m in j["memories"]) == 4, str(j["memories"]))
            s.check(f"{distribution}: a row for each copy", [r["copy"] for r in rows] == [0, 1, 2, 3] and len({r["path"] for r in rows}) == 4, str(rows))
            s.check(f"{distribution}: all threads are dealt", sum(r["threads"] for r in rows) == THREADS, str(rows))
            s.check(f"{distribution}: the rate is in the row", [r["rate"] for r in rows] == [1, 1, 1, rate], str(rows))
            s.check(f"{distribution}: units of no copy", all("copy" not in u for u in j["units"] if u["path"] == shared))
            s.check(f"{distribution}: units of copies add up", sum(r["cu"] for r in rows) == sum("copy" in u for u in j["units"] if u["path"][:2] == "CU"))
    took = {key: j["cycles"] for key, j in runs.items()}
    share = {key: j["regions"][3]["share"] for key, j in runs.items()}
    s.check("in turns a copy at half the rate takes twice as long", 1.8 < took["static", 0.5] / took["static", 1] < 2.05, str(took))
    s.check("and has its share", share["static", 0.5] == 0.25, str(share))
    s.check("by pointers it gets less", share["dynamic", 0.5] < 0.19 < 0.24 < share["dynamic", 1], str(share))
    s.check("and the run is shorter for it", took["dynamic", 0.5] < 0.8 * took["static", 0.5], str(took))


if __name__ == "__main__":
    sys.exit(run_groups(folding, memories, throttling))
