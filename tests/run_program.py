#!/usr/bin/env python3
"""Differential test of one Revet program: every target must give the same bytes.

    run_program.py --revet PATH FILE.rvt..

The program's first lines say what it needs, each a comment:

    // args: n=5 seed=7
    // in: a = i32 1 2 3          input array; also: u8 "text\\0", TYPE random COUNT SEED
    // out: r = i32 2 4 6         expected output (arrays not named are only compared)
    // error: TEXT                every target must end with exit 1 and TEXT on stderr
    // tolerance: 1e-6            for float arrays
    // racy                       outputs depend on the order of threads: only run, do not compare

The IR after every pass of vrda-untimed reads back as it was printed. Runs: interp in three thread
orders; interp on the IR after every prefix of PASSES; vrda-untimed in
three schedules, one of which checks the barriers of all streams: links of 1 to 4 tokens (each drawn),
of 16, and of 1; openmp without and with bounds-check.
"""
import argparse
import ast
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

PASSES = ["inline", "canonicalize", "lower-adapters", "eliminate-hierarchy", "if-to-select", "canonicalize", "fuse-allocations",
          "hoist-allocations", "bufferize-replicate", "pack-subwords", "structure-to-cfg"]
# Programs of tests need more memory accesses than programs of people.
LARGE_MACHINE = [f"--set=machine.{key}={n}"
                 for key, n in (("grid.rows", 64), ("grid.columns", 64), ("grid.address-columns", 5),
                                ("network.vector-tracks", 32), ("network.scalar-tracks", 32),
                                ("network.control-tracks", 64))]
STAGES = [p if p not in PASSES[:i] else f"{p}#2" for i, p in enumerate(PASSES)]
FORMATS = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "f32": "f", "bool": "B"}


def encode(text):
    """`i32 1 2 3` and the like as the bytes of an array."""
    kind, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    code = FORMATS[kind]
    if rest.startswith('"'):
        return ast.literal_eval("b" + rest)
    if rest.startswith("random "):
        count, state = map(int, rest.split()[1:3])
        size = struct.calcsize(code)
        out = bytearray()
        for _ in range(count):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            if kind == "f32":
                out += struct.pack("<f", ((state >> 40) - 2**23) / 2**16)
            elif kind == "bool":
                out.append(state >> 63)
            else:
                out += (state >> 32).to_bytes(4, "little")[:size]
        return bytes(out)
    convert = float if kind == "f32" else lambda s: int(s, 0)
    return struct.pack(f"<{len(rest.split())}{code}", *map(convert, rest.split()))


class Program:
    def __init__(self, path):
        self.path = path
        self.args, self.inputs, self.outputs = [], {}, {}
        self.error, self.tolerance, self.racy = None, None, False
        for line in path.read_text(errors="replace").splitlines():
            match = re.match(r"// (args|in|out|error|tolerance|racy)(?::(.*))?$", line.strip())
            if not match:
                if not line.startswith("//"):
                    break
                continue
            key, value = match[1], (match[2] or "").strip()
            if key == "args":
                self.args = value.split()
            elif key in ("in", "out"):
                name, _, data = value.partition("=")
                (self.inputs if key == "in" else self.outputs)[name.strip()] = encode(data)
            elif key == "error":
                self.error = value
            elif key == "tolerance":
                self.tolerance = value
            else:
                self.racy = True


class Failure(Exception):
    pass


def execute(revet, words):
    done = subprocess.run([revet, *words], capture_output=True, text=True, timeout=600, errors="replace")
    return done.returncode, done.stderr


def dump_to(folder):
    """Words that make a compilation leave the IR before and after every pass in the folder."""
    folder.mkdir()
    return ["--dump-before", "inline", "--dump-after", "all", "--dump-dir", str(folder)]


def dump_after(stage):
    """The file of dump_to's folder with the IR after one of STAGES; the first is that before them."""
    return f"{STAGES.index(stage) + 2:03}-{stage}.rir"


def not_read_back(revet, folder):
    """The first dump that is another one when it is read and printed, or an empty text."""
    for dump in sorted(folder.glob("*.rir")):
        done = subprocess.run([revet, "opt", str(dump)], capture_output=True, timeout=600)
        printed = dump.read_bytes().partition(b"\n")[2]
        if done.returncode != 0 or done.stdout != printed:
            return f"{dump.name} does not read back as it was printed: exit {done.returncode}\n{done.stderr.decode()}"
    return ""


def check(revet, program, folder, only):
    data = folder / "data"
    data.mkdir()
    (data / "args.txt").write_text("".join(a + "\n" for a in program.args))
    for name, content in program.inputs.items():
        (data / f"{name}.bin").write_bytes(content)

    dump = folder / "dump"
    code, err = execute(revet, ["compile", str(program.path), "-p", "vrda-untimed", "--emit", "rir", *dump_to(dump),
                                "-o", str(folder / "graph.rir")])
    if code != 0:
        raise Failure(f"compile: exit {code}\n{err}")
    changed = not_read_back(revet, dump)
    if changed:
        raise Failure(changed)
    optimised = []
    for stage in STAGES:
        rir = folder / f"{program.path.stem}-{stage}.rir"
        (dump / dump_after(stage)).rename(rir)
        optimised.append((f"interp after {stage}", [str(rir), "-p", "interp", "--races", "off"]))
    source = str(program.path)
    runs = [("interp", [source, "-p", "interp"]),
            ("interp --seed 1", [source, "-p", "interp", "--seed", "1", "--races", "off"]),
            ("interp --seed 2", [source, "-p", "interp", "--seed", "2", "--races", "off"]),
            *optimised,
            ("vrda-untimed", [source, "-p", "vrda-untimed", "--check-barriers", "true"]),
            ("vrda-untimed depth 16", [source, "-p", "vrda-untimed", "--seed", "2", "--channel-depth", "16",
                                       "--memory-queue", "0"]),
            ("vrda-untimed depth 1", [source, "-p", "vrda-untimed", "--seed", "3", "--channel-depth", "1"]),
            ("vrda", [source, "-p", "vrda", "--no-progress", "5000000", *LARGE_MACHINE,
                      "--set", "unroll-replicate.target-utilisation=0"]),
            ("openmp checked", [source, "-p", "openmp", "--enable", "bounds-check"])]
    if program.error is None:
        runs.append(("openmp", [source, "-p", "openmp"]))

    first = None
    for name, words in runs:
        if not name.startswith(tuple(only.split(","))):
            continue
        out = folder / name.replace(" ", "_")
        code, err = execute(revet, ["run", *words, "--data", str(data), "--out", str(out)])
        if program.error is not None:
            # Without its adapters a program names the buffers that they became.
            lowered = name.startswith("vrda") or (
                name.startswith("interp after") and STAGES.index(name[len("interp after "):]) >= STAGES.index("lower-adapters"))
            text = "" if lowered else program.error
            if code != 1 or text not in err:
                raise Failure(f"{name}: expected exit 1 and '{program.error}', got exit {code}\n{err}")
            continue
        if code != 0:
            raise Failure(f"{name}: exit {code}\n{err}")
        if name == "interp" and "race" in err and not program.racy:
            raise Failure(f"the program has a race\n{err}")
        got = {p.stem: p.read_bytes() for p in sorted(out.glob("*.bin"))}
        if program.racy:
            continue
        # An array that a target cannot write, its stores being dead, is not among its outputs.
        for array, content in program.inputs.items():
            got.setdefault(array, content)
        for array, want in program.outputs.items():
            if array not in got:
                raise Failure(f"{name}: no array '{array}'")
            compare(name, "expected", array, got[array], want, program.tolerance)
        if first is None:
            first = got
        for array, want in first.items():
            compare(name, "interp", array, got[array], want, program.tolerance)


def compare(run, other, array, got, want, tolerance):
    if got == want:
        return
    if tolerance and len(got) == len(want) and len(got) % 4 == 0:
        pairs = zip(struct.iter_unpack("<f", got), struct.iter_unpack("<f", want))
        if all(abs(a - b) <= float(tolerance) * max(1.0, abs(b)) for (a,), (b,) in pairs):
            return
    at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
    raise Failure(f"{run} differs from {other} in '{array}' at byte {at}: "
                  f"got {got[at:at + 8].hex()}, want {want[at:at + 8].hex()} "
                  f"({len(got)} and {len(want)} bytes)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--revet", required=True)
    parser.add_argument("--only", default="", help="run only targets whose name starts so, or so (separated by commas)")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    revet = os.path.abspath(arguments.revet)
    failures = 0
    for path in arguments.files:
        with tempfile.TemporaryDirectory() as temporary:
            try:
                check(revet, Program(path), pathlib.Path(temporary), arguments.only)
            except Failure as failure:
                failures += 1
                print(f"FAILED {path}: {failure}")
    print(f"{len(arguments.files) - failures} of {len(arguments.files)} passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
