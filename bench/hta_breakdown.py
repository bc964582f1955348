"""What is compared with: HolisticTraceAnalysis' temporal and kernel breakdown of some traces.

hta_breakdown.py OUT TRACE…      runs in build/venv-hta; the k-th trace is rank k
"""

import json
import sys
import time

started = time.monotonic()

from hta.trace_analysis import TraceAnalysis  # noqa: E402

imported = time.monotonic()


def main():
    out, traces = sys.argv[1], sys.argv[2:]
    # All steps, as the product does it; left alone, HTA drops the last one.
    analysis = TraceAnalysis(trace_files=dict(enumerate(traces)), trace_dir="", include_last_profiler_step=True)
    temporal = analysis.get_temporal_breakdown(visualize=False)
    kinds, kernels = analysis.get_gpu_kernel_breakdown(
        visualize=False, duration_ratio=1.0, num_kernels=100_000, include_memory_kernels=True
    )
    done = time.monotonic()
    with open(out, "w") as f:
        json.dump(
            {
                "import_seconds": imported - started,
                "seconds": done - imported,
                "temporal": json.loads(temporal.to_json(orient="records")),
                "kernels": json.loads(kernels.to_json(orient="records")),
            },
            f,
        )


if __name__ == "__main__":
    main()
