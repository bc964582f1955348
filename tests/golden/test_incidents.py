"""Recorded incidents: bundles of real jobs with real faults, their samples and their step times.

Two small ones are part of the repository; the others are skipped without EROICA_SHARED.
"""

import json
import statistics

import pytest

import eroica
import oracle

OWN = eroica.ROOT / "tests" / "data" / "incidents"
DATA = eroica.SHARED / "data"
MAX_PATTERN_BYTES = 30_000

OWN_BUNDLES = sorted(p.parent for p in OWN.glob("*/bundle.json"))
SHARED_BUNDLES = sorted(
    p.parent for part in ("incidents", "megatron-cpu", "simulated") for p in (DATA / part).glob("*/bundle.json")
)


def name_of(folder):
    return "/".join(folder.parts[-2:])


BUNDLES = [pytest.param(p, id=f"own-{p.name}") for p in OWN_BUNDLES] + [
    pytest.param(p, id=name_of(p)) for p in SHARED_BUNDLES
] or [pytest.param(None, marks=pytest.mark.skip(reason="no bundles"))]
if not SHARED_BUNDLES:
    BUNDLES.append(
        pytest.param(None, id="shared", marks=pytest.mark.skip(reason=f"no bundles in {DATA} (set EROICA_SHARED)"))
    )

_documents = {}


def document(folder):
    if folder not in _documents:
        _documents[folder] = eroica.analyze(folder)
    return _documents[folder]


def contents(folder):
    return json.loads((folder / "bundle.json").read_text())


def sample_files(folder):
    bundle = contents(folder)
    named = bundle.get("samples", []) + [h["samples"] for h in bundle["hosts"] if "samples" in h]
    return sorted({folder / n for n in named})


def by_rank(rows):
    return {row["rank"]: row for row in rows}


def own_work(folder):
    """Milliseconds per step that each rank spends on anything but waiting in a collective."""
    ranks = document(folder)["profile"]["time"]["ranks"]
    return {r["rank"]: sum(v for k, v in r["ms_per_step"].items() if k != "communication") for r in ranks}


def top_functions(folder, rank, count, kind=None):
    """The functions that explain most of a rank's time, most first."""
    found = []
    for f in document(folder)["profile"]["functions"]:
        here = [r["exposed_ms_per_step"] for r in f["ranks"] if r["rank"] == rank]
        if here and kind in (None, f["kind"]):
            found.append((here[0], f))
    return [f for _, f in sorted(found, key=lambda x: -x[0])[:count]]


@pytest.mark.parametrize("folder", BUNDLES)
def test_every_rank_is_read_without_defects(folder):
    bundle, doc = contents(folder), document(folder)
    assert {k: v for k, v in doc["import"]["defects"].items() if v} == {}
    assert doc["job"] == {"id": bundle["job"]["id"], "world_size": bundle["job"]["world_size"]}
    time = by_rank(doc["profile"]["time"]["ranks"])
    assert {r: row["host"] for r, row in time.items()} == {r["rank"]: r["host"] for r in bundle["ranks"]}
    assert doc["coverage"]["ranks_expected"] == doc["coverage"]["ranks_seen"] == len(bundle["ranks"])
    assert doc["coverage"]["hosts_seen"] == len(bundle["hosts"])


@pytest.mark.parametrize(
    "folder", [p for p in BUNDLES if p.id and ("busy" in p.id or "slow-t" in p.id or "bond" in p.id)]
)
def test_counts_and_sums_of_every_category(folder):
    sums = {}
    events = text_bytes = 0
    for rank in contents(folder)["ranks"]:
        trace = oracle.read(folder / rank["trace"])
        events += len(trace.events)
        text_bytes += trace.text_bytes
        for category, (count, total) in oracle.category_sums(trace).items():
            before = sums.get(category, (0, 0))
            sums[category] = (before[0] + count, before[1] + total)
    read = document(folder)["import"]
    assert {c: (v["count"], v["total_ns"]) for c, v in read["categories"].items() if v["count"]} == sums
    assert (read["events"], read["bytes"]) == (events, text_bytes)


@pytest.mark.parametrize("folder", BUNDLES)
def test_window_is_the_bundles(folder):
    window = contents(folder).get("window")
    if window is None:
        return
    for rank in document(folder)["profile"]["time"]["ranks"]:
        assert rank["window_ms"] == pytest.approx(window["duration_ms"], abs=0.001)


@pytest.mark.parametrize("folder", BUNDLES)
def test_steps_are_those_that_the_job_measured(folder):
    """steps.json holds the durations of all steps as the job itself took them: the window's must be a run of them."""
    steps = document(folder)["profile"]["steps"]
    assert steps["source"] in ("profiler_step", "sequence")
    assert len(steps["ranks"]) == len(contents(folder)["ranks"])
    assert all(any(s["complete"] for s in r["steps"]) for r in steps["ranks"])
    if not (folder / "steps.json").exists():
        return
    measured = json.loads((folder / "steps.json").read_text())["step_seconds"]
    for rank in steps["ranks"]:
        found = [s["duration_ms"] for s in rank["steps"] if s["complete"]]
        job = [1000 * s for s in measured[rank["rank"]]]
        apart = min(
            (
                sorted(abs(a - b) for a, b in zip(found, job[i:], strict=False))
                for i in range(len(job) - len(found) + 1)
            ),
            key=statistics.median,
        )
        # The job stops its watch a little after the optimizer's end, so that what it does in between (zero_grad, a
        # checkpoint, a collection) counts to one step here and to the next there.
        assert statistics.median(apart) < 0.02 * statistics.median(found), (rank["rank"], apart)
        if folder.name not in ("checkpoint", "gc-pauses"):
            assert apart[-1] < 0.1 * max(found), (rank["rank"], apart)


@pytest.mark.parametrize("folder", BUNDLES)
def test_samples_reach_the_functions(folder):
    files = sample_files(folder)
    hardware = [h for f in document(folder)["profile"]["functions"] for h in f["hardware"]]
    if not files:
        assert hardware == []
        return
    series = {}
    for path in files:
        for e in json.loads(oracle.text_of(path))["traceEvents"]:
            if e["ph"] == "C":
                (unit,) = e["args"]
                series[str(e["pid"]), e["name"]] = unit
    assert hardware
    for h in hardware:
        assert series[h["entity"], h["metric"]] == h["unit"]
    for rank in contents(folder)["ranks"]:
        assert any(h["rank"] == rank["rank"] and h["entity"] == f"rank {rank['rank']}" for h in hardware)


@pytest.mark.parametrize("folder", BUNDLES)
def test_patterns_are_small_and_say_the_same(folder, tmp_path):
    done = eroica.run("summarize", folder, "-o", tmp_path)
    assert done.status == 0, done.err
    ranks = [r["rank"] for r in contents(folder)["ranks"]]
    sizes = {r: (tmp_path / f"rank{r}.eroica").stat().st_size for r in ranks}
    assert max(sizes.values()) <= MAX_PATTERN_BYTES, sizes
    for form in ("json", "text"):
        from_traces = eroica.run("analyze", folder, "--format", form, "--color", "never")
        from_patterns = eroica.run("analyze", tmp_path, "--format", form, "--color", "never")
        assert from_patterns.status == from_traces.status
        assert from_patterns.out == from_traces.out


@pytest.mark.parametrize("folder", [p for p in BUNDLES if "own" in p.id])
def test_same_input_same_bytes(folder):
    runs = [eroica.run("analyze", folder, "--format", "json", "--jobs", jobs) for jobs in (1, 2, 3)]
    assert runs[0].out == runs[1].out == runs[2].out


# What the truth of each incident says must be visible in where the time went.


def incident(name):
    for folder in (OWN / name, DATA / "incidents" / name, DATA / "megatron-cpu" / name):
        if folder.is_dir():
            return folder
    pytest.skip(f"no recording {name} in {DATA} (set EROICA_SHARED)")


def test_slow_transform_shows_the_function_and_its_line():
    folder = incident("slow-transform")
    (first,) = top_functions(folder, 1, 1, "python")
    assert "augment" in first["name"]
    assert first["file"].endswith(".py") and first["line"] > 0
    assert not any("augment" in f["name"] for r in (0, 2, 3) for f in top_functions(folder, r, 20))
    others = [ms for rank, ms in own_work(folder).items() if rank != 1]
    assert own_work(folder)[1] > 1.5 * max(others)


def test_busy_neighbours_leave_one_rank_waiting_for_its_core():
    folder = incident("busy-neighbours")
    waits = {}
    for f in document(folder)["profile"]["functions"]:
        for h in f["hardware"]:
            if h["metric"] == "cpu.runnable_wait" and h["entity"] == f"rank {h['rank']}":
                waits.setdefault(h["rank"], []).append(h["mean"])
    longest = {rank: max(means) for rank, means in waits.items()}
    assert max(longest, key=longest.get) == 0, longest
    others = [ms for rank, ms in own_work(folder).items() if rank != 0]
    assert own_work(folder)[0] > 1.2 * max(others)


def test_quota_slows_the_work_of_one_rank():
    work = own_work(incident("cgroup-quota"))
    assert work[2] > 2 * max(ms for rank, ms in work.items() if rank != 2), work


def test_slow_kernel_shows_more_operators_on_one_rank():
    folder = incident("slow-kernel")
    compute = {r["rank"]: r["ms_per_step"]["compute"] for r in document(folder)["profile"]["time"]["ranks"]}
    assert compute[3] > 1.5 * max(ms for rank, ms in compute.items() if rank != 3), compute


def test_slow_disk_shows_in_the_dataloader():
    times = by_rank(document(incident("slow-disk"))["profile"]["time"]["ranks"])
    fetch = {r: t["fetch_ms_per_step"]["median"] for r, t in times.items()}
    assert fetch[3] > 3 * max(ms for rank, ms in fetch.items() if rank != 3), fetch


def test_healthy_ranks_are_alike():
    for name in ("healthy-1", "healthy-2"):
        work = own_work(incident(name))
        assert max(work.values()) < 1.5 * min(work.values()), work


def test_validation_shows_on_every_rank():
    folder = incident("validation-on-all")
    for rank in range(4):
        words = [f["name"] + " ".join(f["path"]) for f in top_functions(folder, rank, 3, "python")]
        assert any("validate_inputs" in w for w in words), (rank, words)


def test_megatron_slow_python_shows_the_function():
    folder = incident("slow_python")
    (first, *_) = top_functions(folder, 5, 3, "python")
    assert "burn" in first["name"]
