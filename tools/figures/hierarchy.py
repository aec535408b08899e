"""Figure 13: murmur3 with its hierarchy eliminated, or kept with shared or duplicated tiles, over the number of copies."""
from figures.measure import copies, percent, table

MODES = {"eliminated": "apps/murmur3/murmur3.rvt", "shared": "apps/murmur3/variants/shared.rvt",
         "duplicated": "apps/murmur3/variants/duplicated.rvt"}
COPIES = [1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40]
COUNT = 48 * 4096  # tiles that 2 to 24 copies divide evenly


def measure(bench):
    data = bench.data("murmur3", COUNT)
    keys = [(mode, n) for n in (COPIES[:2] if bench.smoke else COPIES) for mode in MODES]
    runs = dict(zip(keys, bench.map(lambda key: bench.run(MODES[key[0]], data, *copies(key[1])), keys)))
    return {key: figures for key, figures in runs.items() if figures}


def total(figures):
    return sum(figures["resources"][kind] for kind in ("cu", "mu", "ag"))


def compared(results, mode):
    """A mode at the most copies that it and the one without hierarchy have: GB/s and units, of those without hierarchy."""
    n = max(n for m, n in results if m == mode and ("eliminated", n) in results)
    kept, eliminated = results[mode, n], results["eliminated", n]
    return n, kept["gbps"] / eliminated["gbps"], total(kept) / total(eliminated)


def claims(results):
    out = []
    for mode, said in (("shared", "hierarchy with shared tiles: slightly less area, a widening gap in performance"),
                       ("duplicated", "with duplicated tiles: similar performance, more area")):
        (n, speed, area), slow = compared(results, mode), results[mode, 1]["gbps"] / results["eliminated", 1]["gbps"]
        out.append((said, f"{percent(speed)} of the GB/s with {percent(area)} of the units at {n} copies; {percent(slow)} of the GB/s at 1"))
    return out


def rows_open(results):
    """Accesses to DRAM that find their row open, at the most copies that all modes have."""
    n = max(n for _, n in results if all((mode, n) in results for mode in MODES))
    shares = ", ".join(f"{percent(results[mode, n]['dram']['row_hits'])} {mode}" for mode in MODES)
    return (f"Of the accesses to DRAM these find their row open, at {n} copies: {shares}. Copies with tiles of their own walk through different "
            "rows of the same banks.")


def section(results):
    rows = []
    for n in sorted({n for _, n in results}):
        row = [n]
        for mode in MODES:
            f = results.get((mode, n))
            row += [f"{f['gbps']:.0f}", total(f), percent(f["resources"]["critical_share"])] if f else ["does not fit", "", ""]
        rows.append(row)
    return ["## Figure 13: hierarchy elimination, area against performance", "",
            "murmur3 with tiles of 256 threads that need not wait for each other (`eliminate_hierarchy`), and with the hierarchy kept: tiles "
            "of 4096 threads, opened outside of the replicate (shared) or inside (duplicated). Units are CUs, MUs and AGs together; beside "
            "them the share of the scarcest kind.", "", "```console",
            f"$ revet run -q apps/murmur3/variants/shared.rvt -p vrda {' '.join(copies(4))} --data apps/murmur3/data/tiny",
            "shared on vrda: ..", "...", "```", "", f"`apps/murmur3/gen --count {COUNT}`:", "",
            *table(["copies", *(f"{mode}{what}" for mode in MODES for what in (": GB/s", ": units", ": critical"))], rows), "",
            rows_open(results)]
