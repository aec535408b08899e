#!/usr/bin/env python3
"""Behind fuse-allocations no block takes more than one pointer.

    one_pointer.py --revet PATH FILE.rvt..
"""
import argparse
import re
import subprocess
import sys

# An allocation takes a pointer unless its first operand is the buffer whose pointer it shares.
TAKES = re.compile(r"= mem\.sram_alloc\(.*\).* : \((?!sram)")


def pointers(blocks):
    """The most allocations with a pointer of their own in one block."""
    return max((len([line for line in block.splitlines() if TAKES.search(line)]) for block in re.split(r"^\^bb", blocks, flags=re.M)),
               default=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--revet", required=True)
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    failed = several = 0
    for file in arguments.files:
        words = [arguments.revet, "compile", file, "-p", "vrda", "--emit", "rir", "--stop-after", "structure-to-cfg",
                 "--set", "bufferize-replicate.own-pointer=false"]  # it takes pointers that come too late to be shared
        fused, apart = (subprocess.run([*words, *more], capture_output=True, text=True) for more in ([], ["--disable", "fuse-allocations"]))
        if fused.returncode != 0 or pointers(fused.stdout) > 1:
            failed += 1
            print(f"FAILED {file}: exit {fused.returncode}, {pointers(fused.stdout)} pointers in a block\n{fused.stderr[:2000]}")
        several += pointers(apart.stdout) > 1
    print(f"{len(arguments.files) - failed} of {len(arguments.files)} passed; {several} have several without the pass")
    sys.exit(1 if failed or not several else 0)


if __name__ == "__main__":
    main()
