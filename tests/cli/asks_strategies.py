#!/usr/bin/env python3
"""Strategies on the apps: what is printed runs the same, parts add up to the whole, fuel counts changes, and traces tell what
happened. Rows L8 and E4 of docs/asks.md and the promises of docs/pipelines.md."""
import json
import os
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from suite import run_groups  # noqa: E402

STRATEGY = """[strategy]
main = ["inline",
  {{ first-of = [["refuse", "canonicalize"], [{{ try = "refuse" }}, "grow"]] }},
  {{ try = {{ times = 2, do = ["grow", {{ if = "has-op while", then = "canonicalize", else = "fail" }}] }} }},
  {{ repeat = {{ at = "arith.constant", do = "count-down" }}, max = 4 }},
  "canonicalize", {{ pass = "bounds-check", id = "checks" }}]
"""


def prepare(s):
    s.root = pathlib.Path(s.root).resolve()
    s.apps = [p for p in sorted(s.root.glob("apps/*/*.rvt")) if p.parent.name == p.stem]
    s.toys = str(pathlib.Path(s.revet).resolve().parent.parent / "tests/plugins/libtoy-passes.so")
    s.write("toys.toml", f'plugins = ["{s.toys}"]\n' + STRATEGY.format())
    s.check("there are eight apps", len(s.apps) == 8)


def ir(s, app, *words):
    done = s.run(["compile", str(app), "--emit", "rir", *words])
    if done.returncode != 0:
        s.check(f"{app.stem} {' '.join(words)}", False, done.stderr)
    return done.stdout


def frozen(s):
    """What `revet pipeline` prints gives the same IR, and so does what each choice came to."""
    pipelines = [p["name"] for p in json.loads(s.run(["pipelines", "--json"]).stdout)]
    s.check("pipelines ship", {"interp", "openmp"} <= set(pipelines), str(pipelines))
    for words in [[p] for p in pipelines] + [["openmp", "--enable", "bounds-check"], ["./toys.toml"]]:
        name = " ".join(words)
        s.write("frozen.toml", s.case(f"{name} is printed", ["pipeline", *words], 0).stdout)
        for app in s.apps:
            s.check(f"{app.stem}: {name} frozen does the same", ir(s, app, "-p", *words) == ir(s, app, "-p", "./frozen.toml"))


def parts(s):
    """--stop-after X, then --start-at the next: the same as all at once."""
    for name, words, ids in (("openmp", ["openmp", "--enable", "bounds-check"], ["inline", "canonicalize", "bounds-check"]),
                             ("toys", ["./toys.toml"], ["inline", "checks"])):
        for app in s.apps:
            whole = ir(s, app, "-p", *words)
            for first, second in zip(ids, ids[1:]):
                if name == "toys":
                    first = "canonicalize#3"
                s.write("part.rir", ir(s, app, "-p", *words, "--stop-after", first))
                rest = s.run(["opt", "part.rir", "-p", *words, "--start-at", second])
                s.check(f"{app.stem}, {name}: up to {first}, then from {second}", rest.stdout == whole and whole, rest.stderr)
    for app in s.apps[:3]:
        whole = ir(s, app, "-p", "openmp", "--dump-after", "all", "--dump-dir", str(s.folder))
        for dump, following in (("001-inline.rir", "canonicalize"), ("002-canonicalize.rir", "canonicalize")):
            rest = s.run(["compile", dump, "-p", "openmp", "--emit", "rir", "--start-at", following])
            s.check(f"{app.stem}: from the dump {dump}", rest.stdout == whole, rest.stderr)
        stopped = ir(s, app, "-p", "openmp", "--stop-after", "inline")
        s.check(f"{app.stem}: --stop-after is what the dump says", (s.folder / "001-inline.rir").read_bytes().split(b"\n", 1)[1] == stopped)
    s.case("--stop-after of an unknown id", ["compile", str(s.apps[0]), "-p", "openmp", "--stop-after", "inlin"], 2, ["'inline'"])
    s.case("--start-at where a requirement is not met", ["compile", str(s.apps[0]), "-p", "openmp", "--start-at", "bounds-chck"], 2,
           ["'bounds-check'"])


KEYS = ["step", "depth", "path", "rule", "place", "outcome", "reason", "before", "after", "ms"]


def traces(s):
    app = str(s.apps[0])
    for words in (["openmp"], ["./toys.toml"]):
        done = s.case(f"a trace of {words[0]}", ["compile", app, "-p", *words, "--emit", "rir", "--strategy-trace", "t.jsonl", "--explain",
                                                 "-o", "out.rir"], 0)
        rows = [json.loads(line) for line in (s.folder / "t.jsonl").read_text().splitlines()]
        s.check("each line has the keys", rows and all(list(r) == KEYS for r in rows), str(rows[:2]))
        s.check("steps are counted", [r["step"] for r in rows] == list(range(len(rows))))
        s.check("depth grows by one", rows[0]["depth"] == 0 and all(b["depth"] <= a["depth"] + 1 for a, b in zip(rows, rows[1:])))
        s.check("outcomes", {r["outcome"] for r in rows} <= {"changed", "unchanged", "failed", "error"}, str({r["outcome"] for r in rows}))
        s.check("failures say why", all(bool(r["reason"]) == (r["outcome"] == "failed") for r in rows))
        s.check("hashes", all(re.fullmatch("[0-9a-f]{16}", r[k]) for r in rows for k in ("before", "after")))
        s.check("the hash changes where the outcome says so", all((r["before"] != r["after"]) == (r["outcome"] == "changed")
                                                                for r in rows if r["depth"] == 0 or r["outcome"] == "unchanged"))
        s.check("times", all(r["ms"] >= 0 for r in rows))
        inner = sum(r["ms"] for r in rows if r["depth"] == 1)
        s.check("parts take no longer than the whole", inner <= rows[0]["ms"] * 1.001 + 0.01, f"{inner} {rows[0]['ms']}")
        again = s.run(["compile", app, "-p", *words, "--emit", "rir", "--strategy-trace", "-", "-o", "out.rir"]).stdout.decode().splitlines()
        plain = [{k: v for k, v in r.items() if k != "ms"} for r in rows]
        s.check("the same in every run but for times", [{k: v for k, v in json.loads(t).items() if k != "ms"} for t in again] == plain)
        err = done.stderr.decode()
        failures = err.partition("what was tried")[0]
        paths = re.findall(r"^  (\S+) \(", failures, re.M)
        depths = [next(r["depth"] for r in rows if r["path"] == p) for p in paths]
        s.check("--explain shows the deepest failures first", depths == sorted(depths, reverse=True)
                and len(paths) == sum(r["outcome"] == "failed" for r in rows), err)
        s.check("--explain shows all that was tried", err.partition("what was tried\n")[2].count("\n") == len(rows), err)
    s.check("something failed", "failures, deepest first" in err and "it always does" in err, err)
    failing = s.write("fails.toml", f'plugins = ["{s.toys}"]\n[strategy]\nmain = ["inline", [["refuse"]]]\n')
    s.case("a failing run is traced and explained", ["compile", app, "-p", failing, "--strategy-trace", "f.jsonl", "--explain"], 1,
           ["failures, deepest first\n  main[1][0][0] (refuse)", "it always does"])
    s.check("its trace is there", [json.loads(t)["outcome"] for t in (s.folder / "f.jsonl").read_text().splitlines()][:1] == ["failed"])


def fuel(s):
    """With fuel for N changes N are made, one more each time; every program on the way is right."""
    for app in s.apps:
        data = app.parent / "data/tiny"
        whole = ir(s, app, "-p", "openmp")
        seen, made, n = [], 0, 0
        while n < 400:
            done = s.run(["compile", str(app), "-p", "openmp", "--emit", "rir", "--fuel", str(n), "-o", "fuel.rir"])
            note = re.search(rb"fuel: (\d+) changes? made(?:, the last by '([^']+)')?, (\d+) left", done.stderr)
            s.check(f"{app.stem}: fuel {n} is accounted for", note and int(note[1]) + int(note[3]) == n and bool(note[2]) == (note[1] != b"0"),
                    done.stderr)
            if not note:
                break
            text = (s.folder / "fuel.rir").read_bytes()
            grown = int(note[1]) == made + 1 or n == 0
            s.check(f"{app.stem}: fuel {n} makes one change more or is enough", grown or (int(note[1]) == made and text == seen[-1]),
                    done.stderr)
            if int(note[3]) > 0:
                break
            s.check(f"{app.stem}: fuel {n} gives another program", not seen or text != seen[-1])
            # Each program is run where that is cheap: the first, the last and some on the way.
            if n < 4 or n % 16 == 0:
                done = s.run(["run", "fuel.rir", "-p", "interp", "--data", str(data), "--check", str(data / "expected")])
                s.check(f"{app.stem}: fuel {n} gives a right program", done.returncode == 0, done.stderr)
            seen.append(text)
            made = int(note[1])
            n += 1
        s.check(f"{app.stem}: with enough fuel the result is the unlimited one", text == whole and n > 3, f"{n}")
        done = s.run(["run", "fuel.rir", "-p", "interp", "--data", str(data), "--check", str(data / "expected")])
        s.check(f"{app.stem}: the last program is right", done.returncode == 0, done.stderr)
    done = s.run(["run", str(s.apps[0]), "-p", "openmp", "--fuel", "2", "--data", str(s.apps[0].parent / "data/tiny"),
                  "--check", str(s.apps[0].parent / "data/tiny/expected")])
    s.check("what the backend requires is done without fuel", done.returncode == 0 and b"fuel: 2 changes made" in done.stderr, done.stderr)
    s.check("-q hides what fuel says", not s.run(["compile", str(s.apps[0]), "-p", "openmp", "--fuel", "2", "-q"]).stderr)


def reproducers(s):
    """E4: also of a run that succeeds; of one that fails it begins at the pass that failed."""
    for app in s.apps[:3]:
        for words in (["openmp", "--enable", "bounds-check"], ["./toys.toml"]):
            name = f"{app.stem} {words[0]}"
            whole = ir(s, app, "-p", *words, "--write-reproducer", "rep")
            replayed = s.case(f"{name}: replay", ["replay", "rep"], 0)
            s.check(f"{name}: the same IR", replayed.stdout == whole and whole)
            s.check(f"{name}: its files", sorted(p.name for p in (s.folder / "rep").iterdir())
                    == ["input.rir", "pipeline.toml", "reproducer.json"])
    facts = json.loads((s.folder / "rep/reproducer.json").read_text())
    s.check("what made it", {"schema", "version", "command", "plugins"} <= set(facts) and facts["command"][1] == "compile"
            and all(len(p["fnv1a64"]) == 16 for p in facts["plugins"]) and len(facts["plugins"]) >= 3, str(facts))
    for name, main, program, message in (
            ("a pass that fails", '["inline", "canonicalize", { pass = "refuse", id = "no" }, "count-ops"]', str(s.apps[0]), "it always does"),
            ("a pass that finds an error", '["canonicalize", { pass = "inline", max-ops = 1, id = "no" }, "count-ops"]',
             s.write("calls.rvt", "DRAM<int> r;\nint f(int x) { return x + 1; }\nvoid main(int n) { r[0] = f(f(n)); }\n"), "more than 1 ops")):
        s.write("no.toml", f'plugins = ["{s.toys}"]\n[strategy]\nmain = {main}\n')
        folder = s.folder / f"rep {name}"
        done = s.case(name, ["compile", program, "-p", "./no.toml", "--write-reproducer", folder.name], 1, [message, folder.name, "revet replay"])
        s.check(f"{name}: there is a reproducer", folder.is_dir(), done.stderr)
        if not folder.is_dir():
            continue
        text = (folder / "pipeline.toml").read_text()
        s.check(f"{name}: it begins there", re.findall(r'pass = "([^"]+)"', text)[-1] == "count-ops"
                and len(re.findall("pass = ", text)) == 2, text)
        s.case(f"{name}: replayed", ["replay", folder.name], 1, [message])
        s.check(f"{name}: no second one", not list(s.folder.glob("revet-crash*")))
    s.case("a reproducer where none can be", ["compile", str(s.apps[0]), "-p", "openmp", "--write-reproducer", "no/such/place"], 2,
           ["no/such/place"])
    for name, text in (("no JSON", "{"), ("another schema", '{"schema": 99}'), ("no fields", '{"schema": 1}'), ("a list", "[]")):
        s.write("rep/reproducer.json", text)
        s.case(f"replay of {name}", ["replay", "rep"], 2, ["rep/reproducer.json"])


if __name__ == "__main__":
    sys.exit(run_groups(prepare, frozen, parts, traces, fuel, reproducers))
