"""The small parts, each alone."""

import json

import pytest
from eroica_probe import environment, files, groups, identity, wire
from eroica_probe.settings import read_settings
from eroica_probe.windows import MAX_PENDING, WindowEdges


@pytest.mark.parametrize(
    "ranks, runs",
    [
        ([], []),
        ([5], [[5, 6, 1]]),
        ([0, 1, 2, 3], [[0, 4, 1]]),
        ([0, 4, 8], [[0, 9, 4]]),
        ([0, 8], [[0, 9, 8]]),
        ([0, 5, 6, 7], [[0, 1, 1], [5, 8, 1]]),
        ([3, 2, 1], [[3, 4, 1], [2, 3, 1], [1, 2, 1]]),
        ([0, 1, 8, 9, 16, 17], [[0, 2, 1], [8, 10, 1], [16, 18, 1]]),
    ],
)
def test_runs(ranks, runs):
    assert groups.runs_of(ranks) == runs
    assert [rank for run in runs for rank in range(*run)] == ranks


def test_runs_keep_any_order():
    ranks = [7, 3, 3 * 5, 16, 17, 2, 4, 6, 9, 0]
    assert [rank for run in groups.runs_of(ranks) for rank in range(*run)] == ranks


def test_environment_shows_what_matters_and_no_secrets():
    shown = environment.shown_environment(
        {
            "NCCL_DEBUG": "INFO",
            "NCCL_AUTH_FILE": "a",
            "TORCH_HUB_TOKEN": "b",
            "CUDA_API_KEY": "c",
            "MASTER_ADDR": "10.0.0.1",
            "SLURM_JOB_ID": "77",
            "SLURM_JOB_ID_X": "d",
            "HOME": "/root",
            "AWS_SECRET_ACCESS_KEY": "e",
            "OMP_NUM_THREADS": "1" * 5000,
        }
    )
    assert set(shown) == {
        "NCCL_DEBUG", "NCCL_AUTH_FILE", "TORCH_HUB_TOKEN", "CUDA_API_KEY", "MASTER_ADDR",
        "SLURM_JOB_ID", "OMP_NUM_THREADS",
    }
    assert shown["NCCL_AUTH_FILE"] == shown["TORCH_HUB_TOKEN"] == shown["CUDA_API_KEY"] == "redacted"
    assert shown["MASTER_ADDR"].startswith("sha256:") and "10.0" not in shown["MASTER_ADDR"]
    assert len(shown["OMP_NUM_THREADS"]) == environment.MAX_VALUE_CHARACTERS
    assert environment.hash_of(shown) == environment.hash_of(dict(reversed(list(shown.items()))))
    assert environment.hash_of(shown) != environment.hash_of({})


@pytest.mark.parametrize(
    "words, is_launcher",
    [
        (["python", "/usr/bin/torchrun", "--nproc-per-node", "2", "train.py"], True),
        (["python", "-u", "-m", "torch.distributed.run", "train.py"], True),
        (["python", "-X", "dev", "/site/torch/distributed/run.py"], True),
        (["python", "train.py", "torchrun"], False),
        (["python", "-m", "train", "torchrun"], False),
        (["python", "-c", "torchrun"], False),
        (["python", "-W", "torchrun", "train.py"], False),
        (["python"], False),
        ([], False),
    ],
)
def test_launchers(words, is_launcher):
    assert identity.is_launcher(words) is is_launcher


@pytest.mark.parametrize("rank", ["", "x", "-1", "1.5", str(2**31), "\u0663x"])
def test_ranks_that_are_none(rank, monkeypatch):
    monkeypatch.setenv("RANK", rank)
    assert identity.rank_is_given() is False
    assert identity.resolve(None).rank is None


def test_settings():
    good = {"EROICA_SOCKET_DIR": "/run/eroica/j/", "EROICA_JOB": "j"}
    assert read_settings(good) == ("/run/eroica/j", None, "j")
    assert read_settings(dict(good, EROICA_DISABLE="0")) is not None
    assert read_settings(dict(good, EROICA_TRACE_DIR="/traces")).trace_folder == "/traces"
    assert read_settings(dict(good, EROICA_TRACE_DIR="traces")).trace_folder is None
    for bad in ({}, dict(good, EROICA_DISABLE="1"), {"EROICA_SOCKET_DIR": "run"}):
        assert read_settings(bad) is None


def test_parts_hold_all_items_in_order():
    items = [{"name": "x" * (number * 17 % 3000)} for number in range(200)]
    datagrams = wire.encode_parts(wire.GROUPS, {"set": 1}, "groups", items)
    assert len(datagrams) > 1
    documents = [json.loads(datagram[5:].decode()) for datagram in datagrams]
    assert [item for document in documents for item in document["groups"]] == items
    assert max(map(len, datagrams)) <= wire.MAX_DATAGRAM_BYTES
    assert [document["part"] for document in documents] == list(range(len(datagrams)))
    assert len(wire.encode_parts(wire.GROUPS, {}, "groups", [])) == 1


def test_edges_come_in_the_order_of_time():
    edges = WindowEdges()
    assert edges.next_unix_ns() is None
    assert edges.add("b", 20, 40) and edges.add("a", 10, 30)
    assert edges.next_unix_ns() == 10
    assert edges.pop_due(5) == []
    assert edges.pop_due(30) == [("a", "start"), ("b", "start"), ("a", "end")]
    assert edges.pop_due(1000) == [("b", "end")]
    while edges.add("more", 1, 2):
        pass
    assert len(edges.pop_due(3)) <= MAX_PENDING


def test_a_file_that_cannot_be_finished_leaves_nothing(tmp_path):
    def full_disk(descriptor):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError):
        files.write_new(str(tmp_path / "file"), full_disk)

    def breaks(path):
        with open(path, "w") as file:
            file.write("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        files.written_by_name(str(tmp_path / "file"), breaks)
    assert list(tmp_path.iterdir()) == []
