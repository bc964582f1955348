"""What is said of every recorded incident is right, whatever the clocks say and by whatever way the patterns came."""

import json
import re
import sys

import pytest

import eroica
import oracle

sys.path.insert(0, str(eroica.ROOT / "bench" / "incidents"))

from judge import judge, truth_of  # noqa: E402

OWN = eroica.ROOT / "tests" / "data" / "incidents"
DATA = eroica.SHARED / "data"
CASES = [pytest.param(p.parent, id=f"own-{p.parent.name}") for p in sorted(OWN.glob("*/truth.json"))] + [
    pytest.param(p.parent, id=f"{part}/{p.parent.name}")
    for part in ("incidents", "megatron-cpu", "simulated")
    for p in sorted((DATA / part).glob("*/truth.json"))
]
if not DATA.is_dir():
    CASES.append(pytest.param(None, id="shared", marks=pytest.mark.skip(reason=f"no {DATA} (set EROICA_SHARED)")))

# By machine, in turn: how far its clock is off, and how much faster it runs.
CLOCKS = [(0, 0), (10_000_000, 200), (-1_700_000_000, -200), (3_600_000_000_000, 117)]  # ns, ppm

_documents = {}


def document(folder):
    if folder not in _documents:
        _documents[folder] = eroica.analyze(folder)
    return _documents[folder]


def contents(folder):
    return json.loads((folder / "bundle.json").read_text())


def assert_right(folder, diagnoses):
    host_of = {rank["rank"]: rank["host"] for rank in contents(folder)["ranks"]}
    truth = truth_of(json.loads((folder / "truth.json").read_text()), host_of)
    verdict = judge(diagnoses, truth, host_of)
    said = [(each["cause"], each["ranks"], each["scope"], each["function"]) for each in diagnoses]
    assert verdict.right, (verdict.why, said)
    assert verdict.false_accusations == [], said


@pytest.mark.parametrize("folder", CASES)
def test_is_right(folder):
    doc = document(folder)
    assert doc["healthy"] == (doc["diagnoses"] == [])
    assert_right(folder, doc["diagnoses"])
    for claim in doc["diagnoses"]:
        assert 0.5 <= claim["confidence"] <= 1 and claim["evidence"] and claim["action"]
        assert 0 < claim["lost_ms_per_step"] < doc["profile"]["steps"]["median_ms"]
    if json.loads((folder / "truth.json").read_text()).get("scope") == "all":
        assert doc["diagnoses"][0]["scope"] == "all"


@pytest.mark.parametrize("folder", CASES)
def test_patterns_say_the_same(folder, tmp_path):
    done = eroica.run("summarize", folder, "-o", tmp_path, "--pack")
    assert done.status == 0, done.err
    from_patterns = eroica.analyze(tmp_path)
    for part in ("diagnoses", "hints", "victims", "what_if"):
        assert from_patterns[part] == document(folder)[part]


def by_another_clock(text, start_ns, shift_ns, ppm):
    """The trace or samples as a clock would have written them that is off by `shift_ns` and runs `ppm` faster."""
    (base,) = re.findall(rb'"baseTimeNanoseconds": ?(\d+)', text)
    since_base = start_ns - int(base)

    def time(match):
        key, value = match.groups()
        ns = oracle.nanoseconds(value.decode())
        ns += ((ns - since_base) if key == b"ts" else ns) * ppm // 1_000_000
        return b'"%s":%d.%03d' % (key, ns // 1000, ns % 1000)

    text = re.sub(rb'"(ts|dur)": ?(\d+(?:\.\d+)?)', time, text)
    return re.sub(rb'("baseTimeNanoseconds": ?)\d+', rb"\g<1>%d" % (int(base) + shift_ns), text)


def samples_of_host(folder, bundle, host):
    """The samples that the host took, as one document: entities are named after it or after its ranks."""
    files = bundle.get("samples", []) + [host["samples"]] if "samples" in host else bundle.get("samples", [])
    ranks = {f"rank {r['rank']}" for r in bundle["ranks"] if r["host"] == host["name"]}
    own = re.compile(rf"host {re.escape(host['name'])}(/|$)")
    merged = None
    for file in files:
        doc = json.loads(oracle.text_of(folder / file))
        doc["traceEvents"] = [
            e for e in doc["traceEvents"] if own.match(str(e["pid"])) or str(e["pid"]).split("/")[0] in ranks
        ]
        assert merged is None, "one file of samples a host"
        merged = doc
    return None if merged is None else json.dumps(merged).encode()


def copy_with_clocks(folder, target, clocks):
    """A copy in which every host is a machine of its own, with its own clock. Names no window: it would be by one of
    the clocks only."""
    target.mkdir()
    bundle = contents(folder)
    # Any instant of the window will do: where all clocks are right, but for their offset.
    start_ns = bundle.pop("window", {}).get("start_unix_ns", 1_700_000_000_000_000_000)
    clock_of = {}
    for i, host in enumerate(bundle["hosts"]):
        host.pop("machine", None)
        clock_of[host["name"]] = clocks[i % len(clocks)]
        samples = samples_of_host(folder, bundle, host)
        host.pop("samples", None)
        if samples is not None:
            host["samples"] = f"samples-{host['name']}.json"
            (target / host["samples"]).write_bytes(by_another_clock(samples, start_ns, *clock_of[host["name"]]))
    bundle.pop("samples", None)
    for rank in bundle["ranks"]:
        text = oracle.text_of(folder / rank["trace"])
        rank["trace"] = f"rank{rank['rank']}.json"
        (target / rank["trace"]).write_bytes(by_another_clock(text, start_ns, *clock_of[rank["host"]]))
    (target / "bundle.json").write_text(json.dumps(bundle))


@pytest.mark.parametrize("name", ["incidents/slow-transform", "simulated/bond-degraded"])
def test_clocks_do_not_matter(name, shared, tmp_path):
    folder = shared / name
    copy_with_clocks(folder, tmp_path / "right", [(0, 0)])
    copy_with_clocks(folder, tmp_path / "wrong", CLOCKS)
    right = eroica.analyze(tmp_path / "right")["diagnoses"]
    wrong = eroica.analyze(tmp_path / "wrong")["diagnoses"]
    assert right
    assert_right(folder, right)

    def told(claims):
        return [{k: c[k] for k in ("cause", "scope", "ranks", "hosts", "component", "function")} for c in claims]

    assert told(wrong) == told(right)
    for a, b in zip(wrong, right, strict=True):
        assert a["lost_ms_per_step"] == pytest.approx(b["lost_ms_per_step"], rel=0.02)
