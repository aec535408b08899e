#!/usr/bin/env bash
# Writes docs/reproduce.md: the figures of the paper that can be reproduced, each with its command.
#   tools/reproduce.sh
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
python3 "$root/tools/reproduce.py" --revet "$build/bin/revet"
echo "docs/reproduce.md"
