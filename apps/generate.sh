#!/bin/sh
# Runs the data generator of one application, compiled first when it is missing or out of date.
# usage: generate.sh APP_DIR [option]..   (see apps/NAME/gen --help)
set -u
app=$(cd "$1" && pwd -P) || exit 2
shift
apps=$(cd "$app/.." && pwd -P)
name=${app##*/}
dir=${REVET_BUILD_DIR:-$apps/../build}/gen
program=$dir/$name

fresh=1
for source in "$app/gen.cpp" "$apps"/*.hpp; do
  # A source as old as the program may be newer: file times are coarse.
  [ "$program" -nt "$source" ] || fresh=0
done

if [ "$fresh" = 0 ]; then
  mkdir -p "$dir" || {
    echo "gen: cannot create $dir; REVET_BUILD_DIR names another build folder" >&2
    exit 2
  }
  temporary=$program.$$
  trap 'rm -f "$temporary"' EXIT
  trap 'exit 130' INT TERM HUP
  # Contraction would make the data depend on the machine. CXX may hold a command with options.
  ${CXX:-c++} -O2 -std=c++20 -ffp-contract=off -I "$apps" -o "$temporary" "$app/gen.cpp" \
    -lboost_program_options || {
    echo "gen: cannot compile $app/gen.cpp" >&2
    exit 2
  }
  mv -f "$temporary" "$program" || exit 2
  trap - EXIT INT TERM HUP
fi
exec "$program" "$@"
