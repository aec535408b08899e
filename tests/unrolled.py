#!/usr/bin/env python3
"""Differential test of unroll-replicate: programs and apps with replicate regions give the same outputs
on the streaming graph whatever the number of copies, the distribution and the depth of the channels.

    unrolled.py --revet PATH [--full] FILE.rvt|APP_FOLDER..

Without --full each setting is tried with one depth and one seed. What has no replicate is left out.
"""
import argparse
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile

from run_program import Program, compare, Failure

PIPELINE = str(pathlib.Path(__file__).resolve().parent / "unrolled.toml")
FACTORS = [0, 1, 2, 3, 8]


def settings(full):
    """Words and a name for each way to run."""
    out = []
    for number, (factor, distribution) in enumerate(itertools.product(FACTORS, ("dynamic", "static"))):
        for depth, seed, buffer in [(1, 3, 64), (4, 1, 64), (1, 2, 0), (16, 5, 1)][:None if full else 1 + number % 2]:
            name = f"{distribution} {factor}, channels {depth}, seed {seed}, buffer {buffer}"
            out.append((name, ["--set", f"unroll-replicate.factor={factor}", "--set",
                               f"unroll-replicate.distribution={distribution}", "--set",
                               f"unroll-replicate.buffer={buffer}", "--channel-depth", str(depth),
                               "--seed", str(seed), "--check-barriers", "true"]))
    return out


def run(revet, words):
    done = subprocess.run([revet, "run", *words], capture_output=True, text=True, timeout=600, errors="replace")
    return done.returncode, done.stderr


def check_program(revet, path, full):
    program = Program(path)
    with tempfile.TemporaryDirectory() as temporary:
        data = pathlib.Path(temporary) / "data"
        data.mkdir()
        (data / "args.txt").write_text("".join(a + "\n" for a in program.args))
        for name, content in program.inputs.items():
            (data / f"{name}.bin").write_bytes(content)
        for number, (name, words) in enumerate(settings(full)):
            out = pathlib.Path(temporary) / str(number)
            code, err = run(revet, [str(path), "-p", PIPELINE, "--data", str(data), "--out", str(out), *words])
            if program.error is not None:
                if code != 1:
                    raise Failure(f"{name}: expected exit 1, got {code}\n{err}")
                continue
            if code != 0:
                raise Failure(f"{name}: exit {code}\n{err}")
            if program.racy:
                continue
            got = {p.stem: p.read_bytes() for p in out.glob("*.bin")}
            for array, content in program.inputs.items():
                got.setdefault(array, content)
            for array, want in program.outputs.items():
                compare(name, "expected", array, got[array], want, program.tolerance)


def check_app(revet, folder, full):
    source = folder / f"{folder.name}.rvt"
    for data in sorted(p for p in (folder / "data").iterdir() if p.is_dir()):
        for name, words in settings(full):
            code, err = run(revet, [str(source), "-p", PIPELINE, "--data", str(data), "--check",
                                    str(data / "expected"), *words])
            if code != 0 or err:
                raise Failure(f"{data.name}, {name}: exit {code}\n{err}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--revet", required=True)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    revet = os.path.abspath(arguments.revet)
    tried = failures = 0
    for path in arguments.files:
        source = path / f"{path.name}.rvt" if path.is_dir() else path
        if "replicate" not in source.read_text(errors="replace"):
            continue
        tried += 1
        try:
            (check_app if path.is_dir() else check_program)(revet, path, arguments.full)
        except Failure as failure:
            failures += 1
            print(f"FAILED {path}: {failure}")
    print(f"{tried - failures} of {tried} with replicate regions passed")
    return 1 if failures or tried == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
