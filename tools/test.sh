#!/usr/bin/env bash
# Installs the packages, builds everything and runs all tests. Arguments go to ctest.
#   REVET_BUILD_DIR  build folder (default: build)
#   REVET_SANITIZE   e.g. address,undefined: build and test with sanitizers
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${REVET_BUILD_DIR:-$root/build}
jobs=$(nproc)

REVET_SETUP=test
source "$root/tools/setup.sh"
if [ -z "${REVET_SANITIZE:-}" ]; then
  (cd "$root" && find core frontend sim plugins backends apps tests \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' \) \
    -print0 | xargs -0 clang-format --dry-run -Werror)
fi
cmake -S "$root" -B "$build" -G Ninja -DREVET_TESTS=ON -DREVET_SANITIZE="${REVET_SANITIZE:-}"
cmake --build "$build" --parallel "$jobs"
ctest --test-dir "$build" --output-on-failure --parallel "$jobs" "$@"
