"""The suite is complete and well-formed, and its first cases run from end to end."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cases

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("EROICA") or ROOT / "build" / "release" / "eroica").resolve()


@pytest.fixture(scope="module")
def suite():
    return cases.suite()


@pytest.fixture(scope="module")
def faults():
    done = subprocess.run([BINARY, "simulate", "--list-faults"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("this binary cannot simulate")
    return [line.split()[0] for line in done.stdout.splitlines()]


def seed(case):
    return int(case.arguments[case.arguments.index("--seed") + 1])


def test_there_are_enough(suite):
    assert sum(not c.healthy for c in suite) >= 160
    assert sum(c.healthy for c in suite) >= 100


def test_every_simulated_cause_is_there_at_two_strengths(suite, faults):
    strengths = {}
    for c in suite:
        for fault in re.findall(r"--fault ([^ @:]+)", " ".join(c.arguments)):
            at = c.arguments.index("--strength") + 1 if "--strength" in c.arguments else None
            strengths.setdefault(fault, set()).add((seed(c), c.arguments[at] if at else None))
    assert set(faults) - {"healthy"} <= set(strengths)
    assert [f for f in faults if f != "healthy" and len(strengths[f]) < 2] == []
    # A hang has no strength.
    graded = [f for f in faults if not f.startswith(("blocked.", "benign.", "healthy"))]
    assert [f for f in graded if len({s for _, s in strengths[f]}) < 2] == []


def test_accepted_causes_exist(suite):
    page = (ROOT / "docs" / "rules.md").read_text()
    known = set(re.findall(r"^\| `([a-z0-9_]+\.[a-z0-9_]+)`", page, re.M))
    for c in suite:
        accept = c.expect.get("accept", [])
        assert {a for one in accept for a in (one if isinstance(one, list) else [one])} <= known, c.id


def test_seeds_are_used_once(suite, faults):
    streams = cases.calibration(faults)
    seeds = [seed(c) for c in suite + streams]
    assert len(set(seeds)) == len(seeds)
    assert min(seeds) >= 5_000_000  # tests use small ones
    assert len(streams) >= 1000


def run_bench(folder, *arguments):
    environment = os.environ | {"EROICA": str(BINARY), "EROICA_BENCH_DIR": str(folder)}
    command = [sys.executable, ROOT / "bench" / "incidents" / "run.py", "--method", "full", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [p.name for p in folder.iterdir()] == ["incidents-part.json"]  # no bundle is left
    return json.loads((folder / "incidents-part.json").read_text()), done.stdout


def test_first_cases_from_end_to_end(tmp_path, faults):
    """Four cases of --quick: some seconds; sanitizers and a busy machine take longer."""
    results, out = run_bench(tmp_path, "--quick", "--first", "4")
    assert len(results["suite"]) == 4
    for r in results["suite"]:
        assert {"right", "located", "claims", "statements"} <= set(r["methods"]["full"])
    assert "| method |" in out


def test_small_jobs_for_confidence_from_end_to_end(tmp_path, faults):
    results, out = run_bench(tmp_path, "--only", "^calibration/decidable/.*/710000[0-3]$")
    assert results["suite"] == [] and len(results["calibration"]) == 4
    for r in results["calibration"]:
        for confidence, right in r["methods"]["full"]["statements"]:
            assert 0 <= confidence <= 1 and right in (0, 1)
    assert "| method | of |" in out
