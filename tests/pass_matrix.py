#!/usr/bin/env python3
"""Runs an app with its optimisations switched on and off: the outputs must be those expected.

    pass_matrix.py --revet PATH [--design cartesian|pairwise] APP_FOLDER..

Every pass of pipelines/parts/vrda-graph.toml that the pipeline can do without is on or off; each
combination runs the app's tiny data set on the streaming graph, and down to basic blocks on the
interpreter.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# What makes the next level of IR cannot be left out.
NEEDED = {"inline", "lower-adapters", "structure-to-cfg", "cfg-to-flow"}


def passes(revet, pipeline):
    """Ids of the passes that may be off."""
    text = subprocess.run([revet, "pipeline", pipeline], capture_output=True, text=True, check=True).stdout
    ids, uses = [], {}
    for name in re.findall(r'pass = "([^"]+)"', text):
        uses[name] = uses.get(name, 0) + 1
        ids.append(name if uses[name] == 1 else f"{name}#{uses[name]}")
    return [i for i in ids if i.split("#")[0] not in NEEDED]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--revet", required=True)
    parser.add_argument("--design", default="cartesian")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    failed = 0
    for app in arguments.folders:
        app = app.resolve()
        data = app / "data" / "tiny"
        for pipeline in ("vrda-untimed", str(HERE / "interp-after-passes.toml")):
            vary = [w for i in passes(arguments.revet, pipeline) for w in ("--vary", f"{i}.enabled=true,false")]
            done = subprocess.run([arguments.revet, "sweep", str(app / f"{app.name}.rvt"), "-p", pipeline, *vary,
                                   "--design", arguments.design, "--data", str(data), "--check",
                                   str(data / "expected"), "--json"], capture_output=True, text=True)
            points = json.loads(done.stdout)["points"] if done.stdout else []
            good = sum(p["outputs"] == "equal" for p in points)
            print(f"{app.name} on {data.name}, {pathlib.Path(pipeline).stem}: "
                  f"{good} of {len(points)} combinations give the expected outputs")
            if done.returncode != 0 or not points or good != len(points):
                failed += 1
                print(done.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
