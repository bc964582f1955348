"""What `eroica analyze` says: figures that the traces were made with, one document for all ways in and out."""

import gzip
import json
import re

import jsonschema
import pytest
from conftest import ROOT, STEPS, make_trace, write_trace

SCHEMA = json.loads((ROOT / "docs/diagnosis.schema.json").read_text())


def document(eroica, *arguments):
    result = eroica("analyze", *arguments, "--format", "json")
    assert result.returncode in (0, 1), result.stderr
    parsed = json.loads(result.stdout)
    assert (result.returncode == 0) == parsed["healthy"]
    jsonschema.validate(parsed, SCHEMA, jsonschema.Draft202012Validator)
    return parsed


def test_schema_is_a_schema_and_closed():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"schema": "eroica.diagnosis/1"}, SCHEMA)


def test_document_tells_what_the_traces_were_made_of(eroica, job):
    doc = document(eroica, job)
    (claim,) = doc["diagnoses"]
    assert doc["healthy"] is False and claim["cause"] == "code.slow_function" and claim["ranks"] == [2]
    assert claim["lost_ms_per_step"] == pytest.approx(6, rel=0.05)
    assert claim["function"]["name"] == "augment" and claim["function"]["line"] == 40
    assert doc["victims"] == [0, 1, 3]
    assert doc["coverage"]["ranks_expected"] == doc["coverage"]["ranks_seen"] == 4
    assert doc["import"]["events"] == 4 * 6 * STEPS
    assert sum(doc["import"]["defects"].values()) == 0
    assert doc["budget"] == {"coverage": 1.0, "resolution": "function", "interference_ms": None, "yield": 1.0}
    steps = doc["profile"]["steps"]
    assert steps["source"] == "sequence"
    assert steps["median_ms"] == pytest.approx(20, rel=0.01)
    data = doc["profile"]["time"]["over_ranks"]["dataloader"]
    assert data["max_rank"] == 2
    assert data["max_ms_per_step"] == pytest.approx(8, rel=0.1)
    assert data["median_ms_per_step"] == pytest.approx(2, rel=0.1)
    for rank in doc["profile"]["time"]["ranks"]:
        assert rank["ms_per_step"]["compute"] == pytest.approx(5, rel=0.05)
        assert sum(rank["share"].values()) == pytest.approx(1, abs=0.001)


def test_functions_and_collectives(eroica, job):
    profile = document(eroica, job)["profile"]
    by_name = {row["name"]: row for row in profile["functions"]}
    product = by_name["aten::mm"]
    assert product["exposed_ms_per_step"]["median"] == pytest.approx(5, rel=0.05)
    assert product["executions_per_step"] == pytest.approx(1, rel=0.15)
    augment = next(row for name, row in by_name.items() if "augment" in name)
    assert augment["file"].endswith("train.py") and augment["line"] == 40
    assert augment["total_ms_per_step"]["max_rank"] == 2
    (all_reduce,) = profile["collectives"]
    assert all_reduce["kind"] == "all_reduce"
    assert all_reduce["count_per_step"] == pytest.approx(1)
    assert all_reduce["bytes_per_step"] == 1_000_000
    assert all_reduce["gigabytes_per_s"] == pytest.approx(1_000_000 / 5e6, rel=0.05)


def test_text_fits_a_screen_and_begins_with_what_matters(eroica, job):
    result = eroica("analyze", job)
    assert result.returncode == 1 and result.stderr == ""
    lines = result.stdout.splitlines()
    assert re.match(r"1  .* — rank 2 · lost 6\.\d+ ms of (20|19\.\d) ms a step", lines[0])
    assert any(re.match(r"4 ranks.* · \d+ steps · median (20\.0|19\.\d) ms \(p95 ", line) for line in lines)
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert "train.py:40" in result.stdout
    assert "\x1b" not in result.stdout


def test_text_without_utf8_is_ascii(eroica, job):
    result = eroica("analyze", job, env={"LC_ALL": "C"})
    assert result.stdout.isascii() and "4 ranks" in result.stdout


def test_colour_only_when_asked_for(eroica, job):
    assert "\x1b[" in eroica("analyze", job, "--color", "always").stdout
    assert "\x1b[" not in eroica("analyze", job, "--color", "never").stdout


def test_rank_narrows_and_shows_its_steps(eroica, job):
    result = eroica("analyze", job, "--rank", "2")
    assert "Steps of rank 2" in result.stdout
    profile = document(eroica, job, "--rank", "2", "--rank", "3")["profile"]
    assert [rank["rank"] for rank in profile["time"]["ranks"]] == [2, 3]
    assert {row["rank"] for f in profile["functions"] for row in f["ranks"]} <= {2, 3}
    assert document(eroica, job, "--rank", "2,3")["profile"] == profile


def test_function_shows_all_of_it(eroica, job):
    result = eroica("analyze", job, "--function", "augment")
    assert "augment" in result.stdout and "called by" in result.stdout
    (row,) = document(eroica, job, "--function", "augment")["profile"]["functions"]
    (same,) = document(eroica, job, "--function", row["id"])["profile"]["functions"]
    assert row == same
    assert row["path"]


def test_top_limits_the_list(eroica, job):
    profile = document(eroica, job, "--top", "1")["profile"]
    assert len(profile["functions"]) == 1 and profile["functions_left_out"] > 0
    assert document(eroica, job, "--top", "0")["profile"]["functions_left_out"] == 0


def test_jobs_and_order_of_the_paths_change_nothing(eroica, job):
    one = eroica("analyze", job, "--format", "json", "--jobs", "1").stdout
    four = eroica("analyze", job, "--format", "json", "-j", "4").stdout
    files = sorted(job.iterdir(), reverse=True)
    assert one == four == eroica("analyze", *files, "--format", "json").stdout


def test_html_is_one_file_with_the_document(eroica, job, tmp_path):
    page = tmp_path / "report.html"
    assert eroica("analyze", job, "--format", "html", "-o", page).returncode == 1
    text = page.read_text()
    embedded = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL).group(1)
    assert json.loads(embedded) == document(eroica, job)
    assert not re.search(r'(?:src|href)\s*=\s*"?https?:', text)


@pytest.mark.parametrize("pack", [False, True])
def test_patterns_give_the_same_document_as_traces(eroica, job, tmp_path, pack):
    patterns = tmp_path / "patterns"
    options = ["--pack"] if pack else []
    assert eroica("summarize", job, "-o", patterns, *options).returncode == 0
    files = sorted(path.name for path in patterns.iterdir())
    if pack:
        assert files == ["host-unknown.eroica"]
    else:
        assert files == ["names.eroica", *(f"rank{rank}.eroica" for rank in range(4))]
        assert all((patterns / f"rank{rank}.eroica").stat().st_size <= 30_000 for rank in range(4))
    for form in ("json", "text", "html"):
        from_traces = eroica("analyze", job, "--format", form)
        from_patterns = eroica("analyze", patterns, "--format", form)
        assert from_patterns.returncode == from_traces.returncode == 1, from_patterns.stderr
        assert from_traces.stdout == from_patterns.stdout


def test_pattern_file_alone_finds_its_names(eroica, job, tmp_path):
    eroica("summarize", job, "-o", tmp_path / "p")
    doc = document(eroica, tmp_path / "p/rank2.eroica")
    assert any(row["name"] == "aten::mm" for row in doc["profile"]["functions"])
    assert any("ranks 0-1, 3 of 4" in note for note in doc["profile"]["notes"])


def test_summarize_again_gives_the_same_bytes(eroica, job, tmp_path):
    eroica("summarize", job, "-o", tmp_path / "a")
    eroica("summarize", job, "-o", tmp_path / "b", "--jobs", "1")
    eroica("summarize", tmp_path / "a", "-o", tmp_path / "c")
    contents = [{p.name: p.read_bytes() for p in (tmp_path / f).iterdir()} for f in "abc"]
    assert contents[0] == contents[1] == contents[2]


def test_ranks_from_the_path(eroica, tmp_path):
    for k in (3, 5):
        trace = make_trace(0)
        del trace["distributedInfo"]
        write_trace(tmp_path / f"gizmo{k}-of-many.json", trace)
    doc = document(eroica, tmp_path, "--rank-from", r"gizmo(\d+)-")
    assert [rank["rank"] for rank in doc["profile"]["time"]["ranks"]] == [3, 5]


def test_step_marker(eroica, job):
    doc = document(eroica, job, "--step-marker", "gloo:all_re*")
    assert doc["profile"]["steps"]["source"] == "marker"


def test_no_steps_is_said(eroica, tmp_path):
    trace = make_trace(0, world_size=1)
    trace["traceEvents"] = [e for e in trace["traceEvents"] if e["cat"] == "cpu_op"]
    path = write_trace(tmp_path / "plain.json", trace)
    doc = document(eroica, path)
    assert doc["profile"]["steps"]["source"] == "window"
    assert doc["profile"]["steps"]["median_ms"] is None
    assert any("no steps were found" in note for note in doc["profile"]["notes"])
    assert "no steps found" in eroica("analyze", path).stdout


def test_recorded_incidents_validate_and_patterns_agree(eroica, shared, tmp_path):
    for incident in ("healthy-1", "slow-transform"):
        folder = shared / "incidents" / incident
        doc = document(eroica, folder)
        assert doc["coverage"]["ranks_seen"] == 4 and doc["coverage"]["hosts_seen"] == 4
        assert doc["job"]["id"] == incident
        assert doc["profile"]["steps"]["complete"] >= 5
        patterns = tmp_path / incident
        assert eroica("summarize", folder, "-o", patterns, "--pack").returncode == 0
        assert sorted(p.name for p in patterns.iterdir()) == [f"host-h{k}.eroica" for k in range(4)]
        assert document(eroica, patterns) == doc
        assert len(eroica("analyze", folder).stdout.splitlines()) <= 40


def test_dataloader_pair(eroica, shared):
    def fetch(name):
        doc = document(eroica, shared / "traces/dataloader-ab" / name)
        steps = doc["profile"]["steps"]["ranks"][0]["steps"]
        return [step["fetch_ms"] for step in steps if step["complete"]]

    without, with_workers = fetch("workers0.json.gz"), fetch("workers4.json.gz")
    assert without and all(62 <= ms <= 74 for ms in without)
    assert with_workers and all(0.05 <= ms <= 4.4 for ms in with_workers)


def test_export_merges_chosen_ranks_and_times(eroica, job, tmp_path):
    plain, packed = tmp_path / "part.json", tmp_path / "part.json.gz"
    choice = ["--rank", "0,2", "--from", "40", "--to", "100"]
    for target in (plain, packed):
        result = eroica("export", "--perfetto", job, "-o", target, *choice)
        assert result.returncode == 0, result.stderr
        assert result.stdout == ""
    text = plain.read_bytes()
    assert gzip.decompress(packed.read_bytes()) == text
    events = json.loads(text)["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert len({event["pid"] for event in slices}) == 2
    assert max(e["ts"] + e["dur"] for e in slices) - min(e["ts"] for e in slices) <= 60_000.1
