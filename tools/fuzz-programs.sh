#!/usr/bin/env bash
# Runs random programs on every target and compares what they give (tests/fuzz/programs.py).
#   tools/fuzz-programs.sh [--minutes N] [--first SEED] [--jobs J]    default: 3 minutes from the date's seed
# Finds are reduced and stay in build/fuzz/programs as files for tests/programs; with one, or where
# something of the language was never generated, the script ends with an error.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${REVET_BUILD_DIR:-$root/build}
minutes=3
first=$(date +%y%m%d000)
jobs=$(nproc)
usage() { sed -n '2,3s/^# //p' "$0"; }
while [ $# -gt 0 ]; do
  case "$1" in
    --minutes) minutes=${2:?--minutes needs a number}; shift 2 ;;
    --first) first=${2:?--first needs a number}; shift 2 ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift 2 ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
for number in "$minutes" "$first" "$jobs"; do
  [[ "$number" =~ ^[0-9]+$ ]] || { echo "a number is needed, not '$number'" >&2; exit 2; }
done

if [ ! -x "$build/bin/revet" ]; then
  REVET_SETUP=demo
  source "$root/tools/setup.sh"
  [ -f "$build/build.ninja" ] || cmake -S "$root" -B "$build" -G Ninja -DREVET_TESTS=OFF >/dev/null
  cmake --build "$build"
fi
exec python3 "$root/tests/fuzz/programs.py" --revet "$build/bin/revet" --seeds "$first:" \
  --minutes "$minutes" --jobs "$jobs" --keep "$build/fuzz/programs"
