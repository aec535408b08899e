#!/usr/bin/env python3
"""Results that can be made again: rows R1 to R3 of docs/asks.md."""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import run_groups  # noqa: E402

PROGRAM = """DRAM<int> a;
DRAM<int> r[n];
void main(int n, float scale) {
  foreach (n) { int i => r[i] = a[i] * 3 + int(scale * 2.5); };
}
"""


def prepare(s):
    s.root = pathlib.Path(s.root).resolve()
    s.build = pathlib.Path(s.revet).resolve().parent.parent
    s.write("p.rvt", PROGRAM)
    s.write("d/args.txt", "n=2\nscale=1.5\n")
    s.write("d/a.bin", struct.pack("<2i", 7, 13))
    s.write("want/r.bin", struct.pack("<2i", 24, 42))


def fnv1a64(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def timeless(stats):
    """The figures without what a run is free to differ in: times, and the words and the machine of the run."""
    j = json.loads(stats)
    for key in ("seconds", "gbps", "samples", "host_threads"):
        del j[key]
    for key in ("command", "plugins", "host"):
        del j["made_by"][key]
    j["made_by"]["pipeline"] = re.sub(r"^threads = \d+$", "", j["made_by"]["pipeline"], flags=re.M)
    return j


def the_same_again(s):
    """R1: 20 runs at other addresses, in other folders, locales and zones, on other numbers of threads, with other plugins by."""
    programs = [s.root / f"apps/{n}/{n}.rvt" for n in ("kD-tree", "search", "huff-enc")]
    with tempfile.TemporaryDirectory(prefix="revet-locale-") as locales:
        made = None
        try:
            subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", f"{locales}/de_DE.UTF-8"], capture_output=True)
            made = os.path.exists(f"{locales}/de_DE.UTF-8")
        except FileNotFoundError:
            pass
        if not made:
            print("skipped: no locale with decimal commas can be made here")
        by = [str(p) for p in (s.build / "tests/plugins", s.build / "tests/faults") if p.exists()]
        first = {}
        for number in range(20):
            folder = s.folder / ("deeper/" * (number % 4)) / f"run {number}"
            folder.mkdir(parents=True)
            env = dict(os.environ, TZ=("UTC", "Asia/Tokyo")[number % 2], HOME=str(folder), COLUMNS=str(20 + number),
                       OMP_NUM_THREADS=str(1 + number % 4), PADDING="x" * (number * 977))
            if made and number % 3 == 1:
                env |= {"LOCPATH": locales, "LC_ALL": "de_DE.UTF-8"}
            extra = [w for p in by for w in ("--plugin-path", p)] if number % 2 else []
            for program in programs:
                data = program.parent / "data/tiny"
                for what, words in (("IR", ["compile", program, "-p", "openmp", "--emit", "rir"]), ("source", ["compile", program, "-p", "openmp"]),
                                    ("picture", ["compile", program, "-p", "openmp", "--emit", "dot"]),
                                    ("checked source", ["compile", program, "-p", "openmp", "--enable", "bounds-check"]),
                                    ("output", ["run", program, "-p", "interp", "--data", data, "--stats", "-", "--out", "o"])):
                    done = subprocess.run([s.revet, *map(str, words), *extra], cwd=folder, env=env, capture_output=True)
                    result = done.stdout
                    if what == "output":
                        result = [timeless(done.stdout)] + [p.read_bytes() for p in sorted((folder / "o").iterdir())]
                    key = (program.stem, what)
                    s.check(f"{program.stem}: {what} of run {number}", done.returncode == 0 and result == first.setdefault(key, result) and result,
                            done.stderr)
    for words in (["passes"], ["ops"], ["backends", "--json"], ["pipelines"], ["pipeline", "openmp"], ["reference", "man"]):
        s.check(f"{words} again", s.run(words).stdout == s.run(words, env=dict(os.environ, LC_ALL="C", TZ="Asia/Tokyo")).stdout)
    for text in first.values():
        own = re.escape(str(s.folder).encode())
        found = re.search(own + rb"|\d{4}-\d\d-\d\dT|\b0x[0-9a-f]{9,}", text) if isinstance(text, bytes) else None
        s.check("no date, address or folder of the run in it", not found, str(found))
    results = [timeless(s.run(["run", "p.rvt", "-p", "openmp", "--data", "d", "--stats", "-", "--threads", str(n)]).stdout) for n in (1, 2, 5)]
    s.check("figures do not depend on the host's threads but for times", results[0] == results[1] == results[2], str(results))


def made_by(s):
    """R2: the file says what made it."""
    words = ["run", "p.rvt", "-p", "openmp", "--data", "d", "--stats", "st.json", "--set", "inline.max-ops=77",
             "--enable", "bounds-check", "--arg", "scale=2", "--out", "o"]
    s.case("a run", words, 0)
    j = json.loads((s.folder / "st.json").read_text())
    by = j["made_by"]
    version = s.run(["--version", "--verbose"]).stdout.decode()
    s.check("the version", by["version"] == version.split()[1])
    s.check("the commit", f"commit: {by['commit']}{' with changes' if by['dirty'] else ''}\n" in version, str(by["commit"]))
    s.check("the whole command", by["command"] == ["revet", *words], str(by["command"]))
    s.write("resolved.toml", by["pipeline"])
    s.check("the pipeline is resolved", "max-ops = 77" in by["pipeline"] and '"bounds-check"' in by["pipeline"], by["pipeline"])
    s.check("and reads back", s.run(["pipeline", "./resolved.toml"]).stdout.decode() == by["pipeline"])
    s.case("it does the same", ["run", "p.rvt", "-p", "./resolved.toml", "--data", "d", "--arg", "scale=2", "--check", "o"], 0)
    names = {p["name"] for p in by["plugins"]}
    s.check("the plugins", {"inline", "canonicalize", "bounds-check", "revet-backend-openmp"} <= names, str(names))
    for file in by["plugins"] + by["inputs"]:
        path = s.folder / file["file"]
        s.check(f"the hash of {file['name']}", path.exists() and file["fnv1a64"] == fnv1a64(path.read_bytes()), str(file))
    inputs = {pathlib.Path(i["file"]).name for i in by["inputs"]}
    s.check("all that was read", {"p.rvt", "a.bin", "args.txt"} <= inputs, str(by["inputs"]))
    s.check("the host", by["host"]["cores"] == os.cpu_count() and by["host"]["machine"] == os.uname().machine, str(by["host"]))
    s.check("the compiler and its flags", "-ffp-contract=off" in j["compiler_flags"] and j["compiler"], str(j))
    s.check("no time of day", not re.search(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d", json.dumps(j)), str(j))


def valid(value, schema, root, at="figures"):
    """What is wrong with a value, by the keywords that docs/stats.schema.json uses."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].split("/")[-1]]
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int, "number": (int, float)}
    wanted = schema.get("type", [])
    wanted = wanted if isinstance(wanted, list) else [wanted]
    is_bool = isinstance(value, bool)
    if wanted and not any(isinstance(value, kinds[w]) and (not is_bool or w == "boolean") for w in wanted):
        return [f"{at} is {value!r}, not {wanted}"]
    out = []
    if "enum" in schema and value not in schema["enum"] or "const" in schema and value != schema["const"]:
        out.append(f"{at} is {value!r}")
    if isinstance(value, (int, float)) and not is_bool and value < schema.get("minimum", value):
        out.append(f"{at} is {value}")
    if isinstance(value, str) and (len(value) < schema.get("minLength", 0) or not re.search(schema.get("pattern", ""), value)):
        out.append(f"{at} is {value!r}")
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            out.append(f"{at} has {len(value)} items")
        out += [e for i, v in enumerate(value) for e in valid(v, schema.get("items", {}), root, f"{at}[{i}]")]
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        out += [f"{at} has no {k}" for k in schema.get("required", []) if k not in value]
        for key, v in value.items():
            if key in properties:
                out += valid(v, properties[key], root, f"{at}.{key}")
            elif schema.get("additionalProperties") is False:
                out.append(f"{at}.{key} is not in the schema")
    return out


def published_schema(s):
    """R3: the form is published, and every field that is written is in it."""
    schema = json.loads((s.root / "docs/stats.schema.json").read_text())
    strict = dict(schema, additionalProperties=False)
    runs = [["p.rvt", "-p", "interp", "--data", "d"], ["p.rvt", "-p", "openmp", "--data", "d", "--reps", "3", "--check", "want"],
            ["p.rvt", "-p", "interp", "--data", "d", "--check", "want", "--tolerance", "0.5"],
            ["p.rvt", "-p", "interp", "--data", "d", "--max-steps", "100000"]]
    for app in ("kD-tree", "murmur3", "huff-dec"):
        for data in ("tiny", "edge-count0"):
            runs.append([str(s.root / f"apps/{app}/{app}.rvt"), "-p", "interp", "--data", str(s.root / f"apps/{app}/data/{data}")])
    runs += [["p.rvt", "-p", "vrda-untimed", "--data", "d"], ["p.rvt", "-p", "vrda", "--data", "d"],
             ["p.rvt", "-p", "vrda", "--data", "d", "--set", "machine.dram.ideal=true"]]
    empty = s.write("empty.rvt", "void main() {}\n")
    runs.append([empty, "-p", "interp"])
    for words in runs:
        done = s.run(["run", *words, "--stats", "st.json"])
        j = json.loads((s.folder / "st.json").read_text())
        name = " ".join(pathlib.Path(w).name for w in words)
        s.check(f"{name}: by the schema", not valid(j, strict, schema), "\n".join(valid(j, strict, schema)) + str(j))
        try:
            import jsonschema
            jsonschema.validate(j, schema)
        except ImportError:
            pass
        except jsonschema.ValidationError as e:
            s.check(f"{name}: by another checker", False, str(e))
        samples = j["samples"]
        s.check(f"{name}: reps and samples", len(samples) == j["reps"]
                and (not samples or min(samples) <= j["seconds"] <= max(samples)), str(j))
        if j["gbps"] is not None:
            s.check(f"{name}: GB/s are of the same data", abs(j["gbps"] - j["bytes"] / j["seconds"] / 1e9) < 1e-6 * j["gbps"] + 1e-12, str(j))
        line = done.stdout.decode().splitlines()[0]
        table = f"{j['app']} on {j['target']}: {j['threads']} dataflow threads"
        s.check(f"{name}: the line for people is made of the same data", line.startswith(table) and f"{j['bytes']} bytes" in line, line)
    for change in ({"schema": 2}, {"app": 3}, {"seconds": -1}, {"made_by": {}}, {"checked": "yes"}, {"threads": True}, {"unknown": 1}):
        s.check(f"the checker sees {change}", valid(j | change, strict, schema))
    text = s.run(["run", "p.rvt", "-p", "interp", "--data", "d", "--json"]).stdout
    s.check("--json prints them", json.loads(text)["app"] == "p")
    for words in (["passes", "--json"], ["plugins", "--json"], ["pipelines", "--json"], ["ops", "--json"], ["backends", "interp", "--json"]):
        s.check(f"{words} parse", json.loads(s.run(words).stdout))


if __name__ == "__main__":
    sys.exit(run_groups(prepare, the_same_again, made_by, published_schema))
