#!/usr/bin/env python3
"""Runs tests that are files: line 1 is `// RUN: revet ..` (`# RUN:` in TOML), the expected exit
status, stderr and stdout are in FILE.expected.

    filetest.py --revet PATH FILE..

In the command %s is the file, %t a fresh temporary folder; it runs in the file's folder. With
REVET_BLESS=1 the .expected file is rewritten instead of compared: read the diff.
"""
import argparse
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile


def run(revet, path):
    first = path.read_bytes().split(b"\n")[0].decode("utf-8-sig", "replace").strip()
    match = re.match(r"(?://|#) RUN: revet (.*)$", first)
    if not match:
        return f"{path}: line 1 is no RUN line\n"
    with tempfile.TemporaryDirectory() as temporary:
        words = [w.replace("%s", path.name).replace("%t", temporary) for w in shlex.split(match[1])]
        done = subprocess.run([revet, *words], cwd=path.parent, capture_output=True, timeout=300,
                              stdin=subprocess.DEVNULL)
        clean = lambda data: data.decode("utf-8", "replace").replace(temporary, "%t").replace(
            str(pathlib.Path(revet).resolve().parent.parent), "%build")
        stderr = "".join("! " + line + "\n" for line in clean(done.stderr).splitlines())
        return f"exit {done.returncode}\n{stderr}{clean(done.stdout)}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--revet", required=True)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    revet = os.path.abspath(arguments.revet)
    failures = 0
    for path in arguments.files:
        path = path.resolve()
        expected_path = path.with_name(path.name + ".expected")
        got = run(revet, path)
        if os.environ.get("REVET_BLESS") == "1":
            expected_path.write_text(got)
            continue
        expected = expected_path.read_text() if expected_path.exists() else ""
        if got != expected:
            failures += 1
            sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), got.splitlines(True),
                                                       str(expected_path), "got"))
            print(f"FAILED {path}")
    print(f"{len(arguments.files) - failures} of {len(arguments.files)} passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
