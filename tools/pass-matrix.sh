#!/usr/bin/env bash
# Runs the apps with every combination of optimisations on and off (tests/pass_matrix.py).
#   tools/pass-matrix.sh [APP..]    default: all eight apps
set -euo pipefail
case "${1:-}" in --help | -h) sed -n '2,3s/^# //p' "$0"; exit 0 ;; esac
source "$(dirname "${BASH_SOURCE[0]}")/build-revet.sh"
apps=("$@")
[ $# -gt 0 ] || apps=(isipv4 ip2int murmur3 hash-table search huff-dec huff-enc kD-tree)
exec python3 "$root/tests/pass_matrix.py" --revet "$build/bin/revet" "${apps[@]/#/$root/apps/}"
