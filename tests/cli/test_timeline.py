"""`eroica analyze` on operation timelines, with a baseline, and by other methods."""

import gzip
import json

import jsonschema
import pytest
from conftest import ROOT, make_trace, write_trace

SCHEMA = json.loads((ROOT / "docs/diagnosis.schema.json").read_text())
HEADER = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id"
METHODS = ["full", "eroica", "largest-total", "longest-collective"]


def document(eroica, *arguments):
    result = eroica("analyze", *arguments, "--format", "json")
    assert result.returncode in (0, 1), result.stderr
    parsed = json.loads(result.stdout)
    jsonschema.validate(parsed, SCHEMA, jsonschema.Draft202012Validator)
    assert (result.returncode == 0) == parsed["healthy"]
    return parsed


def timeline(dp=4, stages=2, steps=3, factor=lambda dp_rank, stage: 1.0):
    """Forward and backward of four micro-batches, one after another; no transfers."""
    lines = [HEADER]
    for dp_rank in range(dp):
        for stage in range(stages):
            for step in range(steps):
                at = 0.0
                for kind, seconds in (("forward-compute", 0.1), ("backward-compute", 0.2)):
                    for k in range(4):
                        took = seconds * factor(dp_rank, stage)
                        lines.append(f"{dp_rank},{stage},,{step},{kind},{at:.6f},{took:.6f},{k},0,{k}")
                        at += took
    return "\n".join(lines) + "\n"


def test_recorded_job_with_a_long_last_stage(eroica, shared):
    doc = document(eroica, shared / "traces/op-timeline-ST/trace-ST.csv")
    assert doc["job"] == {"id": "trace-ST", "world_size": 8}
    assert doc["timeline"]["s"] == pytest.approx(1.179, abs=0.001)
    assert doc["timeline"]["verdict"] == "last_stage_long"
    assert (doc["timeline"]["dp"], doc["timeline"]["stages"], doc["timeline"]["workers"]) == (2, 4, 8)
    (claim,) = doc["diagnoses"]
    assert claim["cause"] == "work.pipeline_imbalance" and claim["ranks"] == [6, 7]
    assert not any(each["cause"].startswith("gpu.") for each in doc["diagnoses"])
    assert doc["what_if"]["slowdown_even"] == doc["timeline"]["s"]
    assert {group["name"] for group in doc["peer_groups"]} == {f"stage {k}" for k in range(4)}
    text = eroica("analyze", shared / "traces/op-timeline-ST/trace-ST.csv").stdout
    assert "S = 1.179" in text and "last stage long" in text


def test_recorded_job_in_json(eroica, shared):
    doc = document(eroica, shared / "traces/op-timeline-ST/timeline-ST.json.gz")
    assert doc["timeline"]["verdict"] == "last_stage_long"
    assert doc["job"]["world_size"] == 8


def test_folder_with_two_timelines_is_ambiguous(eroica, shared):
    result = eroica("analyze", shared / "traces/op-timeline-ST")
    assert result.returncode == 2 and "trace-ST.csv" in result.stderr and "timeline-ST.json.gz" in result.stderr


@pytest.mark.parametrize("form", ["file", "folder", "gzip"])
def test_slow_worker(eroica, tmp_path, form):
    text = timeline(factor=lambda dp_rank, stage: 1.5 if (dp_rank, stage) == (2, 1) else 1.0)
    path = tmp_path / ("ops.csv.gz" if form == "gzip" else "ops.csv")
    path.write_bytes(gzip.compress(text.encode()) if form == "gzip" else text.encode())
    doc = document(eroica, tmp_path if form == "folder" else path)
    assert doc["job"]["id"] == "ops"
    (claim,) = doc["diagnoses"]
    assert claim["cause"] == "gpu.slow_unexplained" and claim["ranks"] == [5]  # dp 2, stage 1, two stages
    assert claim["confidence"] <= 0.6 and claim["alternatives"]
    assert claim["function"]["name"] == "backward-compute"
    assert 5 not in doc["victims"] and len(doc["victims"]) == 7


def test_even_timeline_is_healthy(eroica, tmp_path):
    (tmp_path / "even.csv").write_text(timeline())
    doc = document(eroica, tmp_path / "even.csv")
    assert doc["healthy"] and doc["timeline"]["verdict"] == "even"
    steps = doc["profile"]["steps"]
    assert steps["count"] == 3 and steps["median_ms"] == pytest.approx(1200, rel=1e-3)
    assert {row["name"] for row in doc["profile"]["functions"]} == {"forward-compute", "backward-compute"}


def test_bad_rows_are_counted_and_named(eroica, tmp_path):
    (tmp_path / "ops.csv").write_text(timeline() + "what,is,this\n")
    doc = document(eroica, tmp_path / "ops.csv")
    assert doc["import"]["defects"]["bad_event"] == 1
    assert any("ops.csv" in note for note in doc["profile"]["notes"])


def test_wrong_use_with_a_timeline(eroica, tmp_path):
    path = tmp_path / "ops.csv"
    path.write_text(timeline())
    assert eroica("analyze", path, "--method", "eroica").returncode == 64
    assert eroica("analyze", path, "--baseline", path).returncode == 64
    assert eroica("analyze", path, "-o", path).returncode == 64
    path.write_text(HEADER + "\n")
    result = eroica("analyze", path)
    assert result.returncode == 2 and str(path) in result.stderr


def test_baseline(eroica, job, tmp_path):
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    for rank in range(4):
        write_trace(earlier / f"rank{rank}.json", make_trace(rank))
    (earlier / "rank9.json").write_text('{"traceEvents": 5}')
    patterns = tmp_path / "patterns"
    assert eroica("summarize", earlier, "-o", patterns).returncode == 0
    doc = document(eroica, job, "--baseline", earlier)
    assert any(note.startswith("baseline: ") and "rank9.json" in note for note in doc["profile"]["notes"])
    assert doc["coverage"]["ranks_seen"] == 4
    assert document(eroica, job, "--baseline", patterns)["diagnoses"] == doc["diagnoses"]


def test_baseline_that_is_not_there(eroica, job, tmp_path):
    result = eroica("analyze", job, "--baseline", tmp_path / "nowhere")
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr.startswith("eroica: error: baseline: ") and "nowhere" in result.stderr
    assert eroica("analyze", job, "--method", "eroica", "--baseline", job).returncode == 64
    assert eroica("analyze", job, "--baseline", job / "rank0.json", "-o", job / "rank0.json").returncode == 64


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_a_document(eroica, job, method):
    doc = document(eroica, job, "--method", method)
    if method == "full":
        assert doc == document(eroica, job)
        return
    if method != "eroica":
        assert len(doc["diagnoses"]) == 1 and len(doc["diagnoses"][0]["ranks"]) == 1
    assert any(f"--method {method}" in note for note in doc["profile"]["notes"])


def test_unknown_method(eroica, job):
    result = eroica("analyze", job, "--method", "guess")
    assert result.returncode == 64
    assert "full, eroica, largest-total or longest-collective" in result.stderr
