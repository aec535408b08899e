#!/usr/bin/env python3
"""eliminate-hierarchy as a trace shows it: children of two parents are apart with hierarchy, and mix without."""
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import run_groups  # noqa: E402

# The children of parent 0 stay in the loop for a while, those of parent 1 leave at once.
PROGRAM = """DRAM<int> r[8];
DRAM<int> after[2];
void main() {
  foreach (2) { int parent =>
    foreach (4) { int child =>
      pragma(eliminate_hierarchy);
      int trips = parent == 0 ? child * 3 : 0;
      while (trips > 0) { trips = trips - 1; };
      int leaves = parent * 4 + child;
      r[leaves] = trips + parent;
    };
    after[parent] = r[parent * 4] + r[parent * 4 + 3];
  };
}
"""


def orders(s, *words):
    """For some schedules: the parents of the children in the order in which they come out of the loop."""
    out = []
    for seed in range(1, 9):
        text = s.case(f"a trace, seed {seed} {words}", ["run", "p.rvt", "-p", "vrda-untimed", "--data", "d", "--out", "o", "--seed",
                                                        str(seed), "--trace-tokens", "-", *words], 0).stdout.decode()
        line = re.search(r"^leaves \(depth \d+, i32\): (.*)$", text, re.M)[1]
        out.append([(int(t) // 4, int(t) % 4) if t.isdigit() else t for t in line.split()])
        r = (s.folder / "o/r.bin").read_bytes()
        after = (s.folder / "o/after.bin").read_bytes()
        s.check(f"outputs, seed {seed} {words}", list(r[::4]) == [0] * 4 + [1] * 4 and list(after[::4]) == [0, 2])
    return out


def interleaving(s):
    s.write("p.rvt", PROGRAM)
    (s.folder / "d").mkdir()
    apart = orders(s, "--disable", "eliminate-hierarchy")
    for line in apart:
        parents = [t[0] for t in line if isinstance(t, tuple)]
        s.check("with hierarchy a barrier between the parents", parents == [0] * 4 + [1] * 4 and "Ω1" in line, str(line))
    mixed = orders(s)
    for line in mixed:
        s.check("every child once", sorted(t for t in line if isinstance(t, tuple)) == [(p, c) for p in range(2) for c in range(4)],
                str(line))
    parents = [[t[0] for t in line if isinstance(t, tuple)] for line in mixed]
    s.check("without hierarchy a child of parent 1 comes before one of parent 0", any(p != sorted(p) for p in parents), str(parents))


if __name__ == "__main__":
    sys.exit(run_groups(interleaving))
