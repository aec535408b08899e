"""Table IV (resources) and Table V (throughput), and what ideal DRAM and an ideal network with ideal memories gain."""
from figures.measure import KINDS, copies, factor, geometric_mean, percent, source, table

DATA = {"isipv4": (131072, {}), "ip2int": (131072, {}), "murmur3": (131072, {}), "hash-table": (131072, {"slots": 262144}), "search": (4096, {}),
        "huff-dec": (4096, {}), "huff-enc": (16384, {}), "kD-tree": (256, {"points": 65536})}
USES = ["inner", "outer", "distribution", "collection", "live values", "deadlock buffers", "retiming"]
IDEAL = {"ideal-dram": 0.35, "ideal-network-sram": 0.06}


def measure(bench):
    def runs(app):
        count, options = DATA[app]
        data = bench.data(app, count, **options)
        out = {"real": bench.run(source(app), data)}
        for name in IDEAL if out["real"] else ():
            out[name] = bench.run(source(app), data, *copies(factor(out["real"])), "--set", f"machine.file={name}.toml")
        return out

    return {app: r for app, r in zip(bench.apps, bench.map(runs, bench.apps)) if r["real"]}


def gain(results, name):
    return geometric_mean([r[name]["gbps"] / r["real"]["gbps"] for r in results.values()]) - 1


def use(figures, kind, name):
    return figures["resources"]["uses"].get(name, {}).get(kind, 0)


def inner_share(figures):
    return use(figures, "cu", "inner") / max(1, figures["resources"]["cu"])


def claims(results):
    inner = {app: inner_share(r["real"]) for app, r in results.items()}
    out = [("most CUs are for inner loops, in all apps", f"{percent(min(inner.values()))} to {percent(max(inner.values()))}")]
    for app in ("isipv4", "ip2int", "murmur3"):
        if app in results:
            out.append((f"{app} uses over 75% of the peak of HBM2", percent(results[app]["real"]["dram"]["utilisation"], 1)))
    if "hash-table" in results:
        out.append(("hash-table is limited by activations of DRAM",
                    f"only activations were left in {percent(results['hash-table']['real']['dram']['activation_bound_share'], 1)} of the clocks"))
    for name, said in IDEAL.items():
        out.append((f"{name}: {said:+.0%} in the geometric mean", f"{gain(results, name):+.1%}"))
    return out


def section(results):
    resources, uses, speed = [], [], []
    for app, r in results.items():
        f = r["real"]
        res = f["resources"]
        resources.append([app, factor(f), *(f"{res[kind]} ({percent(res[kind] / res['of'][kind])})" for kind in KINDS), res["critical"].upper(),
                          f["lanes"]["tile"], f["lanes"]["inner"], percent(inner_share(f))])
        uses.append([app, *(f"{use(f, 'cu', name)}, {use(f, 'mu', name)}" if use(f, "cu", name) or use(f, "mu", name) else "" for name in USES)])
        speed.append([app, f["threads"], f["cycles"], f"{f['gbps']:.1f}", percent(f["dram"]["utilisation"], 1),
                      percent(f["dram"]["row_hits"]), *(f"{r[name]['gbps'] / f['gbps'] - 1:+.1%}" for name in IDEAL)])
    speed.append(["geometric mean", "", "", f"{geometric_mean([r['real']['gbps'] for r in results.values()]):.1f}", "", "",
                  *(f"{gain(results, name):+.1%}" for name in IDEAL)])
    speed.append(["the paper's", "", "", "", "", "", *(f"{said:+.0%}" for said in IDEAL.values())])
    made = "; ".join(" ".join([app, f"`--count {DATA[app][0]}", *(f"--{n} {v}" for n, v in DATA[app][1].items())]) + "`" for app in results)
    return ["## Table IV: resources", "",
            "Units at 70% of the scarcest kind; lanes of tiles and of inner loops; the share of the CUs that inner loops have.", "",
            "```console", "$ revet run -q apps/isipv4/isipv4.rvt -p vrda --data apps/isipv4/data/tiny --stats f.csv && grep resources.uses f.csv",
            "isipv4 on vrda: ..", "...", "resources.uses.inner.cu,units,of that kind for that use,..", "...", "```", "",
            *table(["app", "copies", "CU", "MU", "AG", "critical", "tile lanes", "inner lanes", "inner CUs"], resources), "",
            "CUs and MUs by use:", "", *table(["app", *USES], uses), "",
            "## Table V: throughput, and what an ideal machine gains", "",
            "GB/s of the application's bytes, the share of the DRAM's peak that moves, and the gain with DRAM that has no limits (the paper's D) "
            "and with a network and memories that have none (SN), with the same copies.", "", "```console",
            "$ revet run -q apps/isipv4/isipv4.rvt -p vrda --set machine.file=ideal-dram.toml --data apps/isipv4/data/tiny",
            "isipv4 on vrda: ..", "...", "```", "", f"Data: {made}.", "",
            *table(["app", "threads", "cycles", "GB/s", "DRAM", "row hits", *IDEAL], speed)]
