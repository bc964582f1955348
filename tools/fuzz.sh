#!/usr/bin/env bash
# Runs every libFuzzer target of the asan preset for SECONDS_EACH seconds.
#   tools/fuzz.sh SECONDS_EACH [TARGET...]
# Starts from fuzz/corpus/TARGET; what it finds is kept in build/fuzz/found/TARGET, a failing
# input in build/fuzz/failed.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

seconds=$1
shift
targets=("$@")
if [ $# -eq 0 ]; then
  targets=()
  for path in build/asan/targets/*; do [ ! -x "$path" ] || targets+=("${path##*/}"); done
fi
[ ${#targets[@]} -gt 0 ] || { echo "no fuzz targets"; exit 0; }

fuzz_one() {
  local target=$1 log=build/fuzz/$1.log
  local corpora=("build/fuzz/found/$target")
  mkdir -p "${corpora[0]}" build/fuzz/failed
  [ ! -d "fuzz/corpus/$target" ] || corpora+=("fuzz/corpus/$target")
  if "build/asan/targets/$target" "-max_total_time=$seconds" -timeout=20 -rss_limit_mb=2048 \
    "-artifact_prefix=build/fuzz/failed/$target-" "${corpora[@]}" >"$log" 2>&1 </dev/null; then
    echo "$target: $(tail -n 1 "$log")"
  else
    tail -n 60 "$log"
    echo "$target: FAILED, the input is kept in build/fuzz/failed (log: $log)"
    return 1
  fi
}

export -f fuzz_one
export seconds
printf '%s\0' "${targets[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'fuzz_one "$1"' _
