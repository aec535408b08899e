"""What tools/bench-sim.sh measures.

    bench_sim.py --revet PATH [--quick] [--avx2 PATH]
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
REPETITIONS = 5
# Name, app, threads.
DATA = [("murmur3, 64 MB", "murmur3", 1048576), ("murmur3, 1 MB", "murmur3", 16384), ("search, 1 MB", "search", 4096)]
# Thousand cycles per second; of the speed alone that each of two has; seconds; instructions per cycle and unit.
LEAST_SPEED, LEAST_OF_TWO, MOST_PLACING, MOST_INSTRUCTIONS = 60, 0.8, 10, 250


def run(revet, app, data, folder, name):
    """The figures of one simulated run."""
    stats = folder / f"{name}.json"
    subprocess.run([revet, "run", str(ROOT / f"apps/{app}/{app}.rvt"), "-p", "vrda", "-q", "--data", str(data), "--stats", str(stats)],
                   check=True, stdout=subprocess.DEVNULL)
    return json.loads(stats.read_text())


def speed(figures):
    return figures["cycles"] / figures["made_by"]["host"]["seconds"] / 1000


def units(figures):
    return sum(figures["resources"][kind] for kind in ("cu", "mu", "ag"))


def instructions(revet, app, data, folder):
    """Those of the simulation alone, and the run's figures."""
    stats, out = folder / "counted.json", folder / "callgrind.out"
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=revet::sim::run_timed*", revet, "run",
                    str(ROOT / f"apps/{app}/{app}.rvt"), "-p", "vrda", "-q", "--data", str(data), "--stats", str(stats)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    total = int(re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M)[1])
    if total == 0:
        sys.exit("callgrind saw no call of run_timed")
    return total, json.loads(stats.read_text())


def placing(revet, app):
    done = subprocess.run([revet, "compile", str(ROOT / f"apps/{app}/{app}.rvt"), "-p", "vrda", "-q", "-o", "/dev/null", "--time-passes=json"],
                          check=True, capture_output=True, text=True)
    rows = json.loads(done.stderr.splitlines()[-1])["rows"]
    return sum(r["seconds"] for r in rows if r["id"] == "place-and-route"), sum(r["seconds"] for r in rows)


class Table:
    def __init__(self):
        self.met = True

    def row(self, what, value, unit, target, met):
        self.met &= met
        print(f"| {what} | {value} {unit} | {target} | {'yes' if met else 'NO'} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--revet", required=True)
    parser.add_argument("--avx2", help="the same of a build for AVX2, to count its instructions")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    table = Table()
    print("| what | measured | target | met |\n|---|--:|--:|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for number, (name, app, count) in enumerate(DATA[1:] if arguments.quick else DATA):
            data = folder / str(number)
            subprocess.run([ROOT / f"apps/{app}/gen", "--out", data, "--count", str(count)], check=True, stdout=subprocess.DEVNULL)
            runs = [run(arguments.revet, app, data, folder, "alone") for _ in range(REPETITIONS)]
            alone = statistics.median(map(speed, runs))
            table.row(f"{name}: {runs[0]['cycles']} cycles on {units(runs[0])} units", f"{alone:.0f}", "kcycles/s", f">= {LEAST_SPEED}",
                      alone >= LEAST_SPEED)
            if number == 0 and not arguments.quick:
                continue
            with concurrent.futures.ThreadPoolExecutor() as pool:
                pairs = [list(pool.map(lambda i: run(arguments.revet, app, data, folder, f"two-{i}"), range(2))) for _ in range(REPETITIONS)]
            slower = statistics.median(min(map(speed, pair)) for pair in pairs) / alone
            table.row(f"{name}, two at once: the slower", f"{slower:.2f}", "of alone", f">= {LEAST_OF_TWO}", slower >= LEAST_OF_TWO)
            if arguments.avx2:
                total, figures = instructions(arguments.avx2, app, data, folder)
                each = total / figures["cycles"] / units(figures)
                table.row(f"{name}: instructions per cycle and unit", f"{each:.0f}", "", f"< {MOST_INSTRUCTIONS}", each < MOST_INSTRUCTIONS)
        for path in sorted((ROOT / "apps").glob("*/*.rvt")):
            placed, all_passes = placing(arguments.revet, path.stem)
            table.row(f"{path.stem}: place and route ({all_passes:.1f} s all passes)", f"{placed:.1f}", "s", f"< {MOST_PLACING}",
                      placed < MOST_PLACING)
    return 0 if table.met else 1


if __name__ == "__main__":
    sys.exit(main())
