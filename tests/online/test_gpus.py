"""GPUs in the windows of a real job: libraries that stand in for the vendor's play them (tests/stand_in)."""

import json
import os
from pathlib import Path

import pytest
from live_job import EROICA, needs_torch
from test_agent import place  # noqa: F401  a fixture

STAND_IN = Path(EROICA).resolve().parent / "stand_in" / "nvml"
HOST_PIDS = "pid:[4026531836]"

pytestmark = [
    needs_torch,
    pytest.mark.skipif(not STAND_IN.is_dir(), reason="no stand-ins were built"),
    pytest.mark.skipif(os.readlink("/proc/self/ns/pid") != HOST_PIDS, reason="processes have no numbers of the host"),
]

GPUS = """
device GPU-11 00000000:17:00.0 NVIDIA H100 80GB HBM3
process_file {folder}/gpu0
set sm_mhz 0 1980
set celsius 0 88
set reasons 0 64
set field.269 0 0
set field.270 0 0 1000 500000000000
device GPU-22 00000000:2a:00.0 NVIDIA H100 80GB HBM3
process_file {folder}/gpu1
set sm_mhz 0 1980
set celsius 0 50
set reasons 0 0
"""


def pids_of_ranks(place):
    pids = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for rank in range(2):
            if str(place.stop_file).encode() in command and b"RANK=%d" % rank in environment:
                pids[rank] = int(folder.name)
    return pids


def window_with(place, script):
    """The kept bundle of a window, with its samples; rank 0 computes on GPU 1, rank 1 on GPU 0."""
    (place.folder / "gpus").write_text(GPUS.format(folder=place.folder) + script)
    place.environment.update(LD_LIBRARY_PATH=str(STAND_IN), EROICA_STAND_IN=str(place.folder / "gpus"))
    job = place.run("--keep", str(place.folder / "kept"))
    place.has_steps(5)
    pids = pids_of_ranks(place)
    (place.folder / "gpu0").write_text("%d 70000000000\n" % pids[1])
    (place.folder / "gpu1").write_text("%d 70000000000\n1 1000\n" % pids[0])
    place.trigger()
    (kept,) = (place.folder / "kept").iterdir()
    assert place.end(job) == 0, place.log()
    return json.loads((kept / "bundle.json").read_text()), json.loads((kept / "samples.json").read_text())


def test_counters_of_the_ranks_gpus(place):  # noqa: F811
    bundle, samples = window_with(place, "")
    assert [(rank["gpu"], rank["labels"]["gpu_model"]) for rank in bundle["ranks"]] == [
        (1, "NVIDIA H100 80GB HBM3"), (0, "NVIDIA H100 80GB HBM3")]
    host = bundle["ranks"][0]["host"]
    series = {}
    for event in samples["traceEvents"]:
        if "/gpu " in event["pid"]:
            (value,) = event["args"].values()
            series.setdefault((event["pid"], event["name"]), []).append((event["ts"], value))
    assert {entity for entity, _ in series} == {"host %s/gpu 0" % host, "host %s/gpu 1" % host}
    assert {value for _, value in series["host %s/gpu 0" % host, "gpu.temperature"]} == {88}
    assert series["host %s/gpu 1" % host, "gpu.foreign_processes"][-1][1] == 1
    assert series["host %s/gpu 0" % host, "gpu.foreign_processes"][-1][1] == 0
    held = series["host %s/gpu 0" % host, "gpu.throttle_thermal"]
    seconds = sum(value * (at - before) * 1e-6 for (before, _), (at, value) in zip(held, held[1:]))
    assert seconds == pytest.approx(0.5 * (held[-1][0] - held[0][0]) * 1e-6, rel=0.02)
    # They cover the window.
    begin_us = (bundle["window"]["start_unix_ns"] - samples["baseTimeNanoseconds"]) / 1e3
    assert held[0][0] <= begin_us and held[-1][0] >= begin_us + bundle["window"]["duration_ms"] * 1e3
    assert not [what for what in bundle.get("not_sampled", []) if "GPU" in what]


def test_a_library_that_hangs_costs_its_signals_alone(place):  # noqa: F811
    bundle, samples = window_with(place, "hang nvmlDeviceGetTotalEccErrors\n")
    assert "NVIDIA GPUs (nvmlDeviceGetTotalEccErrors does not come back)" in bundle["not_sampled"]
    assert {event["name"] for event in samples["traceEvents"]} >= {"cpu.run", "cpu.main_thread_run"}
