#!/usr/bin/env bash
# The main job: compiles apps/murmur3/murmur3.rvt for the CPU, runs it on 64-byte blobs, checks
# every hash and prints GB/s. Takes the number of blobs as an argument (default: 1048576).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
count=${1:-1048576}
build=${REVET_BUILD_DIR:-$root/build}

REVET_SETUP=demo
source "$root/tools/setup.sh"
[ -f "$build/build.ninja" ] || cmake -S "$root" -B "$build" -G Ninja -DREVET_TESTS=OFF >/dev/null
cmake --build "$build" --parallel 2 >"$build/demo-build.log" 2>&1 || { tail -n 40 "$build/demo-build.log"; exit 1; }

data=$build/demo/murmur3-$count
[ -f "$data/expected/hash.bin" ] || REVET_BUILD_DIR=$build "$root/apps/murmur3/gen" --out "$data" --count "$count"
set -x
"$build/bin/revet" run "$root/apps/murmur3/murmur3.rvt" -p openmp --data "$data" --check "$data/expected" --reps 5
