"""Measures the timed engine; called by tools/bench-sim.sh, which says what each figure is."""
import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
APPS = ["isipv4", "ip2int", "murmur3", "hash-table", "search", "huff-dec", "huff-enc", "kD-tree"]
RUNS = 5
# What counts: the simulation, without reading the program and its data.
SIMULATION = "revet::sim::run_timed*"


def source(app):
    return str(ROOT / "apps" / app / f"{app}.rvt")


class Bench:
    def __init__(self, revet, folder):
        self.revet = revet
        self.folder = folder

    def data(self, app, count):
        out = self.folder / f"{app}-{count}"
        if not out.exists():
            subprocess.run([str(ROOT / "apps" / app / "gen"), "--out", str(out), "--count",
                            str(count)], check=True, stdout=subprocess.DEVNULL)
        return str(out)

    def command(self, app, data, stats, reps=1):
        return [self.revet, "run", source(app), "-p", "vrda", "-q", "--data", data, "--reps",
                str(reps), "--stats", str(self.folder / stats)]

    def figures(self, stats):
        return json.loads((self.folder / stats).read_text())

    def at_once(self, simulations, app, data, reps):
        """The figures of so many runs that begin together."""
        names = [f"{i}.json" for i in range(simulations)]
        started = [subprocess.Popen(self.command(app, data, name, reps),
                                    stdout=subprocess.DEVNULL) for name in names]
        # All are waited for, whatever came of the first.
        if any([process.wait() for process in started]):
            sys.exit(f"{app} cannot be run")
        return [self.figures(name) for name in names]

    def instructions(self, app, data):
        """Of a simulation, and the figures of its run; nothing without valgrind."""
        if not shutil.which("valgrind"):
            return None
        out = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
             "--collect-atstart=no", f"--toggle-collect={SIMULATION}",
             *self.command(app, data, "counted.json")],
            check=True, capture_output=True, text=True)
        counted = int(re.search(r"Collected : (\d+)", out.stderr)[1])
        if counted == 0:
            sys.exit(f"valgrind does not find {SIMULATION}")
        return counted, self.figures("counted.json")

    def placing(self, app):
        """Seconds that place-and-route takes."""
        data = str(ROOT / "apps" / app / "data" / "tiny")
        out = subprocess.run([*self.command(app, data, "placed.json"), "--time-passes=json"],
                             check=True, capture_output=True, text=True)
        rows = json.loads(out.stderr.splitlines()[-1])["rows"]
        return sum(row["seconds"] for row in rows if row["id"].startswith("place-and-route"))


def speed(figures):
    """Thousand cycles per second of host time."""
    return figures["cycles"] / figures["made_by"]["host"]["seconds"] / 1e3


def units(figures):
    return sum(figures["resources"][kind] for kind in ("cu", "mu", "ag"))


def line(what, value, target):
    print(f"{what:<58}{value:>14}   {target}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--revet", required=True)
    parser.add_argument("--quick", type=int, default=0)
    arguments = parser.parse_args()
    # Small sets are simulated several times in a run.
    sets = [("murmur3", "1 MB", 16384, 10), ("search", "4096 chunks", 4096, 2)]
    if not arguments.quick:
        sets.insert(0, ("murmur3", "64 MB", 1048576, 1))
    counted_sets = [("murmur3", "1 MB", 16384),
                    ("search", "512 chunks", 512) if arguments.quick else
                    ("search", "4096 chunks", 4096)]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.revet, pathlib.Path(folder))
        line("measured", "value", "target")
        for app, size, count, reps in sets:
            data = bench.data(app, count)
            runs = [bench.at_once(1, app, data, reps)[0] for _ in range(RUNS)]
            alone = statistics.median(speed(run) for run in runs)
            line(f"{app} {size}: cycles", f"{runs[0]['cycles']}", "")
            line(f"{app} {size}: thousand cycles per second", f"{alone:.1f}", "60, better 100")
            slower = statistics.median(
                min(speed(run) for run in bench.at_once(2, app, data, reps))
                for _ in range(1 if size == "64 MB" else RUNS))
            line(f"{app} {size}: two at once, speed of the slower by one's", f"{slower / alone:.2f}",
                 "at least 0.8")
        for app, size, count in counted_sets:
            counted = bench.instructions(app, bench.data(app, count))
            if counted is None:
                line(f"{app} {size}: instructions", "not measured", "(valgrind is missing)")
                continue
            count, run = counted
            line(f"{app} {size}: instructions per cycle and mapped unit",
                 f"{count / run['cycles'] / units(run):.0f}", "less than 250")
            line(f"{app} {size}: instructions per firing", f"{count / run['firings']:.0f}",
                 "700, better 500")
            line(f"{app} {size}: firings per cycle and mapped unit",
                 f"{run['firings'] / run['cycles'] / units(run):.2f}", "")
        for app in APPS:
            line(f"{app}: seconds of place-and-route", f"{bench.placing(app):.2f}", "less than 10")
        print("built with", bench.figures("placed.json")["made_by"]["build_flags"])


if __name__ == "__main__":
    main()
