#!/usr/bin/env python3
"""Inputs that are no plain files, and paths with odd characters: rows L15 and L16 of docs/asks.md."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import run_groups  # noqa: E402

PROGRAM = """DRAM<int> a;
DRAM<int> r[n];
void main(int n) {
  foreach (n) { int i => r[i] = a[i] + 1; };
}
"""
TOML = '[strategy]\nmain = ["inline"]\n[backend]\nname = "interp"\n'
INPUT, OUTPUT = struct.pack("<2i", 7, 13), struct.pack("<2i", 8, 14)


def prepare(s):
    s.write("p.rvt", PROGRAM)
    s.write("p.toml", TOML)
    s.write("in.rir", s.run(["compile", "p.rvt", "-p", "interp"]).stdout)
    s.write("d/args.txt", "n=2\n")
    s.write("d/a.bin", INPUT)
    s.write("want/r.bin", OUTPUT)
    # Every place where a file is read: the words, with % for the file, and the file's name.
    s.readers = {
        "check": (["check", "%"], "x.rvt", PROGRAM), "compile": (["compile", "%", "-p", "openmp"], "x.rvt", PROGRAM),
        "run": (["run", "%", "-p", "interp", "--data", "d"], "x.rvt", PROGRAM),
        "run of IR": (["run", "%", "-p", "interp", "--data", "d"], "x.rir", None), "opt": (["opt", "%"], "x.rir", None),
        "compile of IR": (["compile", "%", "-p", "interp"], "x.rir", None),
        "run --stats": (["run", "%", "-p", "interp", "--data", "d", "--stats", "st.json"], "x.rvt", PROGRAM),
        "pipeline": (["pipeline", "./%"], "x.toml", TOML), "compile -p": (["compile", "p.rvt", "-p", "./%"], "x.toml", TOML),
        "run -p": (["run", "p.rvt", "-p", "./%", "--data", "d"], "x.toml", TOML),
    }


def with_fifo(s, words, content, fifo):
    """Runs while another process writes the file `content` into `fifo` once."""
    feeder = subprocess.Popen(["sh", "-c", 'cat "$0" > "$1"', content, fifo], cwd=s.folder)
    done = subprocess.run(["timeout", "3", s.revet, *words], cwd=s.folder, capture_output=True)
    feeder.kill()
    feeder.wait()
    return done


def odd_files(s):
    user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    s.folder.chmod(0o755)
    for name, (words, file, text) in s.readers.items():
        text = (s.folder / "in.rir").read_bytes() if text is None else text
        path = s.folder / file
        words = [w.replace("%", file) for w in words]

        path.mkdir()
        s.case(f"{name}: a folder", words, 2, [file, "Is a directory"])
        path.rmdir()
        s.case(f"{name}: nothing", words, 2, [file, "No such file"])
        path.symlink_to("nowhere")
        s.case(f"{name}: a link to nowhere", words, 2, [file, "No such file"])
        path.unlink()
        path.symlink_to(file)
        s.case(f"{name}: a link to itself", words, 2, [file, "symbolic links"])
        path.unlink()
        s.write(file, text)
        path.chmod(0)
        try:
            done = s.run([w.replace("st.json", "/dev/null") for w in words], **user)
            s.check(f"{name}: unreadable", done.returncode == 2 and b"Permission denied" in done.stderr, done.stderr)
        except PermissionError:
            print("skipped: the build folder is closed to other users")
        path.unlink()
        s.write(file, "")
        done = s.run(words)
        s.check(f"{name}: empty, said so", done.returncode in (0, 1, 2) and done.stderr, f"{done.returncode} {done.stderr}")
        path.unlink()
        s.write("whole", text)
        os.mkfifo(path)
        done = with_fifo(s, words, "whole", file)
        path.unlink()
        s.check(f"{name}: a FIFO is read once, to its end, or refused at once", done.returncode == 0
                or (done.returncode == 2 and b"regular" in done.stderr), f"{done.returncode} {done.stderr}")
    s.case("stdin that is empty", ["check", "-"], 1, ["main"])
    for words in (["check", "-"], ["opt", "-"]):
        done = subprocess.run(["sh", "-c", 'exec "$0" "$@" < .', s.revet, *words], cwd=s.folder, capture_output=True)
        s.check(f"{words}: stdin that is a folder", done.returncode == 2 and b"Is a directory" in done.stderr, f"{done.returncode} {done.stderr}")
        done = subprocess.run(["sh", "-c", 'exec "$0" "$@" <&-', s.revet, *words], cwd=s.folder, capture_output=True)
        s.check(f"{words}: stdin that is closed", done.returncode == 2 and done.stderr, f"{done.returncode} {done.stderr}")


def odd_data(s):
    run = ["run", "p.rvt", "-p", "interp", "--check", "want", "--data"]
    s.case("no such folder", [*run, "nowhere"], 1, ["nowhere"])
    s.case("a file as a folder", [*run, "p.rvt"], 1, ["p.rvt"])
    s.case("an empty folder", [*run, str((s.folder / "none").mkdir() or "none")], 1, ["'n'"])
    header = b"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }"
    contents = {"a.bin": INPUT, "a.npy": b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.ljust(117) + b"\n" + INPUT,
                "args.txt": b"n=2\n", "reported_size.txt": b"16\n"}
    for name, make in (("folder", lambda p: p.mkdir()), ("FIFO", os.mkfifo), ("empty file", lambda p: p.write_bytes(b"")),
                       ("link to nowhere", lambda p: p.symlink_to("nowhere"))):
        for file, content in contents.items():
            folder = s.folder / f"{name} {file}"
            shutil.copytree(s.folder / "d", folder)
            if file.startswith("a."):
                (folder / "a.bin").unlink()
            (folder / file).unlink(missing_ok=True)
            make(folder / file)
            s.write("content", content)
            words = [*run, folder.name]
            done = with_fifo(s, words, "content", f"{folder.name}/{file}") if name == "FIFO" else s.run(words)
            told = done.returncode in (1, 2) and file.split(".")[0].encode() in done.stderr
            # A FIFO may be read like a file; a link to nowhere is no file, and this one is not needed.
            fine = name == "FIFO" or (name, file) == ("link to nowhere", "reported_size.txt")
            s.check(f"a {name} as {file}", told or (fine and done.returncode == 0), f"{done.returncode} {done.stderr}")
    for name in ("r.bin", "want"):
        folder = s.folder / f"check {name}"
        folder.mkdir()
        (folder / name).mkdir()
        s.case(f"--check with a folder {name}", ["run", "p.rvt", "-p", "interp", "--data", "d", "--check", folder.name], 2, ["r.bin"])
    s.case("--check of a file", ["run", "p.rvt", "-p", "interp", "--data", "d", "--check", "p.rvt"], 2, ["p.rvt"])


NAMES = {"spaces": "two  words", "quotes": "it's \"it\"", "shell": "$HOME;`x`&(y)*?|<>", "not ASCII": "\u00e9\u6f22\u5b57\U0001f600",
         "TOML and C": "a\\b{c}[d]#e=f%s,g", "a dash": "-x", "a line end": "a\nb", "not UTF-8": os.fsdecode(b"caf\xe9")}


def odd_paths(s):
    """All at once: sources, pipelines, includes, plugins, outputs, the cache, data."""
    toys = pathlib.Path(s.revet).resolve().parent.parent / "tests/plugins/libtoy-passes.so"
    headers = pathlib.Path(s.revet).resolve().parent.parent / "include"
    for what, name in NAMES.items():
        base = s.folder / "places" / f"in {name}"
        base.mkdir(parents=True)
        home = base / name
        home.mkdir()
        (home / f"{name}.rvt").write_text(PROGRAM)
        shutil.copytree(s.folder / "d", home / f"data {name}")
        (home / f"lib{name}.so").write_bytes(toys.read_bytes())
        utf8 = name.encode("utf-8", "surrogateescape").isascii() or "not UTF-8" != what
        if utf8:
            (home / f"inc {name}.toml").write_text('[strategy]\nfirst = ["inline"]\n')
            include, plugin = (json.dumps(f, ensure_ascii=False) for f in (f"inc {name}.toml", f"lib{name}.so"))
            (home / f"{name}.toml").write_text(f"include = [{include}]\nplugins = [{plugin}]\n"
                                               '[strategy]\nmain = ["$first", "nothing"]\n[backend]\nname = "openmp"\n')
        else:
            (home / f"{name}.toml").write_text('[strategy]\nmain = ["inline"]\n[backend]\nname = "openmp"\n')
        env = dict(os.environ, REVET_CACHE_DIR=str(home / f"cache {name}"), REVET_PLUGIN_PATH=str(home))

        def go(title, words, code=0, stderr=b""):
            s.count += 1
            done = subprocess.run([s.revet, *words], cwd=home, env=env, capture_output=True, timeout=120)
            problems = [] if done.returncode == code and (stderr in done.stderr) else [f"exit {done.returncode}, expected {code} {stderr}"]
            s.report(f"{what}: {title}", problems, done.stderr.decode("utf-8", "replace"))
            return done

        program, pipeline = f"./{name}.rvt", f"./{name}.toml"
        printed = go("a pipeline is printed", ["pipeline", pipeline]).stdout
        (home / "again.toml").write_bytes(printed)
        s.check(f"{what}: and reads back", go("again", ["pipeline", "./again.toml"]).stdout == printed)
        # A plugin beside its copy would be two of one name.
        ways = ["-p", pipeline] if utf8 else ["-p", pipeline, "--plugin", f"./lib{name}.so"]
        go("a run", ["run", program, *ways, "--data", f"data {name}", "--out", f"./out {name}", "--stats", f"./{name}.json"])
        out = home / f"out {name}" / "r.bin"
        s.check(f"{what}: its output", out.exists() and out.read_bytes() == OUTPUT)
        s.check(f"{what}: the cache is used", list((home / f"cache {name}").glob("*.so")) if (home / f"cache {name}").is_dir() else False)
        stats = home / f"{name}.json"
        if stats.exists():
            facts = json.loads(stats.read_text())
            s.check(f"{what}: its figures name the program", what == "not UTF-8" or facts["app"] == name, str(facts["app"]))
        go("--check", ["run", program, *ways, "--data", f"data {name}", "--check", f"./out {name}"])
        go("source is written", ["compile", program, *ways, "-o", f"./o {name}.cpp", "--strategy-trace", f"./t {name}"])
        emitted = home / f"o {name}.cpp"
        done = subprocess.run(["c++", "-std=c++20", "-fopenmp", "-fsyntax-only", "-I", headers, f"./{emitted.name}"], cwd=home, capture_output=True)
        s.check(f"{what}: the emitted source compiles", done.returncode == 0, done.stderr.decode("utf-8", "replace"))
        (home / f"dumps {name}").mkdir()
        ir = go("dumps", ["compile", program, *ways, "--emit", "rir", "--dump-after", "all", "--dump-dir", f"./dumps {name}",
                          "--write-reproducer", f"./rep {name}"]).stdout
        dumps = sorted((home / f"dumps {name}").iterdir())
        s.check(f"{what}: the last dump is the result", dumps and dumps[-1].read_bytes().split(b"\n", 1)[1] == ir)
        s.check(f"{what}: a reproducer", go("replay", ["replay", f"./rep {name}"]).stdout == ir)
        (home / f"{name}.rir").write_bytes(ir)
        s.check(f"{what}: IR names the file and reads back", go("opt", ["opt", f"./{name}.rir"]).stdout == ir)
        go("a plugin by its path", ["passes", "grow", "--plugin", str(home / f"lib{name}.so")])
        go("a plugin in a folder", ["passes", "grow", "--plugin-path", str(home)])
        go("lists as JSON", ["plugins", "--json"])
        (home / f"bad {name}.rvt").write_text("void main() { x = 1; }\n")
        go("an error", ["check", f"./bad {name}.rvt"], 1, b":1:15: error: ")
        done = go("an error as JSON", ["check", f"./bad {name}.rvt", "--diagnostics=json"], 1, b'"line":1')
        s.check(f"{what}: one line of JSON each", all(json.loads(t) for t in done.stderr.decode("utf-8", "replace").splitlines()))


if __name__ == "__main__":
    sys.exit(run_groups(prepare, odd_files, odd_data, odd_paths))
