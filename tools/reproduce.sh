#!/usr/bin/env bash
# Writes docs/reproduce.md: the figures and tables of the paper, each with its command.
#   tools/reproduce.sh [--simulate]    --simulate: also what is simulated, which takes minutes
set -euo pipefail
case "${1:-}" in --help | -h) sed -n '2,3s/^# //p' "$0"; exit 0 ;; esac
source "$(dirname "${BASH_SOURCE[0]}")/build-revet.sh"
python3 "$root/tools/reproduce.py" --revet "$build/bin/revet" "$@"
echo "docs/reproduce.md"
