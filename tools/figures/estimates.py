"""Figure 12 before mapping: what each optimisation saves in the graph, from the estimates of `revet sweep`.

Nothing in it is timed, so it is the same on every machine; tables of it are in the READMEs of the passes, too.
"""
import json
import pathlib
import subprocess

from figures.measure import APPS, ROOT

PASSES = ["if-to-select", "eliminate-hierarchy", "fuse-allocations", "hoist-allocations", "bufferize-replicate",
          "pack-subwords", "link-kinds"]
COLUMNS = ["contexts", "values into merges", "words through loops", "vector links", "scalar links", "memory units", "allocators"]
BEGIN, END = "<!-- figures: tools/reproduce.sh -->", "<!-- end of figures -->"
# Why a pass changes nothing in an app.
REASONS = json.loads((pathlib.Path(__file__).parent / "reasons.json").read_text())


def command(app):
    vary = [w for p in PASSES for w in ("--vary", f"{p}.enabled=true,false")]
    return ["sweep", f"apps/{app}/{app}.rvt", "-p", "vrda-untimed", "--design", "one-at-a-time", *vary]


def measure_app(revet, app):
    """Statistics with all passes on, and with each off."""
    done = subprocess.run([revet, *command(app), "--json"], capture_output=True, text=True, cwd=ROOT, check=True)
    points = [p["statistics"] for p in json.loads(done.stdout)["points"]]
    return points[0], dict(zip(PASSES, points[1:]))


def change(before, after):
    if before == after:
        return f"{after}"
    return f"{after} ({100 * (after - before) / before:+.0f}%)" if before else f"{after}"


def tables(results):
    out = []
    for app, (base, off) in results.items():
        out += [f"### {app}", "", "| passes | " + " | ".join(COLUMNS) + " |", "|---|" + "--:|" * len(COLUMNS)]
        value = lambda s, c: s.get(c, 0)
        out.append("| all | " + " | ".join(str(value(base, c)) for c in COLUMNS) + " |")
        for name in PASSES:
            out.append(f"| without {name} | " + " | ".join(change(value(base, c), value(off[name], c)) for c in COLUMNS) + " |")
        out.append("")
    return out


def effects(results):
    """For each pass the apps where switching it off costs 10% or more of something, and those without a change."""
    out = ["| pass | costs 10% or more without it | changes nothing |", "|---|---|---|"]
    for name in PASSES:
        costs, nothing = [], []
        for app, (base, off) in results.items():
            worst = [(100 * (off[name].get(c, 0) - base.get(c, 0)) / base[c], c) for c in COLUMNS
                     if base.get(c, 0) and off[name].get(c, 0) > base[c]]
            worst = [(percent, c) for percent, c in worst if percent >= 10 and not c.endswith("links")]
            if worst:
                percent, column = max(worst)
                costs.append(f"{app} ({column} {percent:+.0f}%)")
            if all(off[name].get(c, 0) == base.get(c, 0) for c in COLUMNS):
                nothing.append(f"{app} ({REASONS.get(name, {}).get(app, 'no reason is written down')})")
        out.append(f"| {name} | {', '.join(costs) or 'none'} | {', '.join(nothing) or 'none'} |")
    return out


def figures(name, results):
    """The table of one pass, for its README: with all passes, and without this one."""
    shown = [c for c in COLUMNS if any(off[name].get(c, 0) != base.get(c, 0) for base, off in results.values())]
    out = [BEGIN, "", f"With all passes of `-p vrda-untimed`, and without this one (`revet sweep`, see docs/reproduce.md):", "",
           "| app | " + " | ".join(shown) + " |", "|---|" + "--:|" * len(shown)]
    for app, (base, off) in results.items():
        cells = [(base.get(c, 0), off[name].get(c, 0)) for c in shown]
        out.append(f"| {app} | " + " | ".join(f"{a}" if a == b else f"{a}, {b}" for a, b in cells) + " |")
    return "\n".join([*out, "", END])


def readme(name, results):
    """The README of a pass with its table renewed."""
    file = ROOT / "plugins" / name.replace("-", "_") / "README.md"
    before, _, rest = file.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    return file, before + figures(name, results) + after


def measure(revet):
    return {app: measure_app(revet, app) for app in APPS}


def section(results):
    return ["## Figure 12: what each optimisation saves", "",
            "The resources of each app's graph before it is mapped, with all passes of `pipelines/vrda.toml` and with one of them "
            "off. Nodes in a replicate region count once per copy. `plugins/count_ops/estimate.hpp` says what each column counts.", "",
            "```console", "$ revet " + " ".join(command("murmur3")), "# apps/murmur3/murmur3.rvt with vrda-untimed", "...", "```", "",
            *effects(results), "",
            "`eliminate-hierarchy` costs resources in every app: a fork duplicates what a broadcast shares, and the count-down is an "
            "access to memory. It is there for time: small tiles run side by side (Figure 13, for the cycle-level simulator). "
            "`link-kinds` changes what links are, not how many: without it all are vectors.", "",
            "The paper's figure has no numbers in its text. It says that if-conversion has no impact on isipv4, which has no "
            "convertible ifs there; ours checks digits and ranges in ifs that convert. It says that the extraction of pointers after "
            "hoisting can add resources: so it does here, in contexts and memory units (rows without bufferize-replicate).", "",
            *tables(results)[:-1]]
