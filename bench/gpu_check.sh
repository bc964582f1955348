#!/usr/bin/env bash
# What of eroica's GPU evidence works on a machine with an NVIDIA GPU: NVML's counters, the hardware's own sampling
# (CUPTI) and traces on demand, on a small job. At most 10 minutes; everything that it saw is left in the folder OUT.
#
#   bench/gpu_check.sh [OUT]
#
# EROICA: the program (build/release/eroica); PYTHON: one with a torch that computes on CUDA (python3).
# Exit status: 0 all was seen, 1 something was not (summary.txt says what), 2 it could not be tried.
set -u
cd "$(dirname "$(readlink -f "$0")")/.."
OUT=${1:-${OUT:-build/gpu-check}}
EROICA=${EROICA:-build/release/eroica}
PYTHON=${PYTHON:-python3}
mkdir -p "$OUT"
[ -x "$EROICA" ] || { echo "no program at $EROICA (EROICA names it)"; exit 2; }
command -v nvidia-smi >/dev/null || { echo "no nvidia-smi: is there an NVIDIA GPU?"; exit 2; }

part() { # NAME SECONDS COMMAND…: a step with a limit; its output is kept
  local name=$1 limit=$2
  shift 2
  timeout -k 5 "$limit" "$@" >"$OUT/$name.out" 2>"$OUT/$name.err"
  echo "$name: exit status $?" | tee -a "$OUT/steps.txt"
}

: >"$OUT/steps.txt"
part nvidia-smi 20 nvidia-smi -q
part topology 20 nvidia-smi topo -m
part rights 5 sh -c 'grep -i Profiling /proc/driver/nvidia/params; id -u; readlink /proc/self/ns/pid'
part libraries 10 sh -c 'ldconfig -p | grep -E "libnvidia-ml|libcupti|libcuda\.so|libdcgm"'
part torch 60 "$PYTHON" -c 'import torch; print(torch.__version__, torch.version.cuda, torch.cuda.is_available())'
part doctor 120 "$EROICA" doctor --python "$PYTHON" --format json
part rules 30 "$EROICA" rules list --format json

# CUPTI comes with the toolkit, or with torch's packages.
CUPTI=$("$PYTHON" -c 'import glob, sys
for folder in sys.path:
    for found in glob.glob(folder + "/nvidia/**/lib/libcupti.so.1?", recursive=True):
        print(found.rsplit("/", 1)[0]); raise SystemExit' 2>/dev/null)
export LD_LIBRARY_PATH="${CUPTI:+$CUPTI:}/usr/local/cuda/lib64:/usr/local/cuda/extras/CUPTI/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

window() { # NAME GPUS: a window of a small job
  local folder=$OUT/$1
  rm -rf "$folder"
  mkdir -p "$folder"
  "$EROICA" policy show | sed "s/^gpus = .*/gpus = \"$2\"/; s/^warm_up_steps = .*/warm_up_steps = 5/" >"$folder/policy.toml"
  timeout -k 5 150 "$EROICA" run --policy "$folder/policy.toml" --job "gpu-check-$1" --keep "$folder/kept" -- \
    "$PYTHON" bench/gpu_check_job.py 120 >"$folder/run.out" 2>"$folder/run.err" &
  local run=$!
  for _ in $(seq 60); do # until it makes steps
    sleep 1
    "$EROICA" status "gpu-check-$1" --format json >"$folder/status.json" 2>/dev/null && grep -q '"step": [1-9][0-9]' "$folder/status.json" && break
    kill -0 $run 2>/dev/null || break
  done
  nvidia-smi --query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu,pcie.link.gen.current,pcie.link.width.current \
    --format=csv >"$folder/nvidia-smi.csv" 2>&1
  timeout 90 "$EROICA" trigger "gpu-check-$1" --window 2s --wait --format json >"$folder/diagnosis.json" 2>"$folder/trigger.err"
  echo "$1: trigger's exit status $?" | tee -a "$OUT/steps.txt"
  kill -TERM $run 2>/dev/null
  wait $run
}

window driver driver
window pm_sampling pm_sampling

"$PYTHON" bench/gpu_check_summary.py "$OUT" | tee "$OUT/summary.txt"
exit "${PIPESTATUS[0]}"
