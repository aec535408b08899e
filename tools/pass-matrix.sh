#!/usr/bin/env bash
# Runs the apps with every combination of optimisations on and off (tests/pass_matrix.py).
#   tools/pass-matrix.sh [APP..]    default: all eight apps
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${REVET_BUILD_DIR:-$root/build}
case "${1:-}" in --help | -h) sed -n '2,3s/^# //p' "$0"; exit 0 ;; esac
if [ ! -x "$build/bin/revet" ]; then
  REVET_SETUP=demo
  source "$root/tools/setup.sh"
  [ -f "$build/build.ninja" ] || cmake -S "$root" -B "$build" -G Ninja -DREVET_TESTS=OFF >/dev/null
  cmake --build "$build"
fi
apps=("$@")
[ $# -gt 0 ] || apps=(isipv4 ip2int murmur3 hash-table search huff-dec huff-enc kD-tree)
exec python3 "$root/tests/pass_matrix.py" --revet "$build/bin/revet" "${apps[@]/#/$root/apps/}"
