"""What the tests of the command line share: a folder to work in, cases, a count of failures."""
import argparse
import os
import pathlib
import subprocess
import tempfile


class Suite:
    def __init__(self, revet, root, folder):
        self.revet, self.root, self.folder = revet, root, folder
        self.failures = self.count = 0

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def run(self, words, stdin=b"", **options):
        return subprocess.run([self.revet, *words], cwd=self.folder, input=stdin, capture_output=True, timeout=300,
                              **options)

    def case(self, name, words, code, stderr=(), stdout=(), stdin=b""):
        self.count += 1
        done = self.run(words, stdin)
        err, out = done.stderr.decode("utf-8", "replace"), done.stdout.decode("utf-8", "replace")
        problems = []
        if done.returncode != code:
            problems.append(f"exit {done.returncode}, expected {code}")
        if code != 0 and not err:
            problems.append("nothing on stderr")
        problems += [f"stderr lacks {t!r}" for t in stderr if t not in err]
        problems += [f"stdout lacks {t!r}" for t in stdout if t not in out]
        self.report(name, problems, err + out)
        return done

    def report(self, name, problems, talk=""):
        if problems:
            self.failures += 1
            print(f"FAILED {name}: {'; '.join(problems)}\n{talk}")

    def check(self, name, condition, talk=""):
        self.count += 1
        self.report(name, [] if condition else ["does not hold"], talk)


def run_groups(*groups):
    """Runs each group on one Suite; gives the exit status of the script."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--revet", required=True)
    parser.add_argument("--root", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="revet ") as folder:
        suite = Suite(os.path.abspath(arguments.revet), arguments.root, pathlib.Path(folder))
        for group in groups:
            group(suite)
    print(f"{suite.count - suite.failures} of {suite.count} passed")
    return 1 if suite.failures else 0
