#!/usr/bin/env bash
# Measures the timed engine against its targets; prints a table and fails only if something cannot
# be run.
#   tools/bench-sim.sh [--quick]
# Cycles per second of murmur3 (64 MB and 1 MB) and search (4096 chunks) on one core, the median of
# five runs; of two simulations at once, the slower one's speed by that of one alone; instructions
# per cycle and mapped unit (CU, MU and AG, idle ones too) of the simulation alone, counted by
# valgrind, if it is installed; seconds that place-and-route takes for each app.
# --quick leaves out the 64 MB and counts a smaller search: about two minutes, instead of ten.
#
# Other processes disturb the speeds, not the instructions. REVET_BUILD_DIR is the build folder
# (default: build); one made with -DCMAKE_CXX_FLAGS=-march=x86-64-v3 measures AVX2 code.
# The time is that of the backend: data are read and the graph is loaded in it, nothing compiled.
set -euo pipefail
quick=0
for word in "$@"; do
  case "$word" in
    --quick) quick=1 ;;
    --help | -h) sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) sed -n '4s/^#   /usage: /p' "$0" >&2; exit 2 ;;
  esac
done
source "$(dirname "${BASH_SOURCE[0]}")/build-revet.sh"
exec python3 "$root/tools/bench_sim.py" --revet "$build/bin/revet" --quick "$quick"
