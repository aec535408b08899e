"""Runs of revet that figures are made of, and the form of tables."""
import concurrent.futures
import json
import math
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
APPS = ["isipv4", "ip2int", "murmur3", "hash-table", "search", "huff-dec", "huff-enc", "kD-tree"]
KINDS = ("cu", "mu", "ag")
# Options of a run: the number of copies of replicate regions, in place of what 70% of the machine have room for.
PIPELINE = ["-p", "vrda"]


def copies(n):
    return ["--set", "unroll-replicate.target-utilisation=0", "--set", f"unroll-replicate.factor={n}"]


class Bench:
    """Where and how runs are made. `smoke`: little data, to see that the commands work."""

    def __init__(self, revet, folder, jobs, smoke):
        self.revet = str(pathlib.Path(revet).resolve())
        self.folder = folder
        self.jobs = jobs
        self.smoke = smoke
        self.apps = ["murmur3"] if smoke else APPS
        self.number = 0

    def call(self, words, **options):
        return subprocess.run([str(w) for w in words], cwd=ROOT, capture_output=True, text=True, **options)

    def data(self, app, count, **options):
        """A data set of the app's generator, with what its outputs should be."""
        count = max(64, count // 64) if self.smoke else count
        words = [f"--{name}={value}" for name, value in options.items()]
        folder = self.folder / "-".join([app, str(count), *(f"{n}{v}" for n, v in options.items())])
        if not (folder / "expected").exists():
            done = self.call([ROOT / "apps" / app / "gen", "--out", folder, "--count", count, *words])
            if done.returncode != 0:
                sys.exit(f"the generator of {app} failed:\n{done.stderr}")
        return folder

    def revet_or_none(self, words):
        """None where the program does not fit the machine; any other failure ends the script."""
        done = self.call([self.revet, *words])
        if done.returncode == 3 and re.search("does not fit|cannot be placed|cannot be routed", done.stderr):
            return None
        if done.returncode != 0:
            sys.exit(f"revet {' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
        return done

    def run(self, program, data, *words):
        """The figures of a run whose outputs are right; None where the program does not fit the machine."""
        self.number += 1
        stats = self.folder / f"figures-{self.number}.json"
        done = self.revet_or_none(["run", "-q", program, *PIPELINE, "--data", data, "--check", pathlib.Path(data) / "expected",
                                   "--stats", stats, *words])
        return done and json.loads(stats.read_text())

    def map(self, function, items):
        """The results in the order of the items, a few at a time."""
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(function, items))


def source(app):
    return f"apps/{app}/{app}.rvt"


def factor(figures):
    """Copies of the program's replicate regions."""
    return max((r["copy"] + 1 for r in figures["regions"]), default=1)


def table(header, rows):
    """The first column is text, the others are numbers."""
    return ["| " + " | ".join(header) + " |", "|---|" + "--:|" * (len(header) - 1),
            *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)]


def percent(share, digits=0):
    return "-" if share is None else f"{100 * share:.{digits}f}%"


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))
