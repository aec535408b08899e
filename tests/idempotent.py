#!/usr/bin/env python3
"""Every optimisation of the vRDA pipeline, run twice in a row: the second time it changes nothing.

    idempotent.py --revet PATH FILE.rvt..
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from run_program import LARGE_MACHINE

# They make another level of IR, so that a second one does not fit.
ONCE = {"structure-to-cfg", "cfg-to-flow"}


def passes(revet):
    text = subprocess.run([revet, "pipeline", "vrda"], capture_output=True, text=True, check=True).stdout
    return re.findall(r'pass = "([^"]+)"', text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--revet", required=True)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    entries, again = [], []
    for name in passes(arguments.revet):
        entries.append(f'"{name}"')
        if name not in ONCE:
            again.append(f"again{len(again)} {name}")
            entries.append(f'{{ pass = "{name}", id = "{again[-1]}" }}')
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        pipeline = pathlib.Path(temporary) / "twice.toml"
        pipeline.write_text(f"[strategy]\nmain = [{', '.join(entries)}]\n")
        for file in arguments.files:
            done = subprocess.run([arguments.revet, "compile", str(file), "-p", str(pipeline), "--emit", "rir", "-o",
                                   f"{temporary}/out.rir", "--print-pass-stats", *LARGE_MACHINE], capture_output=True, text=True)
            changed = [i for i in again if f"\n{i}: changed" in "\n" + done.stderr]
            if done.returncode != 0 or changed:
                failed += 1
                print(f"FAILED {file}: exit {done.returncode}, changed again by {changed}\n{done.stderr[:2000] if not changed else ''}")
    print(f"{len(arguments.files) - failed} of {len(arguments.files)} passed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
