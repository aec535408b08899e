"""Figure 14: eight regions of which one is slow, with pointers that deal threads and with turns."""
from figures.measure import ROOT, copies, factor, percent, source, table

SLOW, REGIONS = 3, 8
RATES = [1, 0.9, 0.8, 0.7]
LARGER = ["--set", "machine.grid.rows=40", "--set", "machine.grid.columns=40"]
# Buffers of each copy, and threads of the runs: few, more, many of them. murmur3 is limited by its copies alone.
APPS = {"search": (512, [2048, 8192, 32768]), "murmur3": (1024, [4096, 32768, 262144])}


def bounded(bench, app, buffers):
    """The app with so many buffers in each copy of its region."""
    text = (ROOT / source(app)).read_text()
    program = bench.folder / f"{app}-{buffers}.rvt"
    program.write_text(text.replace("replicate (4) {", f"replicate (4) {{\n        pragma(threads={buffers});", 1))
    return program


def measure(bench):
    out = {}
    for app in [app for app in APPS if app in bench.apps]:
        buffers, counts = APPS[app]
        program = bounded(bench, app, buffers)
        grid = [] if bench.revet_or_none(["compile", "-q", program, "-p", "vrda", *copies(REGIONS), "-o", bench.folder / "placed.rir"]) else LARGER
        data = {count: bench.data(app, count) for count in (counts[:1] if bench.smoke else counts)}
        many = max(data)
        keys = [(count, 0.7, way) for count in data if count != many for way in ("dynamic", "static")]
        keys += [(many, rate, way) for rate in RATES for way in ("dynamic", "static")]

        def run(key):
            count, rate, way = key
            return bench.run(program, data[count], *copies(REGIONS), *grid, "--set", f"unroll-replicate.distribution={way}", "--set",
                             f"machine.throttle.region={SLOW}", "--set", f"machine.throttle.rate={rate}")

        runs = dict(zip(keys, bench.map(run, keys)))
        alone = bench.run(program, data[many], *copies(1), *grid)
        out[app] = {"buffers": buffers, "larger": bool(grid), "many": many, "runs": runs,
                    "speed-up": alone["cycles"] / runs[many, 1, "static"]["cycles"]}
    return out


def shares(figures):
    """Of the slow region, and of the others on average."""
    assert factor(figures) == REGIONS
    slow = figures["regions"][SLOW]["share"]
    return slow, (1 - slow) / (REGIONS - 1)


def avoided(runs, count, rate):
    return 1 - runs[count, rate, "dynamic"]["cycles"] / runs[count, rate, "static"]["cycles"]


def claims(results):
    out = []
    for app, r in results.items():
        slow, fast = shares(r["runs"][r["many"], 0.7, "dynamic"])
        out.append((f"one of eight regions 30% slower, much work ({app}): it gets less than 10%, the others 14%; 21% slowdown avoided",
                    f"{percent(slow, 1)}, {percent(fast, 1)}; {percent(avoided(r['runs'], r['many'], 0.7), 1)}"))
    return out


def section(results):
    out = ["## Figure 14: eight regions, one of them slow", "",
           f"Region {SLOW} acts in a share of the cycles (`machine.throttle`). Threads go to regions as their buffers are freed (`distribution = "
           "\"dynamic\"`, which needs `hoist-allocations`), or in turns (`static`). Slowdown avoided: what the dynamic run is shorter by.", "",
           "```console", f"$ revet run -q apps/murmur3/murmur3.rvt -p vrda {' '.join(copies(REGIONS))} --set machine.throttle.region={SLOW} "
           "--set machine.throttle.rate=0.7 --set unroll-replicate.distribution=static --data apps/murmur3/data/tiny",
           "murmur3 on vrda: ..", "...", "copies: 8 of replicate regions, ..% to ..% of the threads", "```", ""]
    for app, r in results.items():
        grid = ", on a grid of 40 x 40, since eight copies do not fit the paper's machine" if r["larger"] else ""
        out += [f"{app}, with `pragma(threads={r['buffers']})` in the region, so that there are {REGIONS * r['buffers']} buffers{grid}. "
                f"Eight copies are {r['speed-up']:.1f} times as fast as one: the less so, the less one that is slow can matter.", ""]
        rows = []
        for count, rate in sorted({(count, rate) for count, rate, _ in r["runs"]}, key=lambda k: (k[0], -k[1])):
            dynamic, static = (r["runs"][count, rate, way] for way in ("dynamic", "static"))
            slow, fast = shares(dynamic)
            rows.append([count, rate, percent(slow, 1), percent(fast, 1), dynamic["cycles"], static["cycles"],
                         percent(avoided(r["runs"], count, rate), 1)])
        out += [*table(["threads", "rate", "slow region", "others, each", "cycles", "cycles in turns", "slowdown avoided"], rows), ""]
    return out[:-1]
