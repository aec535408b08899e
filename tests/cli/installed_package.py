#!/usr/bin/env python3
"""Installs to a prefix with a space in its name, moves it, and builds and runs a plugin that knows
only the installed package."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--revet", required=True)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    build = pathlib.Path(arguments.revet).resolve().parent.parent

    def run(*words, **options):
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **options)
        return done.returncode, done.stdout + done.stderr

    def require(ok, talk):
        if not ok:
            print(talk)
            sys.exit(1)

    with tempfile.TemporaryDirectory(prefix="revet sdk ") as temporary:
        folder = pathlib.Path(temporary)
        code, talk = run("cmake", "--install", build, "--prefix", folder / "first place")
        require(code == 0, talk)
        prefix = folder / "second place"
        (folder / "first place").rename(prefix)
        shutil.copytree(arguments.root / "tests/sdk", folder / "src")
        environment = dict(os.environ, CMAKE_PREFIX_PATH=str(prefix))
        code, talk = run("cmake", "-S", folder / "src", "-B", folder / "out", "-G", "Ninja", env=environment)
        require(code == 0, talk)
        code, talk = run("cmake", "--build", folder / "out")
        require(code == 0, talk)
        plugin = folder / "out/libstranger.so"
        revet = prefix / "bin/revet"
        app = arguments.root / "apps/murmur3/murmur3.rvt"
        rir = folder / "m.rir"
        code, talk = run(revet, "compile", app, "-p", "interp", "-o", rir)
        require(code == 0, talk)
        opt = [revet, "opt", rir, "-o", folder / "out.rir", "--plugin", plugin, "--print-pass-stats"]
        code, talk = run(*opt, "--pass", "count-stores")
        require(code == 0 and "count-stores: unchanged" in talk, talk)
        require((folder / "out.rir").read_bytes() == rir.read_bytes(), "the module changed")
        code, talk = run(*opt, "--pass", "count-stores{refuse=true}")
        require(code == 1 and "refused, as asked" in talk, talk)
        code, talk = run(revet, "passes", "count-stores", "--plugin-path", folder / "out")
        require(code == 0 and "refuse" in talk, talk)
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
