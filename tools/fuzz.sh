#!/usr/bin/env bash
# Fuzzes Revet's own readers of binary input with libFuzzer, from seeds made of the built plugins.
#   tools/fuzz.sh [--minutes N] [TARGET]    default: 3 minutes of each tests/fuzz/TARGET.cpp
# The corpus stays in build/fuzz/TARGET.corpus; an input that breaks something is written beside it
# as TARGET-crash-*, TARGET-timeout-* or TARGET-oom-*, and the script ends with an error.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${REVET_BUILD_DIR:-$root/build}
minutes=3
targets=()
usage() { sed -n '2,3s/^# //p' "$0"; }
while [ $# -gt 0 ]; do
  case "$1" in
    --minutes) minutes=${2:?--minutes needs a number}; shift 2 ;;
    --help | -h) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) targets+=("$1"); shift ;;
  esac
done
[[ "$minutes" =~ ^[0-9]+$ ]] || { echo "--minutes needs a number, not '$minutes'" >&2; exit 2; }
if [ ${#targets[@]} -eq 0 ]; then
  for source in "$root"/tests/fuzz/*.cpp; do targets+=("$(basename "$source" .cpp)"); done
fi
for target in "${targets[@]}"; do
  [ -f "$root/tests/fuzz/$target.cpp" ] || { echo "there is no target '$target' in tests/fuzz" >&2; exit 2; }
done

REVET_SETUP=demo
source "$root/tools/setup.sh"
clang=(clang libclang-rt-dev llvm)
if ! dpkg-query -W -f='${Status}\n' "${clang[@]}" 2>/dev/null | awk '/install ok installed/ { n++ } END { exit n != 3 }'; then
  sudo=""
  [ "$(id -u)" = 0 ] || sudo="sudo"
  echo "Installing: ${clang[*]}"
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${clang[@]}" >/dev/null
fi

# What each target is compiled with, and its seeds.
plugins=$build/lib/revet/plugins
sources_of() {
  case "$1" in
    elf_reader) echo core/plugin/elf.cpp core/support/{files,diagnostics,source}.cpp ;;
    *) echo "tools/fuzz.sh does not know what $1 is made of" >&2; return 1 ;;
  esac
}
seed() { # TARGET FOLDER
  case "$1" in
    elf_reader)
      # The sections alone make small seeds, which mutate fast; one whole plugin shows real headers.
      local plugin
      for plugin in "$plugins"/*.so; do
        objcopy -j .revet.abi -j .revet.provides "$plugin" "$2/$(basename "$plugin" .so)" 2>/dev/null
      done
      strip -o "$2/whole" "$plugins/libcount-ops.so"
      ;;
  esac
}
if [ ! -f "$plugins/libcount-ops.so" ]; then
  [ -f "$build/build.ninja" ] || cmake -S "$root" -B "$build" -G Ninja -DREVET_TESTS=OFF >/dev/null
  cmake --build "$build" --target count-ops
fi

mkdir -p "$build/fuzz"
cd "$root"
for target in "${targets[@]}"; do
  corpus=$build/fuzz/$target.corpus
  mkdir -p "$corpus"
  seed "$target" "$corpus"
  sources=$(sources_of "$target")
  # shellcheck disable=SC2086  # one word per source
  clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -DFMT_HEADER_ONLY \
    -Icore -Icore/include -I"$build/include" "tests/fuzz/$target.cpp" $sources -o "$build/fuzz/$target"
  "$build/fuzz/$target" -max_total_time=$((minutes * 60)) -timeout=10 -print_final_stats=1 \
    -artifact_prefix="$build/fuzz/$target-" "$corpus"
done
