#!/usr/bin/env bash
# Measures everything, prints the tables and refreshes docs/performance.md.
#   bench/run.sh [--bytes N] [--dry-run]
# --bytes: size of the largest trace (2e9); --dry-run: print only. Needs some 7 GB of disk for traces (build/bench or
# EROICA_BENCH_DIR), the release build, and a machine that does nothing else. Takes about five minutes.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

bytes=2e9
dry=()
while [ $# -gt 0 ]; do
  case $1 in
    --bytes) bytes=$2; shift 2 ;;
    --dry-run) dry=(--dry-run); shift ;;
    *) sed -n '2,5s/^# \{0,1\}//p' "$0"; [ "$1" = --help ] && exit 0 || exit 64 ;;
  esac
done

# make_venv FOLDER REQUIREMENTS: once for each content of REQUIREMENTS.
make_venv() {
  cmp -s "$2" "$1/installed.txt" && return
  rm -rf "$1"
  python3 -m venv "$1"
  "$1/bin/python3" -m pip install -q --disable-pip-version-check -r "$2"
  cp "$2" "$1/installed.txt"
}

mkdir -p build
make_venv build/venv-bench bench/requirements.txt
make_venv build/venv-hta bench/requirements-hta.txt
python=build/venv-bench/bin/python3
$python bench/speed.py --bytes "$bytes"
$python bench/hta.py
$python bench/write_report.py "${dry[@]}"
