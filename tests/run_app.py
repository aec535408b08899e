#!/usr/bin/env python3
"""Runs one app, and its variants, on every data set in its folder and checks the outputs; the IR after every
pass reads back as it was printed, and of a streaming graph the barriers of all streams are checked.

    run_app.py --revet PATH --pipeline NAME APP_FOLDER
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

from run_program import dump_to, not_read_back


def read_back(revet, source, pipeline):
    with tempfile.TemporaryDirectory() as temporary:
        dump = pathlib.Path(temporary) / "dump"
        subprocess.run([revet, "compile", str(source), "-p", pipeline, "--emit", "rir", *dump_to(dump),
                        "-o", f"{temporary}/last.rir"], check=True, timeout=600)
        return not_read_back(revet, dump)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--revet", required=True)
    parser.add_argument("--pipeline", required=True)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    sources = [arguments.folder / f"{arguments.folder.name}.rvt", *sorted(arguments.folder.glob("variants/*.rvt"))]
    sets = sorted(p for p in (arguments.folder / "data").iterdir() if p.is_dir())
    failed = 0
    checks = ["-q", "--check-barriers", "true"] if arguments.pipeline == "vrda-untimed" else ["-q"]
    for source in sources:
        # The interpreter's pipeline has no passes.
        changed = arguments.pipeline != "interp" and read_back(arguments.revet, source, arguments.pipeline)
        if changed:
            failed += 1
            print(f"{source.name}: {changed}")
        for data in sets:
            words = [arguments.revet, "run", str(source), "-p", arguments.pipeline, "--data", str(data),
                     "--check", str(data / "expected"), *checks]
            done = subprocess.run(words, capture_output=True, text=True, timeout=600)
            if done.returncode != 0 or done.stderr:
                failed += 1
                print(f"{source.name} on {data.name}: exit {done.returncode}\n{done.stderr}")
    print(f"{len(sources)} programs on {len(sets)} sets, {failed} failed")
    return 1 if failed or len(sets) < 3 else 0


if __name__ == "__main__":
    sys.exit(main())
