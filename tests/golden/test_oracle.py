"""The slow reader and the maker of traces against each other: both were written from the definitions."""

import pytest

import oracle
import synth


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"array": True},
        {"absolute": True},
        {"pairs": True},
        {"times": "string"},
        {"times": "whole"},
        {"rank_at": "after"},
        {"shuffle": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", synth.KINDS)
def test_oracle_finds_what_was_made(kind, form):
    made = synth.KINDS[kind](rank=1)
    trace = oracle.parse(made.text(**form))
    expected = {c: (n, made.sums()[c]) for c, n in made.counts().items()}
    assert oracle.category_sums(trace) == expected


@pytest.mark.parametrize("kind", ["gpu", "amd", "old_schema"])
def test_oracle_exposes_what_was_laid_out(kind):
    made = synth.KINDS[kind](rank=1)
    trace = oracle.parse(made.text())
    assert oracle.window(trace) == (made.steps[0].start, made.steps[-1].start + made.steps[-1].duration)
    for (number, start, end), step in zip(oracle.profiler_steps(trace), made.steps, strict=True):
        assert (number, start, end - start) == (step.number, step.start, step.duration)
        assert oracle.fetch_time(trace, start, end) == step.fetch
        assert oracle.exposed(trace, [(start, end)]) == made.exposed_per_step


def test_interval_arithmetic():
    assert oracle.union([(5, 7), (1, 3), (3, 4), (6, 9), (2, 2)]) == [(1, 4), (5, 9)]
    assert oracle.subtract([(0, 10)], [(2, 3), (5, 12)]) == [(0, 2), (3, 5)]
    assert oracle.subtract([(0, 2), (4, 6)], [(1, 5)]) == [(0, 1), (5, 6)]
    assert oracle.intersect([(0, 5), (7, 9)], [(3, 8)]) == [(3, 5), (7, 8)]
    assert oracle.length([(0, 5), (7, 9)]) == 7
