"""What every benchmark needs: the binary, the source trace, where to work."""

import json
import os
import platform
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "golden"))

WORK = Path(os.environ.get("EROICA_BENCH_DIR") or ROOT / "build" / "bench")
BINARY = Path(os.environ.get("EROICA") or ROOT / "build" / "release" / "eroica").resolve()
SHARED = Path(os.environ.get("EROICA_SHARED") or ROOT.parent / "shared")
LARGE = SHARED / "data" / "traces" / "cuda-v100-ddp-large" / "rank1.json.gz"

MEMORY_PER_EVENT = 64
MEMORY_BASE = 64 << 20


def source_trace():
    """(name, text) of the trace that is repeated: a real one where there is one, else one that is made."""
    import oracle
    import synth

    if LARGE.exists():
        return "cuda-v100-ddp-large", oracle.text_of(LARGE)
    return "synthetic (no recorded traces at hand)", synth.gpu(rank=1, steps=400, kernels=100).text(separator=",\n")


def machine():
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{os.cpu_count()} cores ({model}), Linux {platform.release()}, Python {platform.python_version()}"


def memory_bound(events):
    return MEMORY_PER_EVENT * events + MEMORY_BASE


def save(name, results):
    WORK.mkdir(parents=True, exist_ok=True)
    (WORK / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n")
