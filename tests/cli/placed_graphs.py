#!/usr/bin/env python3
"""What a placed graph is, is all in its text: written, read back and run it takes the same cycles."""
import json
import os
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import run_groups  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = str(ROOT / "apps/examples/strlen.rvt")
DATA = str(ROOT / "apps/examples/data/strlen")
AS_IT_IS = f"""[machine]
file = "{ROOT}/pipelines/machines/revet-hpca24.toml"

[strategy]
main = []

[backend]
name = "vrda"
"""


def cycles(s, name, *words):
    stats = s.folder / "stats.json"
    s.case(name, ["run", *words, "--data", DATA, "--check", DATA + "/expected", "--stats", str(stats)], 0)
    return json.loads(stats.read_text())["cycles"]


def round_trip(s):
    s.write("as-it-is.toml", AS_IT_IS)
    direct = cycles(s, "from the source", EXAMPLE, "-p", "vrda")
    s.case("to a placed graph", ["compile", EXAMPLE, "-p", "vrda", "--emit", "rir", "-o", "placed.rir"], 0)
    s.check("it is placed", "route = " in (s.folder / "placed.rir").read_text())
    read = cycles(s, "from the placed graph", "placed.rir", "-p", "./as-it-is.toml")
    s.check("the same cycles", read == direct, f"{read} {direct}")
    s.case("to a graph with units", ["compile", EXAMPLE, "-p", "vrda", "--stop-after", "insert-buffers", "--emit", "rir", "-o",
                                     "units.rir"], 0)
    placed = cycles(s, "placed and run", "units.rir", "-p", "vrda", "--start-at", "place-and-route")
    s.check("the same cycles when placed later", placed == direct, f"{placed} {direct}")


if __name__ == "__main__":
    sys.exit(run_groups(round_trip))
