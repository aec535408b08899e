#!/usr/bin/env python3
"""What `revet check` does with very long and very deep programs: depth ends in one located error,
length costs time in proportion, and a 20,000-line program stays within its budget.

    limits.py --revet PATH [--root DIR]
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

LIMIT = 1000  # nesting_limit in tokens.hpp
SECONDS = 10  # generous: another load may share the machine


def program(statements):
    return "DRAM<int> a;\nvoid main(int n) {\n" + statements + "\n}\n"


def large(lines):
    text = ["DRAM<int> a;"]
    for f in range(lines // 10):
        text += [f"int f{f}(int x, int y) {{",
                 f"  int v = x * {f} + y - (x >> 2);",
                 "  if (v > 3 && y < 100) { v += a[v & 255]; } else { y = y ^ v; }",
                 "  while (x < 10) { x++; y += x; }",
                 "  a[x + 1] = y * 3 + v % 7;",
                 "  for (int i = 0; i < y; i++) { x += max(i, y); }",
                 "  do { y--; if (a[y] == 0) break; } while (y > 0);",
                 "  y = x > y ? v : min(x, 3u) + (int)y;",
                 "  return x + y;",
                 "}"]
    return "\n".join(text) + "\nvoid main(int n) { a[0] = f0(n, 1); }\n"


# n levels of each kind of nesting.
NESTED = {
    "parentheses": lambda n: program("a[0] = " + "(" * n + "n" + ")" * n + ";"),
    "blocks": lambda n: program("{" * n + "}" * n),
    "unary operators": lambda n: program("a[0] = " + "- " * n + "n;"),
    "casts": lambda n: program("a[0] = " + "(int)" * n + "n;"),
    "indices": lambda n: program("n = " + "a[" * n + "n" + "]" * n + ";"),
    "calls": lambda n: program("a[0] = " + "abs(" * n + "n" + ")" * n + ";"),
    "ifs": lambda n: program("if (n) " * n + "n = 3;"),
    "whiles": lambda n: program("while (n) " * n + "n = 3;"),
    "conditionals": lambda n: program("a[0] = " + "n ? 1 : " * n + "n;"),
    "assignments": lambda n: program("a[0] = " + "n = " * n + "1;"),
    "foreachs": lambda n: program("foreach (n) { int i => " * n + "a[i] = 1;" + "};" * n),
}

# n links of chains that are not nesting.
CHAINS = {
    "sum": lambda n: program("a[0] = n" + "\n + n" * n + ";"),
    "else if": lambda n: program("if (n == 0) n = 1;" + "".join(
        f"\nelse if (n == {i}) n = {i + 1};" for i in range(1, n))),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--revet", required=True)
    parser.add_argument("--root")
    arguments = parser.parse_args()
    failures = []

    def check(name, text, wanted_exit, wanted_error=None):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program.rvt"
            path.write_text(text)
            start = time.monotonic()
            done = subprocess.run([arguments.revet, "check", path], capture_output=True, text=True,
                                  timeout=120)
            seconds = time.monotonic() - start
        print(f"{name}: exit {done.returncode}, {seconds:.2f} s")
        first = done.stderr.splitlines()[:1]
        if done.returncode != wanted_exit or (wanted_error and not (first and wanted_error in first[0])):
            failures.append(f"{name}: exit {done.returncode}, {first}")
        if seconds > SECONDS:
            failures.append(f"{name}: {seconds:.1f} s")

    for name, make in NESTED.items():
        error = f"error: nested too deeply (limit {LIMIT})"
        check(f"{LIMIT} nested {name}", make(LIMIT), 0)
        check(f"{LIMIT + 1} nested {name}", make(LIMIT + 1), 1, error)
        check(f"100000 nested {name}", make(100000), 1, error)
    evasive = program("if (n) n = 2; else while (n) " * 100000 + "n = 3;")
    check("100000 nested else bodies", evasive, 1, "error: nested too deeply")
    for name, make in CHAINS.items():
        check(f"{name} of 10000 links", make(10000), 0)
    check("200000 links of else if", CHAINS["else if"](200000), 1, "error: more than 100000 links")
    check("20000 lines", large(20000), 0)

    for failure in failures:
        print("FAILED " + failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
