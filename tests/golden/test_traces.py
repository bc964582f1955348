"""Every public Kineto trace at hand, read by the product and by the slow reader.

The traces are not part of the repository; without them (see EROICA_SHARED) these tests are skipped.
    pytest --update-golden    writes the text reports as they are now to expected/
"""

import functools
from pathlib import Path

import pytest

import eroica
import oracle

EXPECTED = Path(__file__).resolve().parent / "expected"
FOLDER = eroica.SHARED / "data" / "traces"
OTHER_FORMATS = {"op-timeline-ST", "jax-cpu-slow-input"}  # not Kineto's JSON
# Whole folders are one job; the two of dataloader-ab and of cuda-h100 are different ones.
ONE_JOB = ["pair-of-128"]

MS = 1_000_000
LONGEST_NAME_BYTES = 4096
ROUNDING_MS = 0.002  # milliseconds are written with three decimals


def trace_names():
    if not FOLDER.is_dir():
        return []
    found = (p.relative_to(FOLDER) for p in FOLDER.glob("*/*.json.gz"))
    return sorted(str(p) for p in found if p.parts[0] not in OTHER_FORMATS)


NAMES = trace_names() or [pytest.param("", marks=pytest.mark.skip(reason=f"no traces at {FOLDER} (set EROICA_SHARED)"))]


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@functools.lru_cache(maxsize=1)  # some take a second and 500 MB; all tests of one trace run one after another
def truth(name):
    return oracle.read(FOLDER / name)


@functools.cache
def document(name):
    return eroica.analyze(FOLDER / name)


def only_rank(rows):
    assert len(rows) == 1
    return rows[0]


def step_spans(name):
    """(start, end) in ns of every step of the document, on the trace's own axis."""
    origin = oracle.window(truth(name))[0]
    steps = only_rank(document(name)["profile"]["steps"]["ranks"])["steps"]
    return [
        (origin + round(s["start_ms"] * MS), origin + round((s["start_ms"] + s["duration_ms"]) * MS)) for s in steps
    ]


def counted_steps(name):
    """Indices of the steps over which the document's means are taken."""
    steps = only_rank(document(name)["profile"]["steps"]["ranks"])["steps"]
    regular = [i for i, s in enumerate(steps) if s["complete"] and not s["irregular"]]
    return regular or list(range(len(steps)))


def test_counts_and_sums_of_every_category(name):
    read = document(name)["import"]
    got = {c: (v["count"], v["total_ns"]) for c, v in read["categories"].items() if v["count"]}
    assert got == oracle.category_sums(truth(name))
    assert read["events"] == len(truth(name).events)
    assert read["bytes"] == truth(name).text_bytes


def test_valid_json_has_no_defects(name):
    """What the json module takes is taken; only names beyond any use are cut."""
    longest = sum(len(e.name.encode()) > LONGEST_NAME_BYTES for e in truth(name).events)
    defects = {k: v for k, v in document(name)["import"]["defects"].items() if v}
    assert defects == ({"long_string": longest} if longest else {})


def test_window(name):
    start, end = oracle.window(truth(name))
    time = only_rank(document(name)["profile"]["time"]["ranks"])
    assert time["window_ms"] == pytest.approx((end - start) / MS, abs=ROUNDING_MS)


def test_profiler_steps(name):
    marks = oracle.profiler_steps(truth(name))
    section = document(name)["profile"]["steps"]
    assert (section["source"] == "profiler_step") == bool(marks)
    if not marks:
        return
    start, end = oracle.window(truth(name))
    expected = [(n, (a - start) / MS, (min(b, end) - a) / MS) for n, a, b in marks if a < end]
    steps = only_rank(section["ranks"])["steps"]
    got = [(s["number"], s["start_ms"], s["duration_ms"]) for s in steps]
    assert [n for n, _, _ in got] == [n for n, _, _ in expected]
    for g, e in zip(got, expected, strict=True):
        assert g == pytest.approx(e, abs=ROUNDING_MS)


def test_time_of_the_device_by_class(name):
    """Compute, memory and communication as interval arithmetic gives them, and nothing counted twice."""
    trace = truth(name)
    time = only_rank(document(name)["profile"]["time"]["ranks"])
    if time["per"] == "window":
        spans = [oracle.window(trace)]
        length = time["window_ms"]
    else:
        spans = [step_spans(name)[i] for i in counted_steps(name)]
        length = oracle.length(spans) / len(spans) / MS
    assert sum(time["ms_per_step"].values()) == pytest.approx(length, abs=10 * ROUNDING_MS)
    if not trace.of("kernel"):
        return  # a CPU job: operators are its compute
    for time_class, ns in oracle.exposed(trace, spans).items():
        assert time["ms_per_step"][time_class] == pytest.approx(ns / len(spans) / MS, abs=ROUNDING_MS), time_class


def test_dataloader_of_every_step(name):
    trace = truth(name)
    if not oracle.profiler_steps(trace):
        return
    steps = only_rank(document(name)["profile"]["steps"]["ranks"])["steps"]
    for step, (start, end) in zip(steps, step_spans(name), strict=True):
        assert step["fetch_ms"] == pytest.approx(oracle.fetch_time(trace, start, end) / MS, abs=ROUNDING_MS)


def test_dataloader_pair(shared):
    """The same training with no worker processes and with four."""

    def fetches(name):
        steps = only_rank(document(name)["profile"]["steps"]["ranks"])["steps"]
        return [s["fetch_ms"] for s in steps if s["complete"]]

    alone, with_workers = fetches("dataloader-ab/workers0.json.gz"), fetches("dataloader-ab/workers4.json.gz")
    assert len(alone) >= 5 and len(with_workers) >= 5
    assert (round(min(alone)), round(max(alone))) == (63, 73), alone
    assert (round(min(with_workers), 1), round(max(with_workers), 1)) == (0.1, 4.3), with_workers
    slow, fast = (only_rank(document(f"dataloader-ab/workers{n}.json.gz")["profile"]["time"]["ranks"]) for n in (0, 4))
    assert slow["ms_per_step"]["dataloader"] > 5 * fast["ms_per_step"]["dataloader"]


# Bound by launches, and its products use no tensor cores.
WITH_CLAIMS = {"cuda-v100-ddp-large/rank1.json.gz"}


def test_report(name, update_golden):
    """What a user sees, to the letter."""
    done = eroica.run("analyze", name, "--color", "never", cwd=FOLDER)
    assert done.status == (eroica.FOUND if name in WITH_CLAIMS else eroica.OK), done.out + done.err
    compare(name.replace("/", "-").removesuffix(".json.gz"), done.out, update_golden)


@pytest.mark.parametrize("job", ONE_JOB)
def test_report_of_a_job(job, shared, update_golden):
    done = eroica.run("analyze", job, "--color", "never", cwd=FOLDER)
    assert done.status == eroica.OK, done.err
    compare(job, done.out, update_golden)


def compare(name, report, update):
    path = EXPECTED / f"{name}.txt"
    if update:
        EXPECTED.mkdir(exist_ok=True)
        path.write_text(report)
    assert path.exists(), f"no {path.name} in expected/: run pytest --update-golden"
    assert report == path.read_text()
    assert max(map(len, report.splitlines())) <= 200
