#!/usr/bin/env python3
"""Arrays of more than 4 GiB: every address is computed in 64 bits, and a uint index reaches every
element. The program checks itself: where a value is wrong it leaves the bounds of `ok`."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = """
DRAM<uint> words[m];
DRAM<int> ok[1];
void expect(uint got, uint want) { ok[int(got != want)] = 1; }
void main(uint m) {
  foreach (m by 1000003) { uint i => words[i] = i ^ 5u; };
  words[m - 1u] = 77u;
  expect(words[0], 5u);
  expect(words[m - 1u], 77u);
  expect(words[1073742221u], 1073742221u ^ 5u);  // 1073 * 1000003 .. lies beyond 4 GiB of bytes
  foreach (1) { int only =>
    WriteIt<64> it(words, m - 3u);               // runs over the end
    for (int k = 0; k < 9; k++) { *it = uint(k) + 7u; it++; }
  };
  expect(words[m - 2u], 8u);
  foreach (1) { int only =>
    ReadView<16> v(words, m - 8u, 100);
    expect(v[7], 9u);
    expect(v[8], 0u);
  };
}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--revet", required=True)
    parser.add_argument("--root")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        source = pathlib.Path(temporary) / "large.rvt"
        source.write_text(PROGRAM.replace("1073742221u", f"{1073 * 1000003 + 1000003}u"))
        for target in (["interp", "--races", "off"], ["openmp", "--enable", "bounds-check"], ["openmp"]):
            words = [os.path.abspath(arguments.revet), "run", str(source), "-p", *target, "--arg", "m=1200000000"]
            process = subprocess.Popen(words)
            _, status, usage = os.wait4(process.pid, 0)
            code = os.waitstatus_to_exitcode(status)
            extra = usage.ru_maxrss - 4 * 1200000000 // 1024
            print(f"{target[0]}: exit {code}, {extra} KiB above the data")
            # The compiler of the emitted code is a child of its own and not counted here.
            if code != 0 or extra > 200 * 1024:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
