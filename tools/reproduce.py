#!/usr/bin/env python3
"""Writes docs/reproduce.md, what the paper's figures and tables are here, and the tables of the passes' READMEs.

    reproduce.py --revet PATH [--check | --simulate | --smoke] [--jobs N]

What is not simulated is made anew and takes seconds; --check only compares it with what is there. --simulate also
makes what is simulated, else that stays in the page as it is. --smoke shows the simulated parts for one app with
little data, and writes nothing.
"""
import argparse
import pathlib
import re
import sys
import tempfile

sys.dont_write_bytecode = True
from figures import estimates, hierarchy, machine, mapped, regions  # noqa: E402
from figures.measure import ROOT, Bench  # noqa: E402

PAGE = ROOT / "docs/reproduce.md"
SIMULATED = {"Figure 12": mapped, "Figure 13": hierarchy, "Figure 14": regions, "Tables IV and V": machine}
MARK = "<!-- simulated: {} -->"


def simulate(bench):
    """The simulated parts of the page: the claims, then a section for each figure."""
    results = {name: module.measure(bench) for name, module in SIMULATED.items()}
    claims = [f"| {name} | {said} | {here} |" for name, module in SIMULATED.items() for said, here in module.claims(results[name])]
    return {"claims": ["| | the paper | here |", "|---|---|---|", *claims],
            **{name: module.section(results[name]) for name, module in SIMULATED.items()}}


def kept():
    """The simulated parts as they are in the page."""
    text, out = PAGE.read_text() if PAGE.exists() else "", {}
    for name in ("claims", *SIMULATED):
        found = re.search(re.escape(MARK.format(name)) + r"\n\n(.*?)\n\n" + re.escape(MARK.format("end")), text, re.S)
        if not found:
            sys.exit(f"{PAGE.relative_to(ROOT)} has no part '{name}': run tools/reproduce.sh --simulate")
        out[name] = found.group(1).split("\n")
    return out


def page(results, simulated):
    part = lambda name: [MARK.format(name), "", *simulated[name], "", MARK.format("end"), ""]
    return "\n".join([
        "# Figures and tables of the paper, reproduced", "",
        "`tools/reproduce.sh` writes this page; a test compares what is not simulated with what the compiler gives. "
        "`tools/reproduce.sh --simulate` also makes the parts that are, with data of the apps' generators whose outputs are checked; "
        "it takes minutes on two cores.", "", *part("claims"), *estimates.section(results), "",
        *[line for name in SIMULATED for line in part(name)]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--revet", required=True)
    what = parser.add_mutually_exclusive_group()
    for name in ("check", "simulate", "smoke"):
        what.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (default 2)")
    arguments = parser.parse_args()
    revet = str(pathlib.Path(arguments.revet).resolve())
    if arguments.simulate or arguments.smoke:
        with tempfile.TemporaryDirectory(prefix="revet-figures-") as folder:
            simulated = simulate(Bench(revet, pathlib.Path(folder), arguments.jobs, arguments.smoke))
        if arguments.smoke:
            return print("\n\n".join("\n".join(part) for part in simulated.values()))
    else:
        simulated = kept()
    results = estimates.measure(revet)
    pages = [(PAGE, page(results, simulated)), *(estimates.readme(name, results) for name in estimates.PASSES)]
    for file, text in pages:
        if not arguments.check:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            sys.exit(f"{file.relative_to(ROOT)} is not what tools/reproduce.sh writes")
    print(f"{len(pages)} pages {'are up to date' if arguments.check else 'written'}")


if __name__ == "__main__":
    main()
