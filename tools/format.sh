#!/usr/bin/env bash
# Formats the C++ sources; with --check only names the files that differ.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

folders=()
for folder in src tests fuzz bench; do [ ! -d $folder ] || folders+=("$folder"); done
sources() { find "${folders[@]}" \( -name '*.h' -o -name '*.cc' \) -print0; }

if [ "${1:-}" = --check ]; then
  clang-format-16 --version
  { sources | xargs -0r clang-format-16 --dry-run --Werror 2>&1 || true; } |
    sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error:.*/\1/p' | sort -u >build/unformatted.txt
  [ ! -s build/unformatted.txt ] || { cat build/unformatted.txt; echo "not formatted: run tools/format.sh"; exit 1; }
else
  sources | xargs -0r clang-format-16 -i
fi
