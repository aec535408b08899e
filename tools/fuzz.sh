#!/usr/bin/env bash
# Fuzzes Revet: random programs on every target, and its readers of untrusted files with libFuzzer.
#   tools/fuzz.sh [--minutes N] [--first SEED] [--jobs J] [TARGET..]
# Targets: `programs` (the default; tests/fuzz/programs.py), the names of tests/fuzz/targets, `all`.
# N minutes (default 3) are all the time there is, in equal parts for each target. --first: seed of
# the first program (default: the date's); --jobs: programs at a time. Finds stay in build/fuzz:
# reduced programs in programs/, ready for tests/programs; inputs of TARGET as TARGET-crash-*,
# TARGET-timeout-* or TARGET-oom-*. With a find, the script ends with an error.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${REVET_BUILD_DIR:-$root/build}
minutes=3
first=$(date +%y%m%d000)
jobs=$(nproc)
targets=()
usage() { sed -n '2,8s/^# //p' "$0"; }
while [ $# -gt 0 ]; do
  case "$1" in
    --minutes) minutes=${2:?--minutes needs a number}; shift 2 ;;
    --first) first=${2:?--first needs a number}; shift 2 ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift 2 ;;
    --help | -h) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) targets+=("$1"); shift ;;
  esac
done
for number in "$minutes" "$first" "$jobs"; do
  [[ "$number" =~ ^[0-9]+$ ]] || { echo "a number is needed, not '$number'" >&2; exit 2; }
done
[ ${#targets[@]} -gt 0 ] || targets=(programs)
if [ "${targets[*]}" = all ]; then
  targets=(programs)
  for source in "$root"/tests/fuzz/targets/*.cpp; do targets+=("$(basename "$source" .cpp)"); done
fi
readers=()
for target in "${targets[@]}"; do
  [ "$target" = programs ] && continue
  [ -f "$root/tests/fuzz/targets/$target.cpp" ] || { echo "there is no target '$target' in tests/fuzz/targets" >&2; exit 2; }
  readers+=("fuzz_$target")
done
seconds=$((minutes * 60 / ${#targets[@]}))

install() {
  local missing=() sudo=""
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || sudo="sudo"
  echo "Installing: ${missing[*]}"
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

programs() {
  source "$root/tools/build-revet.sh"
  python3 "$root/tests/fuzz/programs.py" --revet "$build/bin/revet" --seeds "$first:" \
    --minutes "$(awk "BEGIN { print $seconds / 60 }")" --jobs "$jobs" --keep "$build/fuzz/programs"
}

# An instrumented build of its own, in build/fuzz/build.
build_readers() {
  # Of Debian 12's compilers the one that takes ANTLR's headers.
  install clang-19 libclang-rt-19-dev llvm-19
  cmake -S "$root" -B "$build/fuzz/build" -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DREVET_FUZZERS=ON \
    -DREVET_SANITIZE=address,undefined -DREVET_WERROR=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -gline-tables-only" >/dev/null
  cmake --build "$build/fuzz/build" --target "${readers[@]}"
}

reader() { # TARGET
  local corpus=$build/fuzz/$1.corpus n=0
  mkdir -p "$corpus"
  while read -r seed; do
    n=$((n + 1))
    if [ "$1" = elf_reader ]; then
      # The sections alone make a small seed, which mutates fast; one whole plugin shows real headers.
      objcopy -j .revet.abi -j .revet.provides "$seed" "$corpus/seed-$n"
      strip -o "$corpus/seed-$n-whole" "$seed"
    else
      cp "$seed" "$corpus/seed-$n"
    fi
  done <"$build/fuzz/build/fuzz/$1.seeds"
  export ASAN_SYMBOLIZER_PATH=$(command -v llvm-symbolizer-19)
  "$build/fuzz/build/bin/fuzz_$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$build/fuzz/$1-" "$corpus"
}

REVET_SETUP=test
source "$root/tools/setup.sh"
mkdir -p "$build/fuzz"
[ ${#readers[@]} -eq 0 ] || build_readers
status=0
for target in "${targets[@]}"; do
  echo "== $target, $seconds seconds"
  if [ "$target" = programs ]; then programs || status=1; else reader "$target" || status=1; fi
done
exit $status
