"""Runs one program on every target and compares the outputs bit for bit (NaNs count as equal)."""
import json
import math
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from run_program import LARGE_MACHINE, PASSES, STAGES, dump_after, dump_to, encode, not_read_back  # noqa: E402

SOURCE = "program.rvt"
MAX_STEPS = 200_000  # operations of the interpreter; what takes more is rejected
MAX_FIRINGS = 20_000_000
SECONDS = 120  # of one run
THOROUGH = 8  # of so many programs one is interpreted, and read back, after every pass; the others after the last
MAPPED = 8  # of so many programs one is mapped, placed and simulated cycle by cycle
# Links of 1 to 4 tokens, drawn for each; of one token; of many.
VRDA = {"vrda-untimed": ["--seed", "{seed}", "--check-barriers", "true"],
        "vrda-untimed, links of one token": ["--seed", "{seed}", "--channel-depth", "1", "--memory-queue", "0"],
        "vrda-untimed, links of 16 tokens": ["--seed", "{seed}7", "--channel-depth", "16"]}
OPENMP = {"openmp": [], "openmp checked": ["--enable", "bounds-check"]}


class Verdict:
    """`kind`: accepted, rejected, find or timeout; `run` and `what` say where and why."""

    def __init__(self, kind, run="", what="", details=""):
        self.kind, self.run, self.what, self.details = kind, run, what, details
        self.flow = ""  # the program as flow IR
        self.threads = 0
        self.outputs = {}

    def same_as(self, other):
        return (self.kind, self.run, self.what) == (other.kind, other.run, other.what)


def essence(text):
    """The first error of some stderr without names, numbers and places, to tell finds apart."""
    lines = [line for line in text.splitlines() if "error" in line or "deadlock" in line or "race" in line]
    line = (lines or text.splitlines() or [""])[0]
    line = re.sub(r"^\S*:\d+:\d+: ", "", line)
    line = re.sub(r"'[^']*'|%\w+", "'..'", line)
    return re.sub(r"-?\d+", "N", line)[:160]


class Runner:
    def __init__(self, revet, folder):
        self.revet, self.folder = os.path.abspath(revet), pathlib.Path(folder)

    def execute(self, words):
        """Exit status, stderr, stdout. The compiler may be relinked meanwhile: then it is tried again."""
        environment = {**os.environ, "REVET_CACHE_DIR": str(self.folder / "cache")}
        for attempt in range(6):
            try:
                done = subprocess.run([self.revet, *words], capture_output=True, text=True, timeout=SECONDS,
                                      errors="replace", env=environment, cwd=self.folder)
            except subprocess.TimeoutExpired:
                return None, "timeout", ""
            except OSError:
                time.sleep(1 + attempt)
                continue
            if done.returncode not in (2, 126, 127):
                return done.returncode, done.stderr, done.stdout
            time.sleep(1 + attempt)
        return 127, "the compiler cannot be run", ""

    def prepare(self, program):
        """Program and data in the folder; the folder is emptied first."""
        shutil.rmtree(self.folder, ignore_errors=True)
        data = self.folder / "data"
        data.mkdir(parents=True)
        (self.folder / SOURCE).write_text(program.text())
        (data / "args.txt").write_text("".join(f"{n}={v}\n" for n, _, v in program.arguments))
        for name, kind, content in program.files():
            (data / f"{name}.bin").write_bytes(encode(f"{kind} {content}"))

    def target(self, name, words, floats, want):
        """Runs one target; a Verdict if it is not what the interpreter gave.

        An array that the target cannot write, its stores being dead, is not among its outputs.
        """
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        code, err, _ = self.execute(["run", *words, "--data", "data", "--out", "out"])
        if code == 1 and "more nodes than any machine" in err:
            return None  # copies of copies of copies
        if code is None or (code == 3 and "no end after" in err):
            return Verdict("timeout", name, "timeout" if code is None else "firing limit", err)
        if code != 0:
            return Verdict("find", name, f"exit {code}: {essence(err)}", err)
        got = read(out)
        for array, content in want.items():
            if array not in got:
                file = self.folder / "data" / f"{array}.bin"
                got[array] = file.read_bytes() if file.exists() else bytes(len(content))
        difference = compare(got, want, floats)
        return Verdict("find", name, "differs", difference) if difference else None

    def reason(self, code):
        """Why the interpreter is no reference for a program."""
        if code in (3, None):
            return "step limit" if code else "timeout"
        if code == 0:
            return "race"
        return "run-time error" if self.execute(["check", SOURCE])[0] == 0 else "compile error"

    def check(self, program, openmp=False, only=None):
        """The verdict on a program; with `only` just the interpreter and that run."""
        thorough = only is not None or program.seed % THOROUGH == 0
        self.prepare(program)
        code, err, shown = self.execute(["run", SOURCE, "-p", "interp", "--seed", "0", "--max-steps", str(MAX_STEPS),
                                         "--data", "data", "--out", "first"])
        if code not in (0, 1, 3, None):
            return Verdict("find", "interp", f"exit {code}: {essence(err)}", err)
        if code != 0 or "race" in err:
            return Verdict("rejected", "interp", self.reason(code), err)
        accepted = Verdict("accepted")
        accepted.outputs = read(self.folder / "first")
        counted = re.search(r"(\d+) dataflow thread", shown)
        accepted.threads = int(counted[1]) if counted else 0

        if only is None or only == "compile" or only.startswith("interp after"):
            failed = self.compile(thorough)
            if failed:
                return failed
            accepted.flow = (self.folder / "flow.rir").read_text()
        floats = {a.name for a in program.arrays() if a.element == "float"}
        (self.folder / "shuffled.toml").write_text(shuffled(program.seed))
        (self.folder / "unrolled.toml").write_text(unrolled(program.seed))
        for name, words in runs(program.seed % 1000 + 1, openmp or only in OPENMP, thorough):
            found = self.target(name, words, floats, accepted.outputs) if only in (None, name) else None
            if found:
                return found
        return accepted

    def compile(self, thorough):
        """Leaves the IR after every pass in `dump`, the graph in flow.rir."""
        code, err, _ = self.execute(["compile", SOURCE, "-p", "vrda-untimed", "--emit", "rir", "-o", "flow.rir",
                                     *dump_to(self.folder / "dump")])
        if code == 1 and "nested too deeply" in err:
            return Verdict("rejected", "compile", "nested too deeply", err)
        if code is None:
            return Verdict("timeout", "compile", "timeout", err)
        if code != 0:
            return Verdict("find", "compile", f"exit {code}: {essence(err)}", err)
        changed = not_read_back(self.revet, self.folder / "dump") if thorough else ""
        return Verdict("find", "compile", "does not read back", changed) if changed else None


def shuffled(seed):
    """A pipeline with some of the optimisations, in any order that their contracts allow, some twice."""
    random_ = random.Random(seed)
    optional = list(dict.fromkeys(p for p in PASSES if p not in ("inline", "lower-adapters", "structure-to-cfg")))
    early = [p for p in ("canonicalize", "if-to-select", "fuse-allocations") if random_.random() < 0.3]
    late = [p for p in optional if random_.random() < 0.6] + [p for p in optional if random_.random() < 0.2]
    random_.shuffle(early)
    random_.shuffle(late)
    graph = [p for p in ("canonicalize", "link-kinds") if random_.random() < 0.5]
    passes = ["inline", *early, "lower-adapters", *late, "structure-to-cfg", "cfg-to-flow", *graph]
    if random_.random() < 0.5:
        passes += [unrolling(random_), *(p for p in ("canonicalize", "link-kinds") if random_.random() < 0.5)]
    return pipeline(passes)


def unrolled(seed):
    """All optimisations, and then copies of the replicate regions."""
    return pipeline([*PASSES, "cfg-to-flow", "canonicalize", "link-kinds", unrolling(random.Random(seed))])


def unrolling(random_):
    return {"pass": "unroll-replicate", "factor": random_.choice([0, 0, 1, 2, 3, 5]),
            "distribution": random_.choice(["dynamic", "static"]), "buffer": random_.choice([0, 1, 64])}


def pipeline(passes):
    """Text of a pipeline; a pass with options is a dictionary."""
    def entry(p):
        if isinstance(p, str):
            return json.dumps(p)
        return "{ " + ", ".join(f"{k} = {json.dumps(v)}" for k, v in p.items()) + " }"
    listed = ", ".join(entry(p) for p in passes)
    return f'[strategy]\nmain = [{listed}]\n[backend]\nname = "vrda-untimed"\n'


def runs(seed, openmp, thorough):
    """Name and arguments of every run that must give what the first gave."""
    quiet = ["-p", "interp", "--races", "off"]
    yield "interp --seed 1", [SOURCE, *quiet, "--seed", "1"]
    for i, stage in enumerate(STAGES if thorough else STAGES[-1:]):
        yield f"interp after {stage}", [f"dump/{dump_after(stage)}", *quiet, "--seed", str(seed if i % 2 else 0)]
    for name, options in VRDA.items():
        options = [o.format(seed=seed) for o in options]
        yield name, [SOURCE, "-p", "vrda-untimed", "--max-firings", str(MAX_FIRINGS), *options]
    yield "other passes", [SOURCE, "-p", "./shuffled.toml", "--max-firings", str(MAX_FIRINGS), "--seed", str(seed)]
    yield "unrolled", [SOURCE, "-p", "./unrolled.toml", "--max-firings", str(MAX_FIRINGS), "--seed", str(seed),
                       "--channel-depth", str(seed % 3), "--check-barriers", "true"]
    if seed % MAPPED == 3:
        yield "vrda", [SOURCE, "-p", "vrda", *LARGE_MACHINE, "--set=unroll-replicate.target-utilisation=0", "--no-progress", "5000000"]
    for name, options in OPENMP.items() if openmp else ():
        yield name, [SOURCE, "-p", "openmp", *options]


def read(folder):
    return {p.stem: p.read_bytes() for p in sorted(folder.glob("*.bin"))} if folder.is_dir() else {}


def is_nan(content):
    return math.isnan(struct.unpack("<f", content)[0])


def compare(got, want, floats):
    """What differs first, or an empty text."""
    for array, expected in want.items():
        actual = got[array]
        if actual == expected:
            continue
        if len(actual) != len(expected):
            return f"'{array}' has {len(actual)} instead of {len(expected)} bytes"
        for at in range(0, len(expected), 4):
            a, b = actual[at:at + 4], expected[at:at + 4]
            if a == b or (array in floats and is_nan(a) and is_nan(b)):
                continue
            return f"'{array}' at byte {at}: {a.hex()} instead of {b.hex()}"
    return ""
