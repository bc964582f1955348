#!/usr/bin/env python3
"""Writes the seed corpora of the trace readers' fuzz targets: one small input for each shape that traces have.

    make_corpus.py [FOLDER]      (default: corpus/ beside this file)

The first byte of every input chooses how the rest is cut. The output is the same each time.
"""

import gzip
import json
import sys
import zlib
from pathlib import Path

OPERATOR = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 10, "tid": 11, "ts": 4458676522690.655,
            "dur": 156.777, "args": {"External id": 5, "Sequence number": 3, "Input Dims": [[2, 3], []],
                                     "Input type": ["float", "Scalar"], "Ev Idx": 0}}
KERNEL = {"ph": "X", "cat": "kernel", "name": "void k<float, 4>(int, {lambda()#1})", "pid": 0, "tid": 7,
          "ts": 4458676522700.001, "dur": 41.4, "args": {
              "External id": 5, "queued": 0, "device": 0, "stream": 7, "correlation": 99, "grid": [8, 1, 1],
              "block": [128, 1, 1], "graph id": 1, "graph node id": 2, "est. achieved occupancy %": 25}}
COLLECTIVE = {**KERNEL, "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "args": {
    **KERNEL["args"], "Collective name": "allreduce", "In msg nelems": 100, "Out msg nelems": 100, "Group size": 2,
    "dtype": "Float", "Process Group Name": "0", "Process Group Description": "default_pg",
    "Process Group Ranks": "[0, 1, ...]", "Seq": 7, "Src Rank": 0, "Dst Rank": 1}}
COPY = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 12.5, "dur": 1,
        "args": {"stream": 7, "correlation": 100, "bytes": 4096}}
PYTHON = {"ph": "X", "cat": "python_function", "name": "train.py(9): step", "pid": 10, "tid": 11, "ts": 1.5, "dur": 9,
          "args": {"Python id": 2, "Python parent id": None}}
RUNTIME = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": 11, "ts": 2, "dur": 1,
           "args": {"External id": 5, "correlation": 99, "cbid": 211}}
OLD = {"ph": "X", "cat": "Operator", "name": "aten::empty", "pid": 10, "tid": "10", "ts": 1623142623460111, "dur": 25,
       "args": {"External id": 2, "Call stack": "b.py(2): g;a.py(1): f"}}
OLD_KERNEL = {"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 1623142623460119, "dur": 2,
              "args": {"external id": 2, "correlation": 3, "stream": 7}}
BEGIN = {"ph": "B", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 1, "ts": 1}
END = {"ph": "E", "pid": 1, "tid": 1, "ts": 2.25}
COUNTER = {"ph": "C", "cat": "hardware_counters", "name": "cpu.run", "pid": "rank 0", "ts": 5, "args": {"cores": 0.5}}
GPU_COUNTER = {"ph": "C", "name": "sm__cycles", "pid": "GPU 0 Counters", "ts": 5, "args": {"": 7}}
FLOW = {"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"}
INSTANT = {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 3}
NAMES = [{"ph": "M", "name": "process_name", "pid": 10, "tid": 0, "args": {"name": "python"}},
         {"ph": "M", "name": "thread_name", "pid": 10, "tid": 11, "args": {"name": "main"}}]
INFO = {"backend": "nccl", "rank": 1, "world_size": 2,
        "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]}]}

KEY = json.dumps(OPERATOR)


def document(events, before=None, after=None, **layout):
    return json.dumps({**(before or {}), "traceEvents": events, **(after or {})}, **layout)


ALL = [OPERATOR, KERNEL, COLLECTIVE, COPY, PYTHON, RUNTIME, BEGIN, END, COUNTER, GPU_COUNTER, FLOW, INSTANT, *NAMES]

TRACES = {
    "object": document(ALL, {"schemaVersion": 1, "baseTimeNanoseconds": 1790857026000000000, "distributedInfo": INFO}),
    "object-pretty": document(ALL, {"deviceProperties": [{"id": 0, "name": "GPU"}]}, {"traceName": "x"}, indent=2),
    "array": json.dumps(ALL),
    "late-metadata": document([OPERATOR], after={"distributedInfo": INFO, "host_name": "n", "traceName": "/tmp/}]}"}),
    "old-schema": document([OLD, OLD_KERNEL]),
    "nested-args": document([{**OPERATOR, "args": {"a": [{"name": 1}, {"name": [{"id": {}}]}], "b": {"c": []}}}] * 3),
    "strange-times": document([{**COPY, "ts": t, "dur": d} for t, d in
                               [("1.5", "2"), (1e3, 1e30), (-1, -1), (None, None), (9007199254740993, 0.0005)]]),
    "strange-types": document([{**OPERATOR, k: v} for k in OPERATOR for v in (None, [], {}, "x", 7)]),
    "odd-elements": document([1, None, "}, {", [1, [2]], {}, OPERATOR]),
    "escapes": document([{**OPERATOR, "name": "a\"b\\c/\u00e9\U0001f600}, {\"ph\": "}]),
    "empty": document([]),
    "no-events": json.dumps({"a": [1, {"b": "c"}]}),
    "two-arrays": '{"traceEvents": [' + KEY + '], "traceEvents": [' + KEY + "]}",
    "stray-quotes": document([OPERATOR, OPERATOR, OPERATOR]).replace("aten::add", 'a "b" c', 2),
    "stray-quote": document([OPERATOR, OPERATOR, OPERATOR]).replace("aten::add", 'a "b c', 2),
    "line-break": document([OPERATOR, OPERATOR]).replace("aten::add", "a\nb", 1),
    "bare-nan": document([KERNEL, COPY]).replace("25", "nan").replace("12.5", "-inf"),
    "bad-header": '{"INFO": ["said "hello" to"], "traceEvents": [' + KEY + "]}",
    "cut": document(ALL)[:-200],
    "deep": '{"traceEvents": [{"ph": "X", "args": {"x": ' + "[" * 500 + "]" * 500 + "}}, " + KEY + "]}",
    "bad-utf8": document([OPERATOR, OPERATOR]).replace("aten::add", "caf\udce9", 1),
    "trailing": document([OPERATOR]) + " more",
}


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent / "corpus"
    for name, text in TRACES.items():
        write(folder / "kineto_fuzz" / name, text.encode(errors="surrogateescape"))
    text = TRACES["object"].encode()
    member = gzip.compress(text, mtime=0)
    stored = zlib.compressobj(0, wbits=31)
    inputs = {
        "gzip": member,
        "gzip-two-members": member + gzip.compress(text, mtime=0),
        "gzip-stored": stored.compress(text) + stored.flush(),
        "gzip-cut": member[: len(member) // 2],
        "gzip-padded": member + bytes(16),
        "gzip-name": b"\x1f\x8b\x08\x08\0\0\0\0\0\xffname\0" + member[10:],
        "zstd-raw-block": zstd_frame(text[:100]),
        "zstd-two-frames": zstd_frame(text[:100]) + b"\x50\x2a\x4d\x18\x02\0\0\0ab" + zstd_frame(b"{}"),
        "zstd-cut": zstd_frame(text[:100])[:60],
        "plain": text[:300],
    }
    for name, data in inputs.items():
        write(folder / "decompress_fuzz" / name, data)


def zstd_frame(text):
    """A frame of one uncompressed block, since Python has no zstd of its own."""
    header = (len(text) << 3 | 1).to_bytes(3, "little")
    return b"\x28\xb5\x2f\xfd\x20" + bytes([len(text)]) + header + text


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x21" + data)


if __name__ == "__main__":
    main()
