"""What bench/gpu_check.sh saw, in words: which signals came, how often, within which bounds; exit status 0 if all did."""

import collections
import gzip
import json
import sys
from pathlib import Path

# What every data-centre GPU of Ampere and later is thought to tell.
EXPECTED = {"gpu.sm_clock", "gpu.mem_clock", "gpu.power", "gpu.power_limit", "gpu.temperature", "gpu.throttle_thermal",
            "gpu.throttle_power", "gpu.throttle_brake", "gpu.clock_locked", "gpu.pcie_generation", "gpu.pcie_width",
            "gpu.pcie_transmit", "gpu.pcie_receive", "gpu.pcie_replay", "gpu.ecc", "gpu.remapped_rows"}
FINE = {"gpu.sm_active", "gpu.tensor_active", "gpu.dram_active"}


def read_json(path):
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def look_at(folder, expected):
    problems = []
    kept = sorted((folder / "kept").glob("*-window-*")) if (folder / "kept").is_dir() else []
    if not kept:
        return ["%s: no window was kept" % folder.name]
    bundle = read_json(kept[0] / "bundle.json")
    print("%s: not sampled: %s" % (folder.name, "; ".join(bundle.get("not_sampled", [])) or "nothing"))
    print("%s: the sampler took %.3f cores" % (folder.name, bundle.get("sampler_cores", 0)))
    for rank in bundle["ranks"]:
        print("%s: rank %d is on GPU %s, %s" % (folder.name, rank["rank"], rank.get("gpu"), rank.get("labels", {}).get("gpu_model")))
        if "trace" not in rank:
            problems.append("%s: rank %d wrote no trace" % (folder.name, rank["rank"]))
            continue
        events = read_json(kept[0] / rank["trace"])["traceEvents"]
        kernels = sum(event.get("cat") == "kernel" for event in events)
        print("%s: %d events, %d kernels in the trace" % (folder.name, len(events), kernels))
        if kernels == 0:
            problems.append("%s: no kernels in the trace" % folder.name)
    series = collections.defaultdict(list)
    for event in read_json(kept[0] / "samples.json")["traceEvents"]:
        if "/gpu " in event["pid"]:
            series[event["pid"], event["name"]].append((event["ts"], *event["args"].values()))
    for (entity, name), samples in sorted(series.items()):
        values = [value for _, value in samples]
        span_s = (samples[-1][0] - samples[0][0]) / 1e6
        print("%s: %-26s %-24s %5d samples, %6.1f a second, %.6g to %.6g, mean %.6g" % (
            folder.name, entity, name, len(values), (len(values) - 1) / span_s if span_s > 0 else 0,
            min(values), max(values), sum(values) / len(values)))
    for name in sorted(expected - {name for _, name in series}):
        problems.append("%s: %s was not told" % (folder.name, name))
    return problems


def main():
    out = Path(sys.argv[1])
    problems = look_at(out / "driver", EXPECTED) + look_at(out / "pm_sampling", EXPECTED | FINE)
    print("\n".join("PROBLEM " + problem for problem in problems) or "all was seen")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
