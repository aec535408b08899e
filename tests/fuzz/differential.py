"""Runs one program on every target and compares the outputs bit for bit (NaNs count as equal)."""
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from run_program import PASSES, encode  # noqa: E402

MAX_STEPS = 200_000  # operations of the interpreter; what takes more is rejected
MAX_FIRINGS = 20_000_000
SECONDS = 120  # of one run
STAGES = [p if p not in PASSES[:i] else f"{p}#2" for i, p in enumerate(PASSES)]
VRDA = {"vrda-untimed": ["--seed", "{seed}", "--channel-depth", "0"],
        "vrda-untimed, links of one token": ["--seed", "{seed}", "--channel-depth", "1", "--memory-queue", "0"],
        "vrda-untimed, another seed": ["--seed", "{seed}7"]}
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
        for attempt in range(20):
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
        (self.folder / "program.rvt").write_text(program.text())
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

    def check(self, program, openmp=False, only=None):
        """The verdict on a program; with `only` just the interpreter and that run."""
        self.prepare(program)
        source = "program.rvt"
        floats = {a.name for a in program.arrays() if a.element == "float"}
        code, err, shown = self.execute(["run", source, "-p", "interp", "--seed", "0", "--max-steps", str(MAX_STEPS),
                                  "--data", "data", "--out", "first"])
        if code != 0 or "race" in err:
            reason = {3: "step limit", None: "timeout"}.get(code)
            if code not in (0, 1, 3, None):
                return Verdict("find", "interp", f"exit {code}: {essence(err)}", err)
            if not reason:
                reason = "race" if code == 0 else "compile error" if "run-time" not in err and "program.rvt" in err \
                    and "outside" not in err else "run-time error"
            return Verdict("rejected", "interp", reason, err)
        want = read(self.folder / "first")
        wanted = lambda name: only in (None, name)  # noqa: E731
        seed = program.seed % 1000 + 1
        accepted = Verdict("accepted")
        accepted.outputs = want
        counted = re.search(r"(\d+) dataflow thread", shown)
        accepted.threads = int(counted[1]) if counted else 0
        if wanted("interp --seed 1"):
            found = self.target("interp --seed 1", [source, "-p", "interp", "--seed", "1", "--races", "off"], floats,
                                want)
            if found:
                return found
        if only is None or only == "compile" or only.startswith("interp after"):
            (self.folder / "dump").mkdir()
            code, err, _ = self.execute(["compile", source, "-p", "vrda-untimed", "--emit", "rir", "-o", "flow.rir",
                                      "--dump-after", "all", "--dump-dir", "dump"])
            if code == 1 and "nested too deeply" in err:
                return Verdict("rejected", "compile", "nested too deeply", err)
            if code is None:
                return Verdict("timeout", "compile", "timeout", err)
            if code != 0:
                return Verdict("find", "compile", f"exit {code}: {essence(err)}", err)
            accepted.flow = (self.folder / "flow.rir").read_text()
            for i, stage in enumerate(STAGES):
                name = f"interp after {stage}"
                if not wanted(name):
                    continue
                found = self.target(name, [f"dump/{i + 1:03}-{stage}.rir", "-p", "interp", "--races", "off",
                                           "--seed", str(seed if i % 2 else 0)], floats, want)
                if found:
                    return found
        for name, options in VRDA.items():
            if wanted(name):
                options = [o.format(seed=seed) for o in options]
                found = self.target(name, [source, "-p", "vrda-untimed", "--max-firings", str(MAX_FIRINGS), *options],
                                    floats, want)
                if found:
                    return found
        for name, options in OPENMP.items():
            if openmp and wanted(name) or only == name:
                found = self.target(name, [source, "-p", "openmp", *options], floats, want)
                if found:
                    return found
        return accepted


def read(folder):
    return {p.stem: p.read_bytes() for p in sorted(folder.glob("*.bin"))} if folder.is_dir() else {}


def floats_of(content):
    return [f for (f,) in struct.iter_unpack("<f", content)]


def compare(got, want, floats):
    """What differs first, or an empty text."""
    for array, expected in want.items():
        actual = got[array]
        if actual == expected:
            continue
        if len(actual) != len(expected):
            return f"'{array}' has {len(actual)} instead of {len(expected)} bytes"
        size = 4
        for at in range(0, len(expected), size):
            a, b = actual[at:at + size], expected[at:at + size]
            if a == b or (array in floats and math.isnan(floats_of(a)[0]) and math.isnan(floats_of(b)[0])):
                continue
            return f"'{array}' at byte {at}: {a.hex()} instead of {b.hex()}"
    return ""
