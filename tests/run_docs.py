#!/usr/bin/env python3
"""Runs the commands printed in documentation and compares their output.

    run_docs.py --revet PATH --root REPOSITORY FILE.md..

A fenced block marked `console` holds commands, each a line that starts with `$ `, and what each
prints. A line `...` stands for any number of lines; `..` inside a line for any text. Commands run in
a copy of the repository's apps and pipelines, with `revet` on the PATH. A fenced block marked
`revet` holds a whole program, which must compile.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def blocks(text, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S)


def matches(pattern, got):
    wanted = pattern.splitlines()
    expression = "".join("(?:.*\n)*?" if line == "..." else
                         ".*?".join(map(re.escape, line.split(".."))) + "\n" for line in wanted)
    return re.fullmatch(expression, got if got.endswith("\n") or not got else got + "\n") is not None


def commands(block):
    current = None
    for line in block.splitlines():
        if line.startswith("$ "):
            if current:
                yield current
            current = [line[2:], []]
        elif current:
            current[1].append(line)
    if current:
        yield current


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--revet", required=True)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    environment = dict(os.environ, NO_COLOR="1")
    environment["PATH"] = str(pathlib.Path(arguments.revet).resolve().parent) + ":" + environment["PATH"]
    failures = count = 0
    for file in arguments.files:
        text = file.read_text()
        with tempfile.TemporaryDirectory() as temporary:
            for folder in ("apps", "pipelines", "docs"):
                shutil.copytree(arguments.root / folder, pathlib.Path(temporary) / folder)
            for block in blocks(text, "console"):
                for command, expected in commands(block):
                    count += 1
                    done = subprocess.run(["bash", "-c", command], cwd=temporary, env=environment, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
                    if not matches("\n".join(expected), done.stdout):
                        failures += 1
                        print(f"FAILED {file}: $ {command} (exit {done.returncode})\n{done.stdout}")
            for number, block in enumerate(blocks(text, "revet")):
                count += 1
                source = pathlib.Path(temporary) / f"block{number}.rvt"
                source.write_text(block)
                done = subprocess.run(["revet", "check", source.name], cwd=temporary, env=environment, text=True,
                                      capture_output=True)
                if done.returncode != 0:
                    failures += 1
                    print(f"FAILED {file}: program {number}\n{done.stderr}")
    print(f"{count - failures} of {count} passed")
    return 1 if failures or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
