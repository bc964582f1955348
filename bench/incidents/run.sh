#!/usr/bin/env bash
# The open benchmark: simulated and recorded incidents, diagnosed and judged; refreshes docs/benchmark.md.
#   bench/incidents/run.sh [--quick] [--jobs N] [--method M] [--only REGEX]      (--help: all options)
# Needs the release build (or EROICA) and some 50 MB of disk in build/bench (or EROICA_BENCH_DIR). The whole suite takes
# up to an hour on two cores, --quick three minutes.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

venv=build/venv-bench
if ! cmp -s bench/requirements.txt $venv/installed.txt; then
  mkdir -p build
  rm -rf $venv
  python3 -m venv $venv
  $venv/bin/python3 -m pip install -q --disable-pip-version-check -r bench/requirements.txt
  cp bench/requirements.txt $venv/installed.txt
fi
exec $venv/bin/python3 bench/incidents/run.py "$@"
