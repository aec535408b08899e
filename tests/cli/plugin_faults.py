#!/usr/bin/env python3
"""What the host does with plugins that are wrong: it names the file and the cause, never goes on with half of what was
asked for, and lets no faulty file matter that nobody needs.

The plugins are built by tests/faults, most with one thing wrong. With REVET_SANITIZED set, what crashes on purpose is
left out: a sanitizer ends the process before the host can report it."""
import json
import os
import pathlib
import platform
import re
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import Suite, run_groups

SANITIZED = bool(os.environ.get("REVET_SANITIZED"))

PROGRAM = """DRAM<int> a;
DRAM<int> r[n];
void main(int n) {
  foreach (n) { int i => r[i] = a[i] + 1; };
}
"""

# Name of the plugin, whether its sections tell, what the message says.
FAULTS = [
    ("section-abi", True, ["plugin ABI 99", "this revet has 1", "rebuild"]),
    ("section-fingerprint", True, ["compiler=msc-6", "rebuild"]),
    ("no-sections", True, ["not a revet plugin", ".revet.abi"]),
    ("own-core", True, ["carries its own copy of librevet"]),
    ("no-entry", False, ["not a revet plugin", "'revet_plugin'"]),
    ("magic", False, ["'revet_plugin'", "0x30545652", "0x31545652", "rebuild"]),
    ("size", False, ["'revet_plugin'", "size 8", "rebuild"]),
    ("abi", False, ["plugin ABI 99", "this revet has 1", "rebuild"]),
    ("fingerprint", False, ["compiler=msc-6", "rebuild"]),
    ("null-fingerprint", False, ["'revet_plugin'"]),
    ("null-name", False, ["'revet_plugin'"]),
    ("null-register", False, ["'revet_plugin'"]),
    ("throws-std", False, ["no licence found"]),
    ("throws-int", False, ["not a std::exception"]),
    ("throws-error", False, ["its table is not there"]),
    ("registers-more", False, ["registers pass:fault-not-announced", ".revet.provides"]),
    ("registers-less", False, ["pass:fault-forgotten", "does not register"]),
    ("undefined-symbol", False, ["undefined symbol", "absent::function("]),
    ("missing-dependency", False, ["libfault-dependency.so"]),
]

# Pass, whether it crashes, what the message says.
PASSES = [
    ("throws-std", False, ["the tables are full"]),
    ("throws-int", False, ["not a std::exception"]),
    ("writes-to-null", True, ["Segmentation fault"]),
    ("aborts", True, ["Aborted"]),
    ("fails-assertion", True, ["two + two == 5", "Aborted"]),
    ("overflows-stack", True, ["Segmentation fault"]),
    ("frees-twice", True, ["Aborted"]),
    ("crashes-in-a-thread", True, ["Segmentation fault"]),
    ("says-changed", False, ["said that the module is changed, but it is unchanged"]),
    ("says-unchanged", False, ["said that the module is unchanged, but it is changed"]),
    ("fails-after-change", False, ["failed, but it is changed"]),
    ("breaks-ir", False, ["verifier check 3"]),
    ("claims-empty", False, ["property 'fault-empty' does not hold", "thread.func: is still there"]),
    ("claims-checked", False, ["fault-throws", "the tables are full"]),
]
if platform.machine() == "x86_64":  # elsewhere a division by zero gives a number
    PASSES.append(("divides-by-zero", True, ["Floating point exception"]))

OPAQUE = """%a = mem.dram() {sym = "a"} : () -> (dram<i32>)
thread.func() {args = ["n"], result = void, sym = "main"} ({
^bb0(%n: i32):
  %one = arith.constant() {value = 1} : () -> (i32)
  %unused = faulty.opaque(%n) : (i32) -> (i32)
  %x = faulty.opaque(%n) : (i32) -> (i32)
  %y = faulty.opaque(%n) : (i32) -> (i32)
  mem.dram_store(%a, %x, %y) : (dram<i32>, i32, i32) -> ()
  faulty.opaque() : () -> ()
  mem.dram_store(%a, %one, %y) : (dram<i32>, i32, i32) -> ()
  %v = mem.dram_load(%a, %one) : (dram<i32>, i32) -> (i32)
  faulty.opaque(%one) : (i32) -> ()
  %w = mem.dram_load(%a, %one) : (dram<i32>, i32) -> (i32)
  thread.foreach(%one, %n, %one) ({
  ^bb1(%i: i32):
    faulty.opaque(%n, %one) : (i32, i32) -> ()
    mem.dram_store(%a, %v, %w) : (dram<i32>, i32, i32) -> ()
    thread.yield() : () -> ()
  }) : (i32, i32, i32) -> ()
  thread.return() : () -> ()
}) : () -> ()
"""


def elf_with_sections(abi, provides, times):
    """A shared object with nothing but these sections, the second one named so often."""
    names = b"\0.shstrtab\0.revet.abi\0.revet.provides\0"
    contents = names + abi + provides

    def section(name, kind, offset, size):
        return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset, size, 0, 0, 1, 0)

    machine = {"x86_64": 62, "aarch64": 183}.get(platform.machine(), 0)
    table = [section(0, 0, 0, 0), section(1, 3, 64, len(names)), section(11, 1, 64 + len(names), len(abi))]
    table += [section(22, 1, 64 + len(names) + len(abi), len(provides))] * times
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 3, machine, 1, 0, 0, 64 + len(contents), 0, 64, 0, 0, 64, len(table), 1)
    return header + contents + b"".join(table)


class Faults(Suite):
    def __init__(self, revet, root, folder):
        super().__init__(revet, root, folder)
        folder.mkdir()
        self.build = pathlib.Path(revet).resolve().parent.parent
        self.faults = self.build / "tests/faults"
        self.marker = folder / "marker"
        version = self.run(["--version", "--verbose"]).stdout.decode()
        self.fingerprint = re.search(r"plugin ABI: \S+ (.*)", version).group(1)
        self.write("p.rvt", PROGRAM)
        self.input = self.write("in.rir", self.run(["compile", "p.rvt", "-p", "interp", "--emit", "rir"]).stdout)
        self.plain = self.run(["opt", "in.rir", "--pass", "canonicalize"]).stdout

    def plugin(self, name):
        return str(self.faults / f"libfault-{name}.so")

    def copy(self, name, to, change=lambda b: b):
        return self.write(to, change(pathlib.Path(self.plugin(name)).read_bytes()))

    def link(self, name, to):
        path = self.folder / to
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(self.plugin(name))
        return str(path)

    def loaded(self, words, **variables):
        """Runs and gives, with the result, the names that plugins left as they were loaded."""
        self.marker.unlink(missing_ok=True)
        done = self.run(words, env=dict(os.environ, REVET_TEST_MARKER=str(self.marker), **variables))
        return done, self.marker.read_text().split() if self.marker.exists() else []

    def refused(self, name, words, texts=(), lacks=(), **variables):
        """The run ends with exit 2 and all of the texts, before any pass runs and without output."""
        self.count += 1
        output = self.folder / "refused.rir"
        done, names = self.loaded(["opt", "in.rir", *words, "--dump-before", "all", "-o", str(output)], **variables)
        err = done.stderr.decode("utf-8", "replace")
        problems = []
        if done.returncode != 2:
            problems.append(f"exit {done.returncode}, expected 2")
        problems += [f"stderr lacks {t!r}" for t in texts if t not in err]
        problems += [f"stderr has {t!r}" for t in lacks if t in err]
        if "----- before" in err:
            problems.append("a pass ran")
        if done.stdout or output.exists():
            problems.append("there is output")
        if list(self.folder.glob("revet-crash-*")):
            problems.append("there is a reproducer")
        self.report(name, problems, err)
        output.unlink(missing_ok=True)
        return done, names

    def helper(self, words, **variables):
        """The numbers that helpers of plugins gave."""
        done, _ = self.loaded(["opt", "in.rir", *words, "--print-pass-stats", "-o", "helper.rir"], **variables)
        talk = done.stderr.decode()
        return [int(n) for n in re.findall(r"^ *(\d+)  helper$", talk, re.M)] if done.returncode == 0 else talk


def loading(s):
    some = ["--pass", "canonicalize"]
    done = s.run(["opt", "in.rir", *some, "--dump-before", "all"])
    s.check("a pass that runs is seen", done.returncode == 0 and b"----- before" in done.stderr, done.stderr)
    for name, by_sections, texts in FAULTS:
        path = s.plugin(name)
        texts = [path, *texts, *([s.fingerprint] if "compiler=msc-6" in texts else [])]
        lacks = ["internal error"]
        if name == "undefined-symbol":
            lacks += ["_ZN6absent", "No such file"]
        s.write(f"{name}.toml", f'plugins = ["{path}"]\n[strategy]\nmain = ["canonicalize"]\n')
        folder = pathlib.Path(s.link(name, f"only {name}/libx.so")).parent
        ways = {
            "named": (["--plugin", path, *some], texts),
            "of the pipeline": (["-p", f"./{name}.toml"], texts),
            "needed": (["--plugin-path", str(folder), *some, "--pass", f"fault-{name}"],
                       [str(folder / "libx.so"), *texts[1:]]),
        }
        for way, (words, expected) in ways.items():
            if way == "needed" and name == "no-sections":
                continue  # nothing says what it provides
            _, names = s.refused(f"{name}, {way}", words, expected, lacks)
            if by_sections:
                s.check(f"{name}, {way}: nothing of it runs", not names, str(names))
            elif name not in ("undefined-symbol", "missing-dependency"):
                s.check(f"{name}, {way}: that it was loaded is seen", names == [f"fault-{name}"], str(names))
        done, names = s.loaded(["opt", "in.rir", *some, "--plugin-path", str(folder)])
        s.check(f"{name}, unneeded", done.returncode == 0 and done.stdout == s.plain and not done.stderr and not names,
                done.stderr)
        s.case(f"{name}, while listing passes", ["passes", "--plugin-path", str(folder)], 0, [], ["canonicalize"])
        done = s.run(["plugins", "--plugin-path", str(folder)])
        listed = done.stdout.decode()
        s.check(f"{name}, while listing plugins",
                done.returncode == 0 and str(folder / "libx.so") in listed
                and (not by_sections or all(t in listed for t in ["cannot be used", *texts[1:]])), listed)
        if by_sections:
            rows = json.loads(s.run(["plugins", "--json", "--plugin-path", str(folder)]).stdout)
            errors = [r["error"] for r in rows if r["path"] == str(folder / "libx.so")]
            s.check(f"{name}, as JSON", len(errors) == 1 and errors[0], str(rows))
    words = ["passes", "--plugin", s.plugin("missing-dependency")]
    err = re.sub(r"\S*fault-\S*", "FILE", s.run(words).stderr.decode())
    s.check("what is missing is a dependency, not the plugin", re.search("depend|needs", err), err)
    done, _ = s.loaded(words, LD_LIBRARY_PATH=str(s.faults / "dependency"))
    s.check("with its dependency it works", done.returncode == 0 and b"fault-missing-dependency" in done.stdout,
            done.stderr)
    if not SANITIZED:
        done = s.run(["passes", "--plugin", s.plugin("crashes")])
        s.check("a crash while registering", done.returncode in (2, 70) and s.plugin("crashes").encode() in done.stderr,
                f"exit {done.returncode}\n{done.stderr.decode()}")


def all_are_listed(s):
    names = [row[0] for row in FAULTS]
    words = []
    for name in names:
        words += ["--plugin", s.plugin(name)]
    s.refused("all that fail are listed", [*words, "--plugin", s.plugin("good-one"), "--pass", "canonicalize"],
              [s.plugin(n) for n in names], [s.plugin("good-one")])
    s.write("both.toml", f'plugins = ["{s.plugin("magic")}", "{s.plugin("abi")}"]\n[strategy]\nmain = []\n')
    s.refused("all of a pipeline are listed", ["-p", "./both.toml"], [s.plugin("magic"), s.plugin("abi")])
    s.refused("those of the command line and of the pipeline are listed",
              ["-p", "./both.toml", "--plugin", s.plugin("size")], [s.plugin(n) for n in ("magic", "abi", "size")])
    s.refused("all that are needed are listed",
              ["--plugin-path", str(s.faults), "--pass", "fault-magic", "--pass", "fault-abi"],
              [s.plugin("magic"), s.plugin("abi")])


def odd_files(s):
    good = pathlib.Path(s.plugin("good-one")).read_bytes()
    header = int.from_bytes(good[40:48], "little")
    lengths = sorted({*range(0, 68, 4), *range(0, len(good), len(good) // 48), header - 1, header, header + 1,
                      header + 63, header + 64, len(good) - 64, len(good) - 1})
    cuts = [s.write(f"cuts/{n:06}.so", good[:n]) for n in lengths]
    words = [w for path in cuts for w in ("--plugin", path)]
    s.refused(f"a plugin cut at {len(cuts)} lengths", [*words, "--max-errors", "1000", "--pass", "canonicalize"],
              cuts)

    odd = s.folder / "odd"
    s.copy("good-one", "odd/machine.so", lambda b: b[:18] + b"\xf3\x00" + b[20:])
    s.copy("good-one", "odd/class.so", lambda b: b[:4] + b"\x01" + b[5:])
    s.copy("good-one", "odd/order.so", lambda b: b[:5] + b"\x02" + b[6:])
    s.copy("good-one", "odd/program.so", lambda b: b[:16] + b"\x02\x00" + b[18:])
    s.copy("good-one", "odd/headless.so", lambda b: b[:40] + bytes(8) + b[48:58] + bytes(6) + b[64:])
    s.write("odd/empty.so", b"")
    s.write("odd/text.so", "#!/bin/sh\necho hello\n")
    (odd / "folder.so").mkdir()
    (odd / "dangling.so").symlink_to("nowhere.so")
    (odd / "loop.so").symlink_to("loop.so")
    os.mkfifo(odd / "fifo.so")
    causes = {"machine": "another architecture", "class": "64-bit", "order": "little-endian",
              "program": "not a shared object", "headless": "not a revet plugin", "empty": "file is empty",
              "text": "not a shared object", "folder": "directory", "dangling": "no such file", "loop": "too many levels",
              "fifo": "not a regular file"}
    for name, cause in causes.items():
        path = str(odd / f"{name}.so")
        s.refused(f"{name} as a plugin", ["--plugin", path, "--pass", "canonicalize"], [path])
        err = s.run(["passes", "--plugin", path]).stderr.decode()
        s.check(f"{name}: why", cause in err.lower(), err)
        s.check(f"{name}: one line", err.count("\n") == 1, err)
    for folder in ("odd", "cuts"):
        done = s.run(["opt", "in.rir", "--pass", "canonicalize", "--plugin-path", folder])
        s.check(f"{folder} files on the path", done.returncode == 0 and done.stdout == s.plain and not done.stderr,
                done.stderr)
    s.case("odd files while listing passes", ["passes", "--plugin-path", "odd"], 0, [], ["canonicalize"])
    listed = s.run(["plugins", "--plugin-path", "odd"]).stdout.decode()
    s.check("odd files are listed with their reasons",
            all(re.search(f"odd/{n}.so\n +cannot be used: .*{c}", listed, re.I) for n, c in causes.items()
                if n not in ("dangling", "loop")), listed)

    # A reader that took all of them would need a time that is the square of the file's size.
    abi = f"1\0{s.fingerprint}\0release\0".encode()
    repeated = s.write("repeated/x.so", elf_with_sections(abi, b"pass:x\0", 2))
    s.refused("a section that is there twice", ["--plugin", repeated, "--pass", "canonicalize"],
              [repeated, ".revet.provides"])

    path = pathlib.Path(s.copy("good-one", "unreadable.so"))
    path.chmod(0)
    as_user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    s.folder.parent.chmod(0o755)
    try:
        done = s.run(["passes", "--plugin", str(path)], **as_user)
        closed = done.returncode == 127  # the loader may not read librevet
    except PermissionError:
        closed = True
    if closed:
        print("skipped: the build folder is closed to other users")
    else:
        s.check("unreadable", done.returncode == 2 and str(path).encode() in done.stderr
                and b"Permission denied" in done.stderr, done.stderr)
        done = s.run(["passes", "--plugin-path", "."], **as_user)
        s.check("unreadable on the path", done.returncode == 0 and b"canonicalize" in done.stdout, done.stderr)
    path.unlink()

    stripped = s.copy("good-one", "stripped.so")
    if shutil.which("strip"):
        subprocess.run(["strip", "-s", stripped], check=True)
        s.check("strip took something", len(good) > os.path.getsize(stripped))
        s.check("a stripped plugin works", s.helper(["--plugin", stripped, "--pass", "good-one"]) == [1])
    s.copy("good-one", "odd name, no suffix")
    s.check("a plugin of an odd name", s.helper(["--plugin", "./odd name, no suffix", "--pass", "good-one"]) == [1])


def check_reproducer(s, name, folder, words, texts):
    """Runs in `folder`, where out.rir is an old file, and looks at all that the failing pass `name` leaves."""
    path, label = s.plugin("passes"), folder.name
    folder.mkdir(parents=True)
    (folder / "out.rir").write_text("old")

    def run(*words, cwd=folder):
        done = subprocess.run([s.revet, *words], cwd=cwd, capture_output=True, timeout=300)
        return done, done.stderr.decode()

    def says(done, err):
        return (done.returncode == 70 and not done.stdout and "internal error" in err and f"'{name}'" in err
                and all(t in err for t in texts))

    done, err = run("opt", s.input, *words, "-o", "out.rir")
    s.check(f"{label}: exit 70, the pass, the cause", says(done, err), f"exit {done.returncode}\n{err}")
    s.check(f"{label}: the plugin", path in err, err)
    s.check(f"{label}: an old output survives", (folder / "out.rir").read_text() == "old")
    left = sorted(p.name for p in folder.iterdir())
    s.check(f"{label}: one reproducer and nothing else", left == ["out.rir", f"revet-crash-{name}"], f"{left}\n{err}")
    crash = folder / f"revet-crash-{name}"
    if not crash.is_dir():
        return
    s.check(f"{label}: how to see it again", f"revet replay {crash.name}" in err, err)
    files = sorted(p.name for p in crash.iterdir())
    s.check(f"{label}: its files", files == ["input.rir", "pipeline.toml", "reproducer.json"], str(files))
    s.check(f"{label}: the input of the pass", (crash / "input.rir").read_bytes() == s.plain)
    pipeline = (crash / "pipeline.toml").read_text()
    s.check(f"{label}: the rest of the pipeline",
            f'"{name}"' in pipeline and '"count-ops"' in pipeline and '"canonicalize"' not in pipeline, pipeline)
    facts = json.loads((crash / "reproducer.json").read_text())
    plugins = {p["path"]: p for p in facts["plugins"]}
    s.check(f"{label}: the facts", facts["pass"] == name and facts["command"][:2] == ["revet", "opt"]
            and words[0] in facts["command"] and len(plugins.get(path, {}).get("fnv1a64", "")) == 16, str(facts))
    s.case(f"{label}: the input is good", ["opt", str(crash / "input.rir"), "--pass", "canonicalize"], 0)
    for where, cwd, argument in (("here", folder, crash.name), ("elsewhere", s.folder, str(crash))):
        done, err = run("replay", argument, cwd=cwd)
        # The first line tells what was seen then.
        now = "".join(line for line in err.splitlines(True) if "note: then:" not in line)
        s.check(f"{label}: replayed {where}", says(done, now) and path in now, f"exit {done.returncode}\n{err}")
        left = [*folder.iterdir(), *s.folder.glob("revet-crash*")]
        s.check(f"{label}: no second reproducer {where}", len(left) == 2, str(left))


def passes(s):
    plugin = s.plugin("passes")
    for name, crashes, texts in PASSES:
        if crashes and SANITIZED:
            continue
        check_reproducer(s, name, s.folder / "crash" / name,
                         ["--plugin", plugin, "--pass", "canonicalize", "--pass", name, "--pass", "count-ops"], texts)

    # The ways to find the plugin are no part of what replay is told.
    rest = ["--pass", "canonicalize", "--pass", "throws-std", "--pass", "count-ops"]
    check_reproducer(s, "throws-std", s.folder / "by path", ["--plugin-path", str(s.faults), *rest],
                     ["the tables are full"])
    s.write("faulty.toml", f'plugins = ["{plugin}"]\n[strategy]\nmain = ["canonicalize", "throws-std", "count-ops"]\n')
    check_reproducer(s, "throws-std", s.folder / "by pipeline", ["-p", str(s.folder / "faulty.toml")],
                     ["the tables are full"])
    s.copy("passes", "near/libpasses.so")
    folder = s.folder / "near"
    words = [s.revet, "opt", s.input, "--plugin", "./libpasses.so", "--pass", "throws-std"]
    done = subprocess.run(words, cwd=folder, capture_output=True)
    s.check("a relative plugin", done.returncode == 70 and b"./libpasses.so" in done.stderr, done.stderr)
    s.case("replayed from another folder", ["replay", str(folder / "revet-crash-throws-std")], 70,
           ["'throws-std'", "libpasses.so threw: the tables are full"])
    subprocess.run(words, cwd=folder, capture_output=True)
    left = sorted(p.name for p in folder.iterdir())
    s.check("the next failure has a folder of its own",
            left == ["libpasses.so", "revet-crash-throws-std", "revet-crash-throws-std-2"], str(left))

    def fails(name, words, code, texts, reproducers):
        """No output, and one of these numbers of reproducers."""
        done = s.case(name, words, code, texts)
        s.check(f"{name}: nothing on stdout", not done.stdout)
        left = list(s.folder.glob("revet-crash-*"))
        s.check(f"{name}: reproducers", len(left) in reproducers, str(left))
        for folder in left:
            shutil.rmtree(folder)

    def strategy(name, text):
        return ["opt", "in.rir", "--plugin", plugin, "-p", s.write(f"{name}.toml", f"[strategy]\nmain = [{text}]\n")]

    error = ["opt", "in.rir", "--plugin", plugin, "--pass", "throws-error"]
    fails("an Error out of a pass", error, 1, ["the program is too odd", "[pass throws-error]"], [0])
    s.write("old.rir", "old")
    s.run([*error, "-o", "old.rir"])
    s.check("an Error leaves an old output", (s.folder / "old.rir").read_text() == "old")
    fails("at a place", strategy("at", '{ at = "foreach", do = "throws-at" }'), 70,
          ["'throws-at'", plugin, "main/foreach#0", "the tables are full"], [1])
    fails("try is for passes that do not apply", strategy("try", '{ try = "throws-std" }'), 70,
          ["'throws-std'", plugin, "the tables are full"], [1])
    fails("a predicate that throws", strategy("predicate", '{ if = "fault-throws", then = "canonicalize" }'), 70,
          ["fault-throws", plugin, "the tables are full"], [0, 1])
    for how, text in (("std", "the tables are full"), ("int", "not a std::exception")):
        pipeline = s.write("backend.toml", f'[strategy]\nmain = []\n[backend]\nname = "faulty"\nhow = "{how}"\n')
        compile_it = ["compile", "p.rvt", "--plugin", plugin, "-p", pipeline, "-o", "emitted.cpp"]
        fails(f"a backend that throws ({how})", compile_it, 70, ["'faulty'", plugin, text], [0, 1])
        s.check(f"a backend that throws ({how}) leaves no output", not list(s.folder.glob("*emitted*")))
    (s.folder / "reports").mkdir()
    throws = ["opt", "in.rir", "--plugin", plugin, "--pass", "throws-std"]
    fails("a folder for reproducers", [*throws, "--reproducer-dir", "reports"], 70, ["reports/revet-crash-throws-std"],
          [0])
    s.check("the folder holds it", [p.name for p in (s.folder / "reports").iterdir()] == ["revet-crash-throws-std"])
    fails("no folder for reproducers", [*throws, "--reproducer-dir", "no/such"], 70,
          ["'throws-std'", plugin, "the tables are full", "no/such"], [0])


def order(s):
    home = s.folder / "home"
    (home / "bin").mkdir(parents=True)
    shutil.copy(s.revet, home / "bin/revet")
    (home / "lib/revet/plugins").mkdir(parents=True)
    for library in (s.build / "lib").glob("librevet.so*"):
        (home / "lib" / library.name).symlink_to(library)
    for library in (s.build / "lib/revet/plugins").glob("*.so"):
        (home / "lib/revet/plugins" / library.name).symlink_to(library)
    s.revet = str(home / "bin/revet")
    places = [("--plugin", "tier0"), ("plugins of the pipeline", "tier1"), ("--plugin-path", "tier2"),
              ("a second --plugin-path", "tier3"), ("REVET_PLUGIN_PATH", "tier4"),
              ("a second folder in REVET_PLUGIN_PATH", "tier5"), ("the installation", "home/lib/revet/plugins"),
              ("beside the executable", "home/bin")]
    file = "libtier.so"
    s.write("tier.toml", '[strategy]\nmain = ["good-one"]\n')
    s.write("tier1/tier.toml", f'plugins = ["{file}"]\n[strategy]\nmain = ["good-one"]\n')

    def words_for(first, second):
        words = ["-p", "./tier1/tier.toml" if 1 in (first, second) else "./tier.toml",
                 "--plugin-path", "tier2", "--plugin-path", "tier3"]
        return [*words, "--plugin", f"tier0/{file}"] if 0 in (first, second) else words

    def put(first, second, plugins=("good-one", "same-pass")):
        for place, plugin in zip((first, second), plugins):
            s.copy(plugin, f"{places[place][1]}/{file}")

    def clear(first, second):
        for place in (first, second):
            (s.folder / places[place][1] / file).unlink()

    pairs = [(0, 2), (0, 6), *((i, i + 1) for i in range(1, len(places) - 1))]
    path = {"REVET_PLUGIN_PATH": f"tier4:{s.folder}/tier5"}
    for first, second in pairs:
        what = f"{places[first][0]} wins over {places[second][0]}"
        for plugins, number in ((("good-one", "same-pass"), 1), (("same-pass", "good-one"), 3)):
            put(first, second, plugins)
            got = s.helper(words_for(first, second), **path)
            s.check(what, got == [number], str(got))
        done, _ = s.loaded(["opt", "in.rir", "-v", *words_for(first, second), "-o", "x.rir"], **path)
        note = [line for line in done.stderr.decode().splitlines() if "shadow" in line]
        s.check(f"{what}, with a note", len(note) == 1 and "note:" in note[0]
                and all(f"{places[i][1]}/{file}" in note[0] for i in (first, second)), done.stderr)
        done, _ = s.loaded(["opt", "in.rir", *words_for(first, second), "-o", "x.rir"], **path)
        s.check(f"{what}, without -v no note", done.returncode == 0 and not done.stderr, done.stderr)
        clear(first, second)
    put(2, 4)
    s.copy("good-one", f"tier2/{file}", lambda b: b.replace(b"compiler=", b"compilex="))
    s.refused("a faulty plugin that comes first is needed", words_for(2, 4), [f"tier2/{file}", "rebuild"], **path)
    put(2, 4)
    s.copy("good-one", f"tier4/{file}", lambda b: b.replace(b"compiler=", b"compilex="))
    got = s.helper(words_for(2, 4), **path)
    s.check("one that comes later is not", got == [1], str(got))
    clear(2, 4)

    done, _ = s.loaded(["plugins", "-v", "--plugin-path", "tier2", "--plugin-path", "tier3"], **path)
    searched = re.findall(r"^searched (.*)$", done.stdout.decode(), re.M)
    expected = ["tier2", "tier3", "tier4", f"{s.folder}/tier5", str(home / "lib/revet/plugins"), str(home / "bin")]
    s.check("the order is shown", searched == expected, str(searched))
    done, _ = s.refused("a bare name lists what was tried",
                        ["--plugin", "nothere", "--plugin-path", "tier2", "--plugin-path", "tier3"], ["'nothere'"],
                        **path)
    err = done.stderr.decode()
    at = [err.find(f"{p}/libnothere.so") for p in searched]
    s.check("in order", -1 not in at and at == sorted(at), err)
    done, _ = s.loaded(["plugins", "-v"], REVET_PLUGIN_PATH=":tier4::")
    s.check("nothing between two colons is no folder", re.findall(r"^searched (.*)$", done.stdout.decode(), re.M)
            == ["tier4", *expected[-2:]], done.stdout.decode())
    done, loaded = s.loaded(["opt", "in.rir", "--pass", "canonicalize", "--plugin-path", "no/such",
                             "--plugin-path", s.input])
    s.check("a folder that is not there", done.returncode == 0 and done.stdout == s.plain and not loaded, done.stderr)
    (s.folder / "a link to revet").symlink_to(home / "bin/revet")
    done = subprocess.run([s.folder / "a link to revet", "passes"], capture_output=True)
    s.check("run by a link it finds the installation", b"canonicalize" in done.stdout, done.stderr)


def naming(s):
    faults = str(s.faults)
    for name in ("fault-good-one", "libfault-good-one", "libfault-good-one.so"):
        got = s.helper(["--plugin", name, "--plugin-path", faults, "--pass", "good-one"])
        s.check(f"the bare name {name}", got == [1], str(got))
    (s.folder / "here").mkdir()
    (s.folder / "here/fault-good-one").mkdir()
    done = subprocess.run([s.revet, "passes", "--plugin", "fault-good-one", "--plugin-path", faults],
                          cwd=s.folder / "here", capture_output=True)
    s.check("a folder of that name does not hide it", done.returncode == 0, done.stderr)
    s.copy("good-one", "here/libgood.so")
    for name in ("here/good", "here/good.so", "here/libgood", f"{s.folder}/here/libgood", "./good.so"):
        s.refused(f"{name} is taken as it is", ["--plugin", name, "--plugin-path", "here", "--pass", "canonicalize"],
                  [f"'{name}'", "no such file"], ["libgood.so"])
    s.refused("a path is not searched for", ["--plugin", "here/libgood.so", "--plugin-path", "..", "--pass", "x"],
              ["there is no pass 'x'"])
    s.refused("nor below the path", ["--plugin", "plugins/libgood.so", "--plugin-path", "here", "--pass", "x"],
              ["plugins/libgood.so"])
    for words in (["passes"], ["opt", "in.rir", "--pass", "canonicalize"]):
        done = s.case("an empty name", [*words, "--plugin", ""], 2, ["''"])
        s.check("an empty name: one line", done.stderr.count(b"\n") == 1 and not done.stdout, done.stderr)
    s.refused("the nearest name", ["--plugin", "fault_good_one", "--plugin-path", faults, "--pass", "canonicalize"],
              ["did you mean", "fault-good-one"])
    s.refused("the nearest pass of a plugin", ["--plugin", s.plugin("good-one"), "--pass", "good_one"],
              ["did you mean 'good-one'"])

    good = s.plugin("good-one")
    link = s.link("good-one", "links/a link.so")
    s.write("twice.toml", f'plugins = ["{good}", "links/a link.so"]\n[strategy]\nmain = ["good-one"]\n')
    done, loaded = s.loaded(["opt", "in.rir", "--plugin", good, "--plugin", good, "--plugin", link, "-p", "./twice.toml",
                             "--plugin-path", "links", "--plugin-path", faults, "-o", "x.rir"])
    s.check("one file is loaded once", done.returncode == 0 and loaded == ["fault-good-one"] and not done.stderr,
            f"{loaded}\n{done.stderr.decode()}")
    rows = json.loads(s.run(["plugins", "--json", "--plugin", link, "--plugin", good, "--plugin-path", faults]).stdout)
    s.check("and listed once", len([r for r in rows if r["path"] in (good, link)]) == 1, str(rows))


def clashes(s):
    one, two = s.plugin("good-one"), s.plugin("good-two")
    same_pass, same_name = s.plugin("same-pass"), s.plugin("same-name")
    for plugins in ((one, two), (two, one)):
        for ids in (("good-one", "good-two"), ("good-two", "good-one")):
            words = [w for p in plugins for w in ("--plugin", p)] + [w for i in ids for w in ("--pass", i)]
            got = s.helper(words)
            s.check("each plugin has its own helper", got == [{"good-one": 1, "good-two": 2}[i] for i in ids], str(got))
    s.write("clash.toml", f'plugins = ["{same_pass}"]\n[strategy]\nmain = ["canonicalize"]\n')
    for first, second in ((one, same_pass), (same_pass, one)):
        s.refused("two plugins with one pass", ["--plugin", first, "--plugin", second, "--pass", "canonicalize"],
                  ["'good-one'", first, second])
    s.refused("one of them of the pipeline", ["--plugin", one, "-p", "./clash.toml"], ["'good-one'", one, same_pass])
    for first, second in ((one, same_name), (same_name, one)):
        s.refused("two plugins of one name", ["--plugin", first, "--plugin", second, "--pass", "canonicalize"],
                  ["'good-one'", first, second])
    s.refused("two plugins of one name, needed",
              ["--plugin-path", str(s.faults), "--pass", "good-one", "--pass", "same-name"],
              ["'good-one'", one, same_name])
    done, _ = s.loaded(["passes", "--json", "--plugin", one])
    rows = {r["name"]: r["plugin"] for r in json.loads(done.stdout)}
    s.check("a plugin's passes are listed with their origin", rows.get("good-one") == one, str(rows))
    s.case("a plugin's pass is described", ["passes", "good-one", "--plugin", one], 0, [],
           ["Counts what its helper gives", one])


def bystanders(s):
    """A plugin that nothing asks for changes nothing."""
    s.link("good-one", "by/libfault-good-one.so")
    s.link("opaque", "by/libfault-opaque.so")
    s.link("passes", "by/libfault-passes.so")
    extra = [w for n in ("good-one", "opaque", "passes") for w in ("--plugin", s.plugin(n))]
    commands = [["compile", "p.rvt", "-p", "openmp"], ["compile", "p.rvt", "-p", "openmp", "--emit", "rir"],
                ["compile", "p.rvt", "-p", "interp"], ["compile", "p.rvt", "-p", "openmp", "--emit", "dot"],
                ["opt", "in.rir", "--pass", "inline", "--pass", "canonicalize"], ["pipeline", "openmp"],
                ["check", "p.rvt"], ["pipelines"], ["passes", "canonicalize"]]
    for words in commands:
        plain = s.run(words)
        for way in (extra, ["--plugin-path", "by"]):
            done, loaded = s.loaded([*words, *way])
            s.check(f"{' '.join(words)}: the same with more plugins",
                    done.returncode == 0 and (done.stdout, done.stderr) == (plain.stdout, plain.stderr), done.stderr)
            # Commands that do not use plugins need not load them.
            s.check(f"{' '.join(words)}: none is loaded unasked", way is extra or not loaded, str(loaded))


def opaque(s):
    s.write("opaque.rir", OPAQUE)

    def effects(text):
        return re.findall(r"(?:faulty|mem|thread)\.\w+\([^)]*\)", text)

    for name, words in (("named", ["--plugin", s.plugin("opaque")]), ("found", ["--plugin-path", str(s.faults)])):
        plain = s.case(f"an op of a plugin, {name}", ["opt", "opaque.rir", "--no-locations", *words], 0).stdout.decode()
        words = ["opt", "opaque.rir", "--no-locations", *words, "--pass", "canonicalize"]
        done = s.case(f"canonicalize, {name}", words, 0)
        s.check(f"canonicalize leaves an opaque op alone, {name}", plain.count("faulty.opaque") == 6
                and effects(done.stdout.decode()) == effects(plain), done.stdout.decode())
    s.case("an op of no plugin", ["opt", "opaque.rir"], 1, ["opaque.rir:5:", "faulty.opaque"])
    s.case("it is described", ["ops", "faulty.opaque", "--plugin", s.plugin("opaque")], 0, [], ["not declared"])
    done = s.run(["compile", "opaque.rir", "-p", "openmp", "--plugin", s.plugin("opaque"), "-o", "opaque.cpp"])
    s.check("a backend says which op it cannot take", done.returncode in (1, 2) and b"faulty.opaque" in done.stderr
            and not (s.folder / "opaque.cpp").exists(), f"exit {done.returncode}\n{done.stderr.decode()}")


def alone(group):
    """The group in a folder of its own."""
    def run(s):
        suite = Faults(s.revet, s.root, s.folder.resolve() / group.__name__)
        group(suite)
        s.failures += suite.failures
        s.count += suite.count
    return run


if __name__ == "__main__":
    groups = (loading, all_are_listed, odd_files, passes, order, naming, clashes, bystanders, opaque)
    sys.exit(run_groups(*map(alone, groups)))
