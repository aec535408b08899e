#!/usr/bin/env bash
# Sourced by scripts that run the compiler: builds it, without the tests, where it is not there.
# Sets `root` and `build` (REVET_BUILD_DIR, else build/).
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${REVET_BUILD_DIR:-$root/build}
if [ ! -x "$build/bin/revet" ]; then
  REVET_SETUP=demo
  source "$root/tools/setup.sh"
  [ -f "$build/build.ninja" ] || cmake -S "$root" -B "$build" -G Ninja -DREVET_TESTS=OFF >/dev/null
  cmake --build "$build"
fi
