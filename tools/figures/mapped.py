"""Figure 12 on the machine: units, and how many copies of replicate regions there is room for, with each optimisation off."""
import re

from figures.measure import KINDS, PIPELINE, copies, factor, source, table

SAVING = ["if-to-select", "fuse-allocations", "hoist-allocations", "bufferize-replicate", "pack-subwords"]
SETTINGS = {"all": [], **{f"without {name}": [name] for name in [*SAVING, "eliminate-hierarchy"]}, "without the five": SAVING}


def disabled(names):
    return [word for name in names for word in ("--disable", name)]


def units(bench, app, names, n):
    """Units of each kind that n copies need, whether the machine has them or not."""
    done = bench.revet_or_none(["compile", "-q", source(app), *PIPELINE, *disabled(names), *copies(n), "--stop-after", "insert-buffers",
                                "--emit", "rir", "-o", "-"])
    rows = re.search(r"units = \[(\[.*?\])\]", done.stdout).group(1)
    return tuple(len(re.findall(rf'\["{kind.upper()}"', rows)) for kind in KINDS)


def measure(bench):
    """For each app and setting the copies that place at 70%, and the units of as many copies as with all passes."""
    def largest(key):
        app, setting = key
        figures = bench.run(source(app), f"apps/{app}/data/tiny", *disabled(SETTINGS[setting]))
        return figures and factor(figures)

    keys = [(app, setting) for app in bench.apps for setting in SETTINGS]
    placed = dict(zip(keys, bench.map(largest, keys)))
    needed = dict(zip(keys, bench.map(lambda k: units(bench, k[0], SETTINGS[k[1]], placed[k[0], "all"] or 1), keys)))
    return {"apps": bench.apps, "placed": placed, "needed": needed}


def reaching(results, setting):
    placed = results["placed"]
    return [app for app in results["apps"] if (placed[app, setting] or 0) >= (placed[app, "all"] or 0)]


def claims(results):
    return [("without the optimisations only kD-tree reaches its number of copies",
             f"without the five: {', '.join(reaching(results, 'without the five')) or 'none'}")]


def section(results):
    apps, placed = results["apps"], results["placed"]
    show = lambda app, setting: "does not fit" if placed[app, setting] is None else placed[app, setting]
    out = ["## Figure 12, on the machine", "",
           "The copies of replicate regions (the paper's outer parallelism) that `unroll-replicate` finds room for at 70% of the scarcest "
           "kind of unit, with all passes and without some. \"The five\" are those that save resources; `eliminate-hierarchy` is there "
           "for time.", "", "```console", "$ revet run apps/murmur3/murmur3.rvt -p vrda --data apps/murmur3/data/tiny --disable hoist-allocations",
           "revet: note: replicate regions have .. copies [pass unroll-replicate]", "...", "```", "",
           *table(["passes", *apps], [[setting, *(show(app, setting) for app in apps)] for setting in SETTINGS]), "",
           "Apps that have as many copies as with all passes:", ""]
    for setting in list(SETTINGS)[1:]:
        out.append(f"- {setting}: {', '.join(reaching(results, setting)) or 'none'}")
    out += ["", "Units (CU, MU, AG) for as many copies as with all passes, there being 200, 200 and 80:", "",
            *table(["passes", *apps], [[setting, *(", ".join(map(str, results["needed"][app, setting])) for app in apps)] for setting in SETTINGS])]
    return out
