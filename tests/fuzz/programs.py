#!/usr/bin/env python3
"""Random programs on every target: all must give the same outputs.

    programs.py --revet PATH --seeds A:B [--minutes N] [--jobs J] [--keep DIR] [--openmp-every N]
    programs.py --revet PATH --reduce SEED [--keep DIR]        a smaller program that fails in the same way
    programs.py --print SEED                                   the program of a seed

Each program runs on interp in two thread orders (the first looks for races), on interp down to basic blocks (every 8th after every
pass), on vrda-untimed in three schedules, with other passes in another order and with copies of replicate regions, every 8th mapped on
vrda, and every Nth on openmp. A program that
the interpreter finds racy, in error or too long is rejected and counted. A find is a crash, an error,
a deadlock or a difference; it is reduced, and kept in DIR as a file for tests/programs.

Exit status: 0 nothing found; 1 finds; 1 also if after ENOUGH accepted programs something of the
language, or a kind of node, never occurred.
"""
import argparse
import concurrent.futures
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from differential import Runner, Verdict  # noqa: E402
from generate import TAGS, Program  # noqa: E402
from reduce import reduced, write  # noqa: E402
from tree import coverage  # noqa: E402

ENOUGH = 500
# Nodes that cfg-to-flow never makes: the passes that fit a graph to a machine do.
LATER_NODES = {"flow.buffer", "flow.deal"}


class Report:
    def __init__(self):
        self.lock = threading.Lock()
        self.begin = time.monotonic()
        self.verdicts = {}
        self.reasons = {}
        self.examples = {}
        self.covered = {}
        self.nodes = {}
        self.threads = []
        self.finds = []
        self.unsteady = []

    def add(self, program, verdict):
        with self.lock:
            self.verdicts[verdict.kind] = self.verdicts.get(verdict.kind, 0) + 1
            if verdict.kind == "accepted":
                coverage(program.tree, self.covered)
                self.threads.append(verdict.threads)
                for node in re.findall(r"\bflow\.\w+", verdict.flow):
                    self.nodes[node] = self.nodes.get(node, 0) + 1
            elif verdict.kind != "find":
                reason = f"{verdict.run}: {verdict.what}"
                self.reasons[reason] = self.reasons.get(reason, 0) + 1
                self.examples.setdefault(reason, program.seed)

    def total(self):
        return sum(self.verdicts.values())

    def print(self, node_kinds):
        minutes = max(time.monotonic() - self.begin, 1e-3) / 60
        count = self.verdicts.get
        total = max(self.total(), 1)
        print(f"{self.total()} programs in {minutes:.1f} minutes, {self.total() / minutes:.0f} a minute")
        for kind in ("accepted", "rejected", "timeout", "find"):
            print(f"  {kind:9} {count(kind, 0):6}  {100 * count(kind, 0) / total:5.1f}%")
        for reason, n in sorted(self.reasons.items(), key=lambda r: -r[1]):
            print(f"    {reason}: {n}, as seed {self.examples[reason]}")
        if self.threads:
            print(f"  threads in a program: median {statistics.median(self.threads):.0f}, most {max(self.threads)}")
        print("Coverage, in accepted programs:")
        print_table({tag: self.covered.get(tag, 0) for tag in TAGS})
        print("Nodes of the streaming graphs:")
        print_table({kind: self.nodes.get(kind, 0) for kind in node_kinds})
        for seed, verdict in self.unsteady:
            print(f"NOT AGAIN seed {seed}: {verdict.run}: {verdict.what}")
        for seed, verdict, where in self.finds:
            print(f"FOUND seed {seed}: {verdict.run}: {verdict.what}{f' ({where})' if where else ''}")
        missing = [t for t in TAGS if not self.covered.get(t)]
        missing += [k for k in node_kinds if not self.nodes.get(k) and k not in LATER_NODES]
        if missing:
            print(f"Never covered: {', '.join(missing)}")
        return 1 if self.finds or (missing and count("accepted", 0) >= ENOUGH) else 0


def print_table(counts):
    cells = [f"{name} {n}" for name, n in counts.items()]
    width = max(map(len, cells), default=0) + 2
    columns = max(1, 120 // width)
    for i in range(0, len(cells), columns):
        print("  " + "".join(c.ljust(width) for c in cells[i:i + columns]).rstrip())


def node_kinds(revet):
    listed = subprocess.run([revet, "ops"], capture_output=True, text=True, check=True).stdout
    return [w for w in re.findall(r"^(flow\.\w+)", listed, re.M) if w not in ("flow.graph", "flow.yield")]


def one(seed, arguments, report, known):
    """Generates, runs and counts one program."""
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(arguments.revet, pathlib.Path(folder) / "run")
        try:
            program = Program(seed)
        except Exception:  # the generator's own fault is a find as well
            verdict = Verdict("find", "generator", "exception", traceback.format_exc())
            report.finds.append((seed, verdict, ""))
            print(f"seed {seed}: {verdict.details}", flush=True)
            return
        openmp = arguments.openmp_every > 0 and seed % arguments.openmp_every == 0
        verdict = runner.check(program, openmp)
        if verdict.kind == "find":
            again = runner.check(program, only=verdict.run)
            if not again.same_as(verdict):
                report.unsteady.append((seed, verdict))
                verdict = Verdict("timeout", verdict.run, "not again")
        report.add(program, verdict)
        if verdict.kind != "find":
            return
        print(f"seed {seed}: {verdict.run}: {verdict.what}\n{verdict.details[:1500]}", flush=True)
        key = (verdict.run, verdict.what)
        with report.lock:
            known[key] = known.get(key, 0) + 1
            # Two of a kind may have two causes; more only cost time.
            reduce_it = known[key] <= 2
        where = keep(program, verdict, runner, arguments, reduce_it)
        report.finds.append((seed, verdict, where))


def keep(program, verdict, runner, arguments, reduce_it):
    if not arguments.keep:
        return ""
    arguments.keep.mkdir(parents=True, exist_ok=True)
    original = arguments.keep / f"seed-{program.seed}-as-generated.rvt"
    original.write_text(program.text())
    if not reduce_it:
        return str(original)
    reduced(program, verdict, runner, arguments.reduce_seconds)
    path = arguments.keep / f"seed-{program.seed}.rvt"
    write(path, program, verdict, runner)
    return str(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--revet")
    parser.add_argument("--seeds", default="0:", help="A:B; A: goes on until --minutes are over")
    parser.add_argument("--minutes", type=float, help="stop after so many (default 3 where --seeds has no end)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for finds")
    parser.add_argument("--openmp-every", type=int, default=50, metavar="N", help="0: never")
    parser.add_argument("--reduce-seconds", type=float, default=90, help="time for one reduction")
    parser.add_argument("--reduce", type=int, metavar="SEED")
    parser.add_argument("--print", type=int, metavar="SEED", dest="shown")
    arguments = parser.parse_args()
    if arguments.shown is not None:
        print(Program(arguments.shown).text(), end="")
        return 0
    if not arguments.revet:
        parser.error("--revet is needed")
    report, known = Report(), {}
    if arguments.reduce is not None:
        arguments.keep = arguments.keep or pathlib.Path(".")
        arguments.openmp_every = 1
        one(arguments.reduce, arguments, report, known)
        for seed, verdict, where in report.finds:
            print(f"FOUND seed {seed}: {verdict.run}: {verdict.what} ({where})")
        return 1 if report.finds else 0
    first, _, last = arguments.seeds.partition(":")
    last = int(last) if last else None
    if last is None and arguments.minutes is None:
        arguments.minutes = 3
    end = time.monotonic() + 60 * arguments.minutes if arguments.minutes is not None else float("inf")
    seed = int(first)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        under_way = set()
        while (last is None or seed < last) and time.monotonic() < end:
            under_way.add(pool.submit(one, seed, arguments, report, known))
            seed += 1
            if len(under_way) >= arguments.jobs:
                done, under_way = concurrent.futures.wait(under_way, return_when="FIRST_COMPLETED")
                for d in done:
                    d.result()
        for d in under_way:
            d.result()
    print(f"Seeds {first}:{seed}")
    return report.print(node_kinds(arguments.revet))


if __name__ == "__main__":
    sys.exit(main())
