#!/bin/sh
# Recomputes the expected outputs of every example set, independently of Revet, and compares.
set -u
apps=$(cd "$(dirname "$0")" && pwd -P)
status=0
for set in "$apps"/*/data/*/; do
  [ -f "${set%/data/*}/gen.cpp" ] || continue
  "$apps/generate.sh" "${set%/data/*}" --verify "$set" || status=4
done
exit $status
