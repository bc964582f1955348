"""Windows that end in a hang, as `eroica simulate` makes them."""

import json

import pytest

SEEDS = [3, 5]


def diagnosis(eroica, folder):
    result = eroica("analyze", folder, "--format", "json", "--quiet")
    return result.returncode, json.loads(result.stdout)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", ["rank", "process_dead", "process_stopped", "mismatch"])
def test_names_the_rank_that_others_wait_for(eroica, tmp_path, seed, fault):
    assert eroica("simulate", "--seed", seed, "--fault", f"blocked.{fault}", "--out", tmp_path).returncode == 0
    truth = json.loads((tmp_path / "truth.json").read_text())
    status, document = diagnosis(eroica, tmp_path)
    assert status == 1
    assert [claim["cause"] for claim in document["diagnoses"]] == [f"blocked.{fault}"]
    claim = document["diagnoses"][0]
    assert claim["ranks"] == truth["ranks"] == document["blocked"]["missing"]
    assert document["victims"] == document["blocked"]["waiting"]
    assert not set(truth["ranks"]) & set(document["victims"])
    if fault == "rank":
        stack = " ".join(document["blocked"]["stacks"])
        assert any(name in stack for name in truth["function_regex"].split("|"))


@pytest.mark.parametrize("fault", [None, "storage.checkpoint_stall", "python.gc_pause"])
def test_says_nothing_of_the_kind_else(eroica, tmp_path, fault):
    arguments = ["--fault", fault] if fault else []
    assert eroica("simulate", "--seed", 4, *arguments, "--out", tmp_path).returncode == 0
    _, document = diagnosis(eroica, tmp_path)
    assert "blocked" not in document
    assert not [claim for claim in document["diagnoses"] if claim["cause"].startswith("blocked.")]
