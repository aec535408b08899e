#!/usr/bin/env bash
# Measures the cycle-level simulator beside what it should reach: murmur3 on 64 MB and 1 MB and
# search, mapped at 70%: thousand cycles per second (median of five, of the simulation alone), two
# at once, and seconds to place and route each app.
#   tools/bench-sim.sh [--quick] [--instructions]
# --quick leaves the 64 MB out; --instructions also counts instructions per cycle and mapped unit
# (valgrind --tool=callgrind, in a build for AVX2 of its own: about ten minutes more).
# It fails where a target is missed. REVET_BUILD_DIR is the build folder (default: build).
set -euo pipefail
case "${1:-}" in --help | -h) sed -n '2,9s/^# //p' "$0"; exit 0 ;; esac
source "$(dirname "${BASH_SOURCE[0]}")/build-revet.sh"
avx2=()
if [[ " $* " == *" --instructions "* ]]; then
  cmake -S "$root" -B "$build-avx2" -G Ninja -DCMAKE_CXX_FLAGS=-mavx2 >/dev/null
  cmake --build "$build-avx2" >/dev/null
  avx2=(--avx2 "$build-avx2/bin/revet")
fi
quick=()
if [[ " $* " == *" --quick "* ]]; then quick=(--quick); fi
exec python3 "$root/tools/bench_sim.py" --revet "$build/bin/revet" "${quick[@]}" "${avx2[@]}"
