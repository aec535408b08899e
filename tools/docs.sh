#!/usr/bin/env bash
# Writes docs/reference/*.md from the tables of the program that was built. Run it after a change of
# an option, a pass, a backend, an op or a machine; a test compares.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${REVET_BUILD_DIR:-$root/build}

mkdir -p "$root/docs/reference"
for page in passes ops backends options machine; do
  "$build/bin/revet" reference "$page" >"$root/docs/reference/$page.md"
done
