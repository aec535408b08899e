#!/usr/bin/env bash
# Measures the untimed engine on a graph of 10,017 nodes: prints node firings per second and peak
# memory at 1e6 and 1e7 firings, and fails below 2e6 firings per second, above 500 MB, or where the
# two peaks differ by more than 10%. REVET_BUILD_DIR is the build folder (default: build).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${REVET_BUILD_DIR:-$root/build}

[ -f "$build/build.ninja" ] || cmake -S "$root" -B "$build" -G Ninja >/dev/null
cmake --build "$build" --target bench_flow >/dev/null
for firings in 1e6 1e7; do
  "$build/bin/bench_flow" "$firings"
done | awk '
  { print }
  $1 == "firings_per_second" { if ($2 < 2e6) slow = 1 }
  $1 == "peak_kilobytes" { peak[++n] = $2; if ($2 > 500000) large = 1 }
  END {
    grows = n != 2 || peak[2] > 1.1 * peak[1] || peak[1] > 1.1 * peak[2]
    if (slow) print "slower than 2e6 firings per second"
    if (large) print "more than 500 MB"
    if (grows) print "peak memory depends on the number of firings"
    exit slow || large || grows
  }'
