"""Traces with known truth, in every form that traces come in."""

import gzip
import json
import subprocess

import pytest

import eroica
import synth

MS = 1_000_000
ROUNDING_MS = 0.002

FORMS = {
    "plain": {},
    "array": {"array": True},
    "absolute times beyond 2^53 ns": {"absolute": True},
    "whole microseconds": {"times": "whole"},
    "times as strings": {"times": "string"},
    "B and E": {"pairs": True},
    "rank after the events": {"rank_at": "after"},
    "no rank": {"rank_at": None},
    "unsorted": {"shuffle": 7},
    "one line": {"separator": ","},
}


def write(folder, made, name=None, form=None):
    path = folder / (name or f"rank{made.rank}.json")
    path.write_bytes(made.text(**(form or {})))
    return path


def categories(document):
    return {c: (v["count"], v["total_ns"]) for c, v in document["import"]["categories"].items() if v["count"]}


def truth(*traces):
    return {
        c: (sum(t.counts()[c] for t in traces), sum(t.sums()[c] for t in traces)) for t in traces for c in t.counts()
    }


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("kind", synth.KINDS)
def test_every_form_of_every_kind(kind, form, tmp_path):
    made = synth.KINDS[kind](rank=2)
    document = eroica.analyze(write(tmp_path, made, form=form))
    assert categories(document) == truth(made)
    assert {k: v for k, v in document["import"]["defects"].items() if v} == {}

    (steps,) = document["profile"]["steps"]["ranks"]
    complete = [s for s in steps["steps"] if s["complete"]]
    period = made.steps[0].duration / MS
    # Where steps are found by what repeats, the first or last one may be cut by the window's edge.
    assert len(made.steps) - 2 <= len(complete) <= len(made.steps)
    for step in complete:
        assert step["duration_ms"] == pytest.approx(period, abs=ROUNDING_MS)
        assert step["fetch_ms"] == pytest.approx(made.steps[0].fetch / MS, abs=ROUNDING_MS)
    (time,) = document["profile"]["time"]["ranks"]
    for time_class, ns in made.exposed_per_step.items():
        assert time["ms_per_step"][time_class] == pytest.approx(ns / MS, abs=ROUNDING_MS), time_class


def test_profiler_steps_keep_their_numbers(tmp_path):
    made = synth.gpu()
    document = eroica.analyze(write(tmp_path, made))
    (steps,) = document["profile"]["steps"]["ranks"]
    assert [s["number"] for s in steps["steps"] if s["complete"]] == [s.number for s in made.steps]


@pytest.mark.parametrize("kind", ["gpu", "gloo", "megatron"])
def test_order_of_the_events_does_not_matter(kind, tmp_path):
    made = synth.KINDS[kind](rank=1)
    outputs = set()
    for seed in (None, 1, 2, 3):
        path = write(tmp_path, made, form={"shuffle": seed})
        outputs.add(eroica.run("analyze", path, "--format", "json").out)
    assert len(outputs) == 1


def test_compression_is_told_by_content(tmp_path):
    text = synth.gpu().text()
    third = len(text) // 3
    forms = {
        "plain": text,
        "gzip": gzip.compress(text, mtime=0),
        "gzip of three members": b"".join(
            gzip.compress(text[i : i + third + 1], mtime=0) for i in range(0, len(text), third + 1)
        ),
        "zstd": subprocess.run(["zstd", "-qc"], input=text, stdout=subprocess.PIPE, check=True).stdout,
    }
    outputs = set()
    for compressed in forms.values():
        path = tmp_path / "rank0.json"
        path.write_bytes(compressed)
        outputs.add(eroica.run("analyze", path, "--format", "json").out)
    assert len(outputs) == 1


def test_ranks_of_a_folder_and_the_slow_one(tmp_path):
    """One rank spends 60 ms more in its dataset: that rank, that function, that file and line."""
    for rank in range(4):
        write(tmp_path, synth.gloo(rank, steps=6, slow_ns=60 * MS if rank == 2 else 0))
    document = eroica.analyze(tmp_path)
    fetch = {r["rank"]: r["fetch_ms_per_step"]["median"] for r in document["profile"]["time"]["ranks"]}
    assert fetch == pytest.approx({0: 10, 1: 10, 2: 70, 3: 10}, abs=ROUNDING_MS)
    (getitem,) = [f for f in document["profile"]["functions"] if "__getitem__" in f["name"]]
    assert getitem["exposed_ms_per_step"]["max_rank"] == 2
    assert (getitem["file"].split("/")[-1], getitem["line"]) == ("train.py", 12)


@pytest.mark.parametrize("kind", synth.KINDS)
def test_collectives_and_their_numbers(kind, tmp_path):
    made = synth.KINDS[kind](rank=0)
    collectives = eroica.analyze(write(tmp_path, made))["profile"]["collectives"]
    count = sum(r["count"] for c in collectives for r in c["ranks"])
    # The last one may begin in a step that the window's edge cuts.
    assert count == made.collectives_per_step * len(made.steps)
    if kind == "gpu":
        (c,) = collectives
        assert (c["kind"], c["group_size"], c["bytes_per_step"]) == ("all_reduce", synth.WORLD, 4000)
        assert c["duration_us"]["p50"] == pytest.approx(20_000, rel=1 / 32)
        assert c["exposed_ms_per_step"] == pytest.approx(13, abs=ROUNDING_MS)


@pytest.mark.parametrize("kind", synth.KINDS)
def test_patterns_say_the_same(kind, tmp_path):
    traces, patterns = tmp_path / "traces", tmp_path / "patterns"
    traces.mkdir()
    for rank in range(2):
        write(traces, synth.KINDS[kind](rank=rank))
    assert eroica.run("summarize", traces, "-o", patterns).status == 0
    assert max(p.stat().st_size for p in patterns.glob("rank*.eroica")) <= 30_000
    assert json.loads(eroica.run("analyze", patterns, "--format", "json").out) == eroica.analyze(traces)


def test_a_pattern_stays_small_however_long_the_trace(tmp_path):
    write(tmp_path, synth.gpu(steps=400))
    assert eroica.run("summarize", tmp_path, "-o", tmp_path / "patterns").status == 0
    assert (tmp_path / "patterns" / "rank0.eroica").stat().st_size <= 30_000
