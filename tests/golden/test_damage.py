"""Damaged, hostile and odd inputs: whatever can be used is used, and nothing ever crashes, hangs or grows.

Random places are drawn from a fixed seed; a failure names the trace and the place.
"""

import bisect
import gzip
import json
import os
import random
import subprocess
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

import eroica
import oracle
import synth

SEED = 20260829
PLACES = 12  # per trace and kind of damage
MEMORY_BYTES = 1 << 30  # address space, most of it never touched
TIMEOUT = 60

# "No crash": not ended by a signal, and a status that users are told of.
STATUSES = (eroica.OK, eroica.FOUND, eroica.UNUSABLE)


def run(path, **options):
    done = eroica.run("analyze", path, "--format", "json", timeout=TIMEOUT, memory_bytes=MEMORY_BYTES, **options)
    assert done.status in STATUSES, f"exit status {done.status}: {done.err[-2000:]}"
    return done


def events_of(done):
    """Timed events that were used; an unusable input must say something for people."""
    if done.status == eroica.UNUSABLE:
        assert done.err.strip()
        return 0, {}
    read = done.document()["import"]
    return read["events"], {k: v for k, v in read["defects"].items() if v}


@dataclass
class Sample:
    name: str
    text: bytes
    begin: int  # where the first event starts
    ends: list  # the end offset of every timed event, ascending

    def complete_before(self, offset):
        return bisect.bisect_right(self.ends, offset)


def sample(name, text):
    """Finds the events' places with the json module."""
    characters = text.decode("latin-1")  # one character a byte
    begin = characters.index("[", characters.index('"traceEvents"')) + 1
    decoder, at, ends = json.JSONDecoder(), begin, []
    while True:
        at += len(characters[at:]) - len(characters[at:].lstrip(" \n\r\t,")) if characters[at] in " \n\r\t," else 0
        if characters[at] == "]":
            return Sample(name, text, begin, ends)
        event, at = decoder.raw_decode(characters, at)
        if event.get("ph") == "X":
            ends.append(at)


def samples():
    yield sample("synthetic gpu", synth.gpu(rank=1).text())
    yield sample("synthetic gloo", synth.gloo(rank=1).text(separator=","))
    traces = eroica.SHARED / "data" / "traces"
    for name in (
        "gloo-cpu/rank34.json.gz",
        "pair-of-128/sampled_rank-0.json.gz",
        "cuda-sync/alexnet.json.gz",
        "hip-graph-decode/sglang_Qwen3-8B_decode.json.gz",
        "rocm-mi250/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    ):
        if (traces / name).exists():
            yield sample(name, oracle.text_of(traces / name))


SAMPLES = {s.name: s for s in samples()}


@pytest.fixture(params=SAMPLES)
def trace(request):
    return SAMPLES[request.param]


@pytest.fixture
def places(trace):
    """Random numbers that depend on nothing but the trace's name."""
    return random.Random(f"{SEED} {trace.name}")


def zstd(text):
    return subprocess.run(["zstd", "-qc"], input=text, stdout=subprocess.PIPE, check=True).stdout


# Cuts.


def test_cut_text(trace, places, tmp_path):
    path = tmp_path / "rank0.json"
    for _ in range(PLACES):
        cut = places.randrange(len(trace.text))
        path.write_bytes(trace.text[:cut])
        events, defects = events_of(run(path))
        kept = trace.complete_before(cut)
        assert kept <= events <= kept + 1, (cut, events, kept)  # the one that was cut may be usable
        if events:
            assert defects.get("truncated") == 1, (cut, defects)


def test_cut_gzip(trace, places, tmp_path):
    path = tmp_path / "rank0.json.gz"
    compressed = gzip.compress(trace.text, mtime=0)
    for _ in range(PLACES):
        cut = places.randrange(20, len(compressed))
        path.write_bytes(compressed[:cut])
        readable = zlib.decompressobj(31).decompress(compressed[:cut])
        events, defects = events_of(run(path))
        # Decoders differ in the last symbols that they give out.
        assert trace.complete_before(len(readable) - 600) <= events <= trace.complete_before(len(readable)) + 1, cut
        if events:
            assert defects.get("truncated") == 1, (cut, defects)


def test_cut_zstd(trace, places, tmp_path):
    path = tmp_path / "rank0.json.zst"
    # Small blocks, so that a cut leaves whole ones before it.
    part = max(1, len(trace.text) // 20)
    frames = [zstd(trace.text[i : i + part]) for i in range(0, len(trace.text), part)]
    compressed = b"".join(frames)
    for _ in range(PLACES):
        cut = places.randrange(20, len(compressed))
        whole = bisect.bisect_right([sum(map(len, frames[: i + 1])) for i in range(len(frames))], cut)
        path.write_bytes(compressed[:cut])
        events, defects = events_of(run(path))
        assert trace.complete_before(whole * part) <= events <= trace.complete_before((whole + 1) * part) + 1, cut


# Corruption.

NEIGHBOURHOOD = 3  # events that one damaged place may cost


def test_corrupt_text(trace, places, tmp_path):
    path = tmp_path / "rank0.json"
    for _ in range(PLACES):
        damaged = bytearray(trace.text)
        hits = sorted(places.randrange(trace.begin, trace.ends[-1]) for _ in range(places.choice([1, 1, 2, 5, 20])))
        for at in hits:
            damaged[at] = places.choice([0, 0x22, 0x5C, 0x7B, 0x7D, 0x5B, 0x5D, 0xFF, places.randrange(256)])
        path.write_bytes(damaged)
        events, _ = events_of(run(path))
        assert len(trace.ends) - NEIGHBOURHOOD * len(hits) <= events <= len(trace.ends) + len(hits), hits


def test_cut_out_of_the_middle(trace, places, tmp_path):
    """As when blocks of a file are lost."""
    path = tmp_path / "rank0.json"
    for _ in range(PLACES):
        start = places.randrange(trace.begin, trace.ends[-1])
        end = min(start + places.randrange(1, 20_000), trace.ends[-1])
        path.write_bytes(trace.text[:start] + trace.text[end:])
        events, _ = events_of(run(path))
        kept = trace.complete_before(start) + len(trace.ends) - trace.complete_before(end)
        assert kept - NEIGHBOURHOOD <= events <= kept + 1, (start, end, events, kept)


@pytest.mark.parametrize("compress", [gzip.compress, zstd], ids=["gzip", "zstd"])
def test_corrupt_compressed(trace, places, compress, tmp_path):
    path = tmp_path / "rank0.json"
    compressed = compress(trace.text)
    for _ in range(PLACES):
        damaged = bytearray(compressed)
        at = places.randrange(len(damaged))
        damaged[at] ^= places.randrange(1, 256)
        path.write_bytes(damaged)
        events, _ = events_of(run(path))
        before = 0
        if compress is gzip.compress and at > 20:
            before = trace.complete_before(len(zlib.decompressobj(31).decompress(compressed[:at])) - 600)
        assert before <= events, (at, events, before)


def test_corrupt_anywhere(trace, places, tmp_path):
    """The head, the lists of groups, the tail: here only that it ends well is asked for."""
    path = tmp_path / "rank0.json"
    for _ in range(PLACES):
        damaged = bytearray(trace.text)
        for _ in range(30):
            damaged[places.randrange(len(damaged))] = places.randrange(256)
        for _ in range(5):
            at = places.randrange(min(trace.begin, 5_000))
            damaged[at : at + places.randrange(3)] = bytes([places.choice(b'"{}[],:\\ 0e-')])
        path.write_bytes(damaged)
        run(path)


def test_damaged_patterns(tmp_path):
    places = random.Random(SEED)
    (tmp_path / "traces").mkdir()
    for rank in range(2):
        (tmp_path / "traces" / f"rank{rank}.json").write_bytes(synth.gpu(rank).text())
    patterns = tmp_path / "patterns"
    assert eroica.run("summarize", tmp_path / "traces", "-o", patterns).status == 0
    files = sorted(p for p in patterns.iterdir() if p.is_file())
    whole = {p: p.read_bytes() for p in files}
    for _ in range(6 * PLACES):
        path = places.choice(files)
        damaged = bytearray(whole[path])
        if places.random() < 0.5:
            del damaged[places.randrange(len(damaged)) :]
        else:
            damaged[places.randrange(len(damaged))] ^= places.randrange(1, 256)
        path.write_bytes(damaged)
        run(patterns)
        path.write_bytes(whole[path])


# Odd inputs made by hand.

X = '{"ph":"X","cat":"cpu_op","name":"%s","pid":1,"tid":1,"ts":%s,"dur":%s}'
GOOD = ",".join(X % (f"op{i}", 10 * i, 5) for i in range(10))


def wrap(events):
    return '{"traceEvents":[%s]}' % events


UNUSABLE = {
    "empty": b"",
    "blank": b" \n\t\n",
    "not JSON": b"this is no trace\n" * 100,
    "a number": b"42",
    "a string": b'"traceEvents"',
    "null": b"null",
    "empty object": b"{}",
    "an object without events": b'{"schemaVersion": 1, "deviceProperties": []}',
    "binary": bytes(range(256)) * 64,
    "zeros": bytes(100_000),
    "an ELF head": b"\x7fELF" + bytes(1000),
    "gzip of nothing": gzip.compress(b""),
    "a gzip head only": gzip.compress(b"")[:10],
    "HTML": b"<html><body>502 Bad Gateway</body></html>",
    "events that are no list": b'{"traceEvents": {"ph": "X"}}',
    "brackets": b"[" * 1_000_000,
    "braces": b'{"a":' * 200_000,
}

# name: (text, timed events that must be used, defects that must be counted)
USABLE = {
    "BOM": (b"\xef\xbb\xbf" + wrap(GOOD).encode(), 10, set()),
    "CRLF": (wrap(GOOD).replace(",", ",\r\n").encode(), 10, set()),
    "one event a line, array not closed": (("[\n" + GOOD.replace("},", "},\n")).encode(), 10, {"truncated"}),
    "trailing commas": (wrap(GOOD + ",").encode(), 10, None),
    "trailing garbage": (wrap(GOOD).encode() + b"\nkilled", 10, {"trailing_data"}),
    "two documents": (wrap(GOOD).encode() * 2, 10, {"trailing_data"}),
    "nan and inf": (
        wrap(
            GOOD
            + ","
            + X % ("odd", "nan", "inf")
            + ","
            + X % ("odd", "50", "-Infinity")
            + ',{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":60,"dur":5,'
            '"args":{"est. achieved occupancy %":nan,"x":-inf}}'
        ).encode(),
        11,
        None,
    ),
    "quotes in a name": (
        wrap(
            GOOD
            + ',{"ph":"X","cat":"cpu_op","name":"say "hi" to","pid":1,"tid":1,"ts":200,"dur":5},'
            + X % ("after", 210, 5)
        ).encode(),
        11,
        None,
    ),
    "control characters": (wrap(GOOD + "," + X % ("tab\there\nline", 300, 5)).encode(), 11, None),
    "bad UTF-8": (
        wrap(GOOD).encode()[:-2] + b"," + (X % ("NAME", 400, 5)).encode().replace(b"NAME", b"\xff\xfe\x80") + b"]}",
        11,
        None,
    ),
    "negative duration": (wrap(GOOD + "," + X % ("back", 500, -5)).encode(), 11, {"negative_duration"}),
    "huge numbers": (
        wrap(
            GOOD
            + ","
            + X % ("big", "1e300", 5)
            + ","
            + X % ("long", 600, "1" + "0" * 400)
            + ","
            + X % ("max", 2**63 - 1, 2**63 - 1)
        ).encode(),
        10,
        {"huge_value"},
    ),
    "times as strings": (wrap(GOOD + "," + X % ("text", '"700.5"', '"5"')).encode(), 11, set()),
    "wrong types everywhere": (
        wrap(
            GOOD
            + ","
            + X.replace("1,", "[1],", 1) % ("a", 800, 5)
            + ',{"ph":["X"],"ts":{},"dur":[]},{"ph":"X","name":5,"ts":true,"dur":null},17,"x",null,[],{}'
        ).encode(),
        10,
        None,
    ),
    "missing fields": (
        wrap(GOOD + ',{"ph":"X"},{"ph":"X","name":"n"},{"ph":"X","ts":1},{"name":"n","ts":1,"dur":1}').encode(),
        10,
        {"missing_field"},
    ),
    "duplicate keys": (
        ('{"traceEvents":[],"a":1,"a":2,"schemaVersion":1,"schemaVersion":1,"traceEvents":[%s]}' % GOOD).encode(),
        10,
        None,
    ),
    "deep arguments": (
        wrap(
            GOOD
            + ',{"ph":"X","cat":"cpu_op","name":"deep","pid":1,"tid":1,"ts":900,"dur":5,"args":'
            + '{"a":' * 100_000
            + "1"
            + "}" * 100_000
            + "},"
            + X % ("after", 910, 5)
        ).encode(),
        11,
        None,
    ),
    "deep metadata": (('{"deep":' + "[" * 100_000 + "]" * 100_000 + ',"traceEvents":[%s]}' % GOOD).encode(), 10, None),
    "a name of 3 MB": (
        wrap(GOOD + "," + X % ("n" * 3_000_000, 1000, 5) + "," + X % ("after", 1010, 5)).encode(),
        11,
        None,
    ),
    "B without E and E without B": (
        wrap(
            GOOD + ',{"ph":"B","cat":"cpu_op","name":"b","pid":1,"tid":2,"ts":1},{"ph":"E","pid":1,"tid":3,"ts":1}'
        ).encode(),
        10,
        {"unmatched_begin", "unmatched_end"},
    ),
    "100,000 threads": (
        wrap(
            GOOD
            + ","
            + ",".join(
                '{"ph":"X","cat":"cpu_op","name":"t","pid":1,"tid":%d,"ts":1,"dur":1}' % i for i in range(2, 100_002)
            )
        ).encode(),
        100_010,
        None,
    ),
    "200,000 names": (
        wrap(GOOD + "," + ",".join(X % (f"name{i}", i, 1) for i in range(200_000))).encode(),
        200_010,
        None,
    ),
    "counters with odd values": (
        wrap(
            GOOD + ',{"ph":"C","name":"m","pid":"GPU 0 Counters","ts":1,"args":{"":nan}},'
            '{"ph":"C","name":"m","ts":"x","args":{}},{"ph":"C","args":[1]},'
            '{"ph":"C","name":"m","pid":1,"ts":2,"args":{"a":1,"b":"c"}}'
        ).encode(),
        10,
        None,
    ),
    "no names at all": (wrap(GOOD + ',{"ph":"X","cat":"cpu_op","pid":1,"tid":1,"ts":1100,"dur":5}').encode(), 10, None),
}


@pytest.mark.parametrize("content", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_unusable_file_names_itself(content, tmp_path):
    path = tmp_path / "odd-input.json"
    path.write_bytes(content)
    done = run(path)
    assert done.status == eroica.UNUSABLE
    assert "odd-input.json" in done.err


@pytest.mark.parametrize("content", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_unusable_file_does_not_spoil_the_others(content, tmp_path):
    (tmp_path / "rank0.json").write_bytes(synth.gpu(0).text())
    (tmp_path / "rank1.json").write_bytes(content)
    done = run(tmp_path)
    assert done.status in (eroica.OK, eroica.FOUND), done.err
    document = done.document()
    assert [r["rank"] for r in document["profile"]["time"]["ranks"]] == [0]
    assert "rank1.json" in done.err + " ".join(document["profile"]["notes"])


@pytest.mark.parametrize("text,events,defects", USABLE.values(), ids=USABLE.keys())
def test_usable_in_spite_of_everything(text, events, defects, tmp_path):
    path = tmp_path / "rank0.json"
    path.write_bytes(text)
    used, counted = events_of(run(path))
    assert used >= events, counted
    if defects is not None:
        assert set(counted) >= defects if defects else counted == {}, counted


def test_utf16_is_refused_or_read(tmp_path):
    path = tmp_path / "rank0.json"
    path.write_bytes(wrap(GOOD).encode("utf-16"))
    run(path)


def test_no_events(tmp_path):
    for text in (
        b"[]",
        b'{"traceEvents":[]}',
        b'{"traceEvents":[{"ph":"M","name":"process_name","pid":1,"args":{"name":"x"}}]}',
    ):
        path = tmp_path / "rank0.json"
        path.write_bytes(text)
        assert events_of(run(path))[0] == 0


# The file system.


def test_folder_without_traces(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing here")
    done = run(tmp_path)
    assert done.status == eroica.UNUSABLE and str(tmp_path) in done.err


def test_missing_path(tmp_path):
    done = run(tmp_path / "nowhere")
    assert done.status == eroica.UNUSABLE and "nowhere" in done.err


def test_symlink_loops(tmp_path):
    (tmp_path / "rank0.json").write_bytes(synth.gpu(0).text())
    (tmp_path / "rank1.json").symlink_to(tmp_path / "rank1.json")
    (tmp_path / "again").symlink_to(tmp_path)
    done = run(tmp_path)
    assert done.status in (eroica.OK, eroica.FOUND), done.err
    assert [r["rank"] for r in done.document()["profile"]["time"]["ranks"]] == [0]
    assert run(tmp_path / "rank1.json").status == eroica.UNUSABLE


def test_pipe_and_devices_do_not_block(tmp_path):
    os.mkfifo(tmp_path / "rank0.json")
    assert run(tmp_path / "rank0.json").status == eroica.UNUSABLE
    assert run(tmp_path).status == eroica.UNUSABLE
    assert run("/dev/zero").status == eroica.UNUSABLE


def test_directory_named_like_a_trace(tmp_path):
    (tmp_path / "rank0.json").mkdir()
    assert run(tmp_path / "rank0.json").status == eroica.UNUSABLE


def test_unreadable_file():
    nobody = 65534
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "rank0.json").write_bytes(synth.gpu(0).text())
        (folder / "rank1.json").write_bytes(synth.gpu(1).text())
        (folder / "rank1.json").chmod(0)
        drop = {"user": nobody} if os.geteuid() == 0 else {}
        if drop and not can_run_as(nobody, folder / "rank0.json"):
            pytest.skip("the binary cannot be reached without root's rights")
        done = run(folder, **drop)
        assert done.status in (eroica.OK, eroica.FOUND), done.err
        assert "rank1.json" in done.err + " ".join(done.document()["profile"]["notes"])
        assert run(folder / "rank1.json", **drop).status == eroica.UNUSABLE


def can_run_as(user, path):
    try:
        probe = subprocess.run(["test", "-r", str(path)], user=user, group=user, extra_groups=[], check=False)
        return probe.returncode == 0 and eroica.run("--version", user=user).status == 0
    except OSError:
        return False


def test_two_files_claim_one_rank(tmp_path):
    made = synth.gpu(3)
    (tmp_path / "a.json").write_bytes(made.text())
    (tmp_path / "b.json").write_bytes(made.text(shuffle=1))
    done = run(tmp_path)
    assert done.status == eroica.UNUSABLE
    assert "a.json" in done.err and "b.json" in done.err and "--rank-from" in done.err


def test_bundle_that_names_what_is_not_there(tmp_path):
    (tmp_path / "rank0.json").write_bytes(synth.gpu(0).text())
    bundle = {
        "schema": "eroica.bundle/1",
        "job": {"id": "j", "world_size": 3},
        "hosts": [{"name": "h", "samples": "none.json"}],
        "ranks": [
            {"rank": 0, "host": "h", "trace": "rank0.json"},
            {"rank": 1, "host": "h", "trace": "gone.json"},
            {"rank": 2, "host": "h"},
        ],
    }
    (tmp_path / "bundle.json").write_text(json.dumps(bundle))
    done = run(tmp_path)
    assert done.status in (eroica.OK, eroica.FOUND), done.err
    document = done.document()
    assert document["coverage"]["ranks_seen"] == 1 and document["coverage"]["ranks_expected"] == 3
    assert "gone.json" in done.err + " ".join(document["profile"]["notes"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"schema": 1}',
        '{"schema": "eroica.bundle/1", "ranks": 5}',
        "{" * 100_000,
        '{"schema": "eroica.bundle/9", "ranks": []}',
    ],
    ids=range(6),
)
def test_broken_bundle(text, tmp_path):
    (tmp_path / "rank0.json").write_bytes(synth.gpu(0).text())
    (tmp_path / "bundle.json").write_text(text)
    done = run(tmp_path)
    assert done.status != eroica.OK or done.document()["import"]["events"] > 0
    assert "bundle.json" in done.err + done.out
