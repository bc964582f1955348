"""The benchmark's large traces are what it says they are: the same events again, at other times, with other ids."""

import sys

import pytest

import eroica
import oracle
import synth

sys.path.insert(0, str(eroica.ROOT / "bench"))
import grow_trace  # noqa: E402


@pytest.mark.parametrize("kind", synth.KINDS)
def test_repetitions(kind, tmp_path):
    made = synth.KINDS[kind](rank=1)
    once = oracle.parse(made.text())
    grow_trace.Template(made.text()).write(tmp_path / "grown.json", 3, rank=5, world_size=8)
    grown = oracle.read(tmp_path / "grown.json")

    assert oracle.category_sums(grown) == {c: (3 * n, 3 * ns) for c, (n, ns) in oracle.category_sums(once).items()}
    if made.distributed:
        assert (grown.metadata["distributedInfo"]["rank"], grown.metadata["distributedInfo"]["world_size"]) == (5, 8)

    steps = oracle.profiler_steps(once)
    assert len({n for n, _, _ in oracle.profiler_steps(grown)}) == 3 * len(steps)
    correlations = [e.args["correlation"] for e in once.of("kernel")]
    assert len({e.args["correlation"] for e in grown.of("kernel")}) == 3 * len(set(correlations))
    if steps:
        spans = [(a, b) for _, a, b in oracle.profiler_steps(grown)]
        assert oracle.exposed(grown, spans) == {c: 3 * len(steps) * ns for c, ns in made.exposed_per_step.items()}
