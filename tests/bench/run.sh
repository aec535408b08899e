#!/usr/bin/env bash
# Compares emitted OpenMP code with code written by hand, for the eight applications.
usage() {
  cat <<'END'
usage: tests/bench/run.sh [option].. [APP]..
Prints the median times of code written by hand and of the code that `revet compile -p openmp`
emits, and their ratio, as a Markdown table. Both run in one process on the same buffers, in turn.

  --threads N      host threads of both (default: all)
  --count N        dataflow threads (default: 1000000; 100000 for search, huff-dec, huff-enc, kD-tree)
  --rounds N       measured runs of each (default: 9)
  --max-ratio R    exit with status 1 when a ratio is above R
  --baseline-only  only check and measure the code written by hand; needs no revet
  --help           print this

Environment: CXX, the compiler (default c++); REVET_BUILD_DIR, the build folder (default: build).
Exit status: 1 a ratio is too high, 2 something cannot be built or read, 4 outputs differ.
END
}

set -u
here=$(cd "$(dirname "$0")" && pwd -P)
root=$(cd "$here/../.." && pwd -P)
build=${REVET_BUILD_DIR:-$root/build}
all=(isipv4 ip2int murmur3 hash-table search huff-dec huff-enc kD-tree)
apps=()
threads= count= rounds=9 max_ratio= baseline=

fail() {
  status=$1
  shift
  echo "run.sh: error: $*" >&2
  exit "$status"
}

need_number() {
  case $2 in
    '' | *[!0-9]* | 0*) fail 2 "$1 takes a number from 1 on, not '$2'" ;;
  esac
}

while [ $# -gt 0 ]; do
  case $1 in
    --help) usage; exit 0 ;;
    --baseline-only) baseline=1 ;;
    --threads | --count | --rounds | --max-ratio)
      [ $# -gt 1 ] || fail 2 "$1 needs a value"
      case $1 in
        --threads) need_number "$1" "$2"; threads=$2 ;;
        --count) need_number "$1" "$2"; count=$2 ;;
        --rounds) need_number "$1" "$2"; rounds=$2 ;;
        --max-ratio)
          case $2 in
            '' | *[!0-9.]* | *.*.* | .) fail 2 "$1 takes a number, not '$2'" ;;
          esac
          max_ratio=$2 ;;
      esac
      shift ;;
    -*) fail 2 "unknown option '$1'; see --help" ;;
    *)
      case " ${all[*]} " in
        *" $1 "*) apps+=("$1") ;;
        *) fail 2 "unknown application '$1'; there are: ${all[*]}" ;;
      esac ;;
  esac
  shift
done
[ ${#apps[@]} -gt 0 ] || apps=("${all[@]}")
[ -z "$threads" ] || export OMP_NUM_THREADS="$threads"

mkdir -p "$build/bench" || fail 2 "cannot create $build/bench"
flags=(-std=c++20 -O3 -march=native -fopenmp -ffp-contract=off -fwrapv -fno-strict-aliasing
       -fno-math-errno)
revet=$build/bin/revet
runtime=$root/core/runtime/include
[ -n "$baseline" ] || [ -x "$revet" ] ||
  fail 2 "there is no $revet; build first, or use --baseline-only"
table=$build/bench/table.md

echo "| app | threads | by hand (ms) | emitted (ms) | ratio | by hand (GB/s) | emitted (GB/s) |" >"$table"
echo "|---|--:|--:|--:|--:|--:|--:|" >>"$table"

for app in "${apps[@]}"; do
  dir=$build/bench/$app
  mkdir -p "$dir" || fail 2 "cannot create $dir"
  case $app in
    search | huff-* | kD-tree) size=${count:-100000} ;;
    *) size=${count:-1000000} ;;
  esac

  # Generators are deterministic: data of the same size from the same generator is still good.
  data=$dir/data-$size
  fresh=1
  for source in "$root/apps/$app/gen.cpp" "$root"/apps/*.hpp; do
    [ "$data/complete" -nt "$source" ] || fresh=0
  done
  if [ $fresh = 0 ]; then
    echo "$app: generating data for $size threads" >&2
    "$root/apps/$app/gen" --out "$data" --count "$size" || fail 2 "$app: no data"
    : >"$data/complete"
  fi

  echo "$app: compiling" >&2
  if [ -n "$baseline" ]; then
    ${CXX:-c++} "${flags[@]}" -DREVET_BENCH_BASELINE_ONLY -o "$dir/bench" "$here/$app.cpp" ||
      fail 2 "$app: the code written by hand does not compile"
  else
    "$revet" compile "$root/apps/$app/$app.rvt" -p openmp -o "$dir/$app.cpp" ||
      fail 2 "$app: revet compile failed"
    ${CXX:-c++} "${flags[@]}" -I "$dir" -I "$runtime" -o "$dir/bench" "$here/$app.cpp" "$dir/$app.cpp" ||
      fail 2 "$app: the emitted code does not compile"
  fi

  echo "$app: running" >&2
  line=$("$dir/bench" "$data" "$rounds")
  status=$?
  [ $status -eq 0 ] || fail $status "$app: not measured"
  echo "$app $line" | awk '{
    row = sprintf("| %s | %d | %.2f |", $1, $2, $4 * 1000)
    if ($5 == "-") printf "%s - | - | %.2f | - |\n", row, $3 / $4 / 1e9
    else printf "%s %.2f | %.2f | %.2f | %.2f |\n", row, $5 * 1000, $5 / $4, $3 / $4 / 1e9, $3 / $5 / 1e9
  }' >>"$table"
done

cat "$table"
[ -z "$baseline" ] || exit 0
awk -F '[| ]+' -v limit="$max_ratio" '
  NR > 2 && $6 + 0 > max { max = $6 + 0; app = $2 }
  END {
    printf "\nLargest ratio: %.2f (%s)\n", max, app
    if (limit != "" && max > limit + 0) exit 1
  }' "$table"
