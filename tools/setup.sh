#!/usr/bin/env bash
# Installs what Revet is built and tested with (Debian 12). Sourced by demo.sh and test.sh; does
# nothing where everything is there already.
set -euo pipefail

packages=(g++ cmake ninja-build antlr4 libantlr4-runtime-dev libboost-dev libboost-filesystem-dev
          libboost-program-options-dev libtomlplusplus-dev libfmt-dev nlohmann-json3-dev)
if [ "${REVET_SETUP:-test}" = test ]; then
  packages+=(catch2 python3 clang-format graphviz dpkg-dev file)
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  sudo=""
  [ "$(id -u)" = 0 ] || sudo="sudo"
  echo "Installing: ${missing[*]}"
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
