"""The benchmark's page: every section is filled in, and what stands outside the markers stays."""

import re

import pytest

import report


def said(right, why="", error=None, statements=((0.8, 1),)):
    return {
        "right": right,
        "first_right": right,
        "located": right,
        "why": why,
        "said": [],
        "false_accusations": [] if right else ["gpu.shared"],
        "claims": [{"cause": "gpu.shared"}] if statements else [],
        "hints": [],
        "statements": [list(s) for s in statements],
        "seconds": 0.1,
        "lost_error": error,
    }


def window(cause, healthy=False, **methods):
    return {"id": f"gpu/{cause}/1", "family": "gpu", "cause": cause, "healthy": healthy, "methods": methods}


@pytest.fixture
def results():
    good, bad = said(True, error=0.1), said(False, "wrong cause", statements=((0.7, 0), (0.2, 0)))
    return {
        "suite": [
            window("gpu.clock_locked", full=good, eroica=bad),
            window("gpu.clock_locked", full=bad, eroica=bad),
            window("nothing wrong", True, full=said(True, statements=()), eroica=bad),
            {"id": "gpu/x/2", "family": "gpu", "failed": "simulate ended with 1"},
        ],
        "calibration": [window("gpu.shared", full=good, eroica=bad), window("cpu.affinity", full=bad, eroica=good)] * 20,
        "setting": {
            "machine": "two cores",
            "command": "bench/incidents/run.sh",
            "date": "2026-01-02",
            "binary": "0123456789ab",
            "methods": ["full", "eroica"],
            "baseline": True,
            "jobs": 2,
            "minutes": 3.5,
        },
    }


def rows(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_methods_are_counted_apart(results):
    full, eroica = rows(report.methods_table(results))
    assert full[:2] == ["`full`", "1 of 2"] and full[5:7] == ["1 in 1", "0 of 1"]
    assert eroica[:2] == ["`eroica`", "0 of 2"] and eroica[5:7] == ["2 in 2", "1 of 1"]


def test_causes_say_what_goes_wrong(results):
    locked, nothing = rows(report.causes_table(results))
    assert locked == ["`gpu.clock_locked`", "1 of 2", "0 of 2", "1 wrong cause", "10 %"]
    assert nothing == ["nothing wrong", "1 of 1", "0 of 1", "", "–"]


def test_statements_of_the_streams(results):
    first = report.clusters(results, "full", "first")
    everything = report.clusters(results, "full", "all")
    assert len(first) == len(everything) == 40
    assert sum(map(len, first)) == 40 and sum(map(len, everything)) == 60


def test_failures_are_listed(results):
    assert rows(report.failures_table(results)) == [["`gpu/gpu.clock_locked/1`", "wrong cause", "`gpu.shared`"]]
    assert "1 could not be made or read" in report.setting_text(results)


def test_page_keeps_its_prose(results, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    before = report.PAGE.read_text()
    monkeypatch.setattr(report, "PAGE", tmp_path / "benchmark.md")
    monkeypatch.setattr(report, "IMAGES", tmp_path / "img")
    report.PAGE.write_text(before)
    report.write_page(results)
    once = report.PAGE.read_text()
    report.write_page(results)
    assert report.PAGE.read_text() == once

    def prose(page):
        return re.sub(r"(<!-- \w+: .*?-->\n).*?(<!-- end -->)", r"\1\2", page, flags=re.S)

    assert prose(once) == prose(before)
    assert "two cores" in once and "1 of 2" in once
    assert len(list((tmp_path / "img").glob("*.svg"))) == 3
