#!/usr/bin/env python3
"""Plugins as a user meets them: rows P7, P10, P11, P16 to P18, P20 and P21 of docs/asks.md; plugin_faults.py has those that are wrong."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import run_groups  # noqa: E402

PROGRAM = "DRAM<int> a;\nDRAM<int> r[n];\nvoid main(int n) { foreach (n) { int i => r[i] = a[i] + 1; }; }\n"


def prepare(s):
    s.root = pathlib.Path(s.root).resolve()
    s.build = pathlib.Path(s.revet).resolve().parent.parent
    s.toys = str(s.build / "tests/plugins/libtoy-passes.so")
    s.write("p.rvt", PROGRAM)
    s.write("d/args.txt", "n=1\n")
    s.write("d/a.bin", bytes(4))


def abi(s):
    """P7: the ABI is printed, is that of every plugin that ships, and has a line in the list of changes."""
    printed = s.case("--print-abi", ["--print-abi"], 0).stdout.decode()
    number = printed.split()[0]
    s.check("a number and a fingerprint", re.fullmatch(r"\d+ compiler=\S+ standard=\S+ .*core=\S+ headers=[0-9a-f]{16}\n", printed), printed)
    s.check("--version says the same", printed.strip() in s.run(["--version", "--verbose"]).stdout.decode())
    for row in json.loads(s.run(["plugins", "--json"]).stdout):
        s.check(f"{row['path']} can be used", row["error"] is None, str(row))
    described = json.loads(s.run(["plugins", "inline", "--json"]).stdout)
    s.check("a plugin has the same", f"{described['abi']} {described['fingerprint']}" == printed.strip(), str(described))
    s.check(f"CHANGELOG.md has a line on plugin ABI {number}", f"plugin ABI {number}" in (s.root / "CHANGELOG.md").read_text())


def search_order(s):
    """P10: the places, in order; plugin_faults.py checks that the first wins."""
    for places in ([], ["one"], ["one", "/two", "th ree"]):
        done = s.run(["--print-search-dirs"], env=dict(os.environ, REVET_PLUGIN_PATH=":".join(places)))
        binary = pathlib.Path(s.revet).resolve().parent
        s.check(f"the places with {places}", done.stdout.decode().splitlines()
                == [*places, str(s.build / "lib/revet/plugins"), str(binary)], done.stdout.decode())
    (s.folder / "farm").mkdir()
    (s.folder / "farm/revet").symlink_to(s.revet)
    done = subprocess.run([s.folder / "farm/revet", "--print-search-dirs"], capture_output=True)
    s.check("a link to the program changes none", done.stdout == s.run(["--print-search-dirs"]).stdout, done.stdout)
    (s.folder / "more").mkdir()
    shutil.copy(s.toys, s.folder / "more")
    for words, env in ((["--plugin-path", "more"], {}), ([], {"REVET_PLUGIN_PATH": "nowhere:more"})):
        done = s.run(["opt", "p.rvt", *words, "--pass", "nothing"], env=dict(os.environ, **env))
        s.check(f"a pass is found by {words or env}", done.returncode == 0, done.stderr)
    s.case("without it there is none", ["opt", "p.rvt", "--pass", "nothing"], 2, ["there is no pass 'nothing'"])
    s.write("with.toml", 'plugins = ["more/libtoy-passes.so"]\n[strategy]\nmain = ["nothing"]\n')
    done = subprocess.run([s.revet, "opt", s.folder / "p.rvt", "-p", s.folder / "with.toml"], cwd="/", capture_output=True)
    s.check("a pipeline's plugin is relative to the pipeline", done.returncode == 0, done.stderr)


STANDARD = {"CXX", "NO_COLOR", "TERM", "HOME", "XDG_CACHE_HOME", "TMPDIR", "OMP_NUM_THREADS"}


def environment(s):
    """P11: variables are the program's own or standard ones, and help names every one that is read."""
    text = s.run(["--help"]).stdout.decode()
    listed = set(re.findall(r"^  ([A-Z][A-Z_]+)  ", text, re.M))
    s.check("help lists some", "REVET_PLUGIN_PATH" in listed and all(n.startswith("REVET_") or n in STANDARD for n in listed), str(listed))
    read = set()
    for folder in ("core", "frontend", "plugins", "backends"):
        for path in s.root.glob(f"{folder}/**/*.[chp]*"):
            if "plugins/example" in str(path) or "/tests/" in str(path) or not path.is_file():
                continue
            source = path.read_text()
            if "getenv" in source:
                read |= set(re.findall(r'(?:getenv|\badd)\("([A-Z][A-Z_]+)"', source))
    s.check("the sources read some", {"REVET_PLUGIN_PATH", "REVET_CACHE_DIR", "CXX"} <= read, str(read))
    for name in sorted(read):
        s.check(f"{name} is in the help", name in text)
        s.check(f"{name} is its own or a standard one", name.startswith("REVET_") or name in STANDARD)
    plain = s.run(["compile", "p.rvt", "-p", "openmp"])
    strange = ("PLUGIN_PATH PLUGINS PIPELINE DATA DEBUG VERBOSE VERIFY OPTIONS CACHE_DIR ROOT PREFIX CONFIG PATH_PLUGINS "
               "LLVM_DEBUG MLIR_ENABLE_DUMP").split()
    done = s.run(["compile", "p.rvt", "-p", "openmp"], env=dict(os.environ, **dict.fromkeys(strange, "1")))
    s.check("variables of others change nothing", (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, plain.stderr), done.stderr)


def shipped_libraries(s):
    """P16, P17: a plugin takes the core from its library and shows nothing but its entry."""
    if not shutil.which("nm") or not shutil.which("readelf"):
        return print("skipped: no nm or readelf")
    for path in [*sorted((s.build / "lib/revet/plugins").glob("*.so")), pathlib.Path(s.toys)]:
        needed = subprocess.run(["readelf", "-d", path], capture_output=True, text=True).stdout
        s.check(f"{path.name} needs the core's library", "librevet.so" in needed)
        names = subprocess.run(["nm", "-DC", "--defined-only", path], capture_output=True, text=True).stdout.splitlines()
        own = [n for n in names if re.search(r"\brevet(::|_)", n.split(maxsplit=2)[-1]) and not n.endswith(" revet_plugin")
               and not re.search(r"\b[uVW] .*\bstd::", n)]
        s.check(f"{path.name} shows only its entry", any(n.endswith(" revet_plugin") for n in names) and not own, "\n".join(own[:9]))


def listed(s):
    """P18, P20: what a plugin brings is listed like what ships, with options and origin."""
    plugin = ["--plugin", s.toys]
    rows = {r["name"]: r for r in json.loads(s.run(["passes", "--json", *plugin]).stdout)}
    s.check("its passes are in the list", {"grow", "mark", "nothing"} <= set(rows) and rows["grow"]["plugin"] == s.toys, str(rows))
    s.case("a pass of it", ["passes", "grow", *plugin], 0, [], ["value", "of the constant", "an integer from 0 to 9, default 3", s.toys])
    s.case("its passes in the text", ["passes", *plugin], 0, [], ["grow", "Adds a constant to main", "canonicalize"])
    s.check("without it they are not", b"grow" not in s.run(["passes"]).stdout)
    rows = [r for r in json.loads(s.run(["plugins", "--json", *plugin]).stdout) if r["path"] == s.toys]
    s.check("the plugin is listed", len(rows) == 1 and "pass:grow" in rows[0]["provides"], str(rows))
    for name, near in (("count_down", "count-down"), ("count-dwon", "count-down"), ("countdown", "count-down"), ("noting", "nothing")):
        s.case(f"{name} for {near}", ["opt", "p.rvt", *plugin, "--pass", name], 2, [f"did you mean '{near}'"])
    for name, near in (("count_ops", "count-ops"), ("bounds_check", "bounds-check")):
        s.case(f"{name} for {near}", ["opt", "p.rvt", "--pass", name], 2, [f"did you mean '{near}'"])
    s.case("a plugin's name", ["plugins", "bounds_check"], 2, ["did you mean 'bounds-check'"])
    s.case("a plugin's file", ["passes", "--plugin", "toy_passes", "--plugin-path", str(pathlib.Path(s.toys).parent)], 2,
           ["did you mean", "toy-passes"])


def core_library(s):
    """P21: the core that runs is the one beside the program, and the program says which it is."""
    verbose = s.run(["--version", "--verbose"]).stdout.decode()
    core = re.search(r"^core: (.*)$", verbose, re.M)[1]
    s.check("the core is named", os.path.samefile(core, s.build / "lib/librevet.so.0") or "LD_LIBRARY_PATH" in os.environ, core)
    s.check("as the system sees it", core in subprocess.run(["ldd", s.revet], capture_output=True, text=True).stdout.replace(
        str(s.build / "lib/librevet.so.0"), str(pathlib.Path(s.build / "lib/librevet.so.0").resolve())) or "LD_LIBRARY_PATH" in os.environ)
    for name in ("features", "executable", "ANTLR runtime", "Boost", "build", "commit", "plugin ABI"):
        s.check(f"{name} is named", re.search(rf"^{name}: \S", verbose, re.M), verbose)
    s.check("the back ends are among the features", re.search(r"^features: .*interp.*openmp", verbose, re.M), verbose)
    (s.folder / "stray").mkdir()
    shutil.copy(s.build / "lib/librevet.so.0", s.folder / "stray")
    done = s.run(["--version", "--verbose"], env=dict(os.environ, LD_LIBRARY_PATH=str(s.folder / "stray")))
    used = re.search(r"^core: (.*)$", done.stdout.decode(), re.M)[1]
    s.check("a stray core is not used, or named", os.path.samefile(used, core) or str(s.folder / "stray") in used, used)


if __name__ == "__main__":
    sys.exit(run_groups(prepare, abi, search_order, environment, shipped_libraries, listed, core_library))
