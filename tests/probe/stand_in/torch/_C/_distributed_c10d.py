import json

entries = [
    {"collective_seq_id": 7, "pg_id": 0, "process_group": ["0", "default_pg"]},
    {"collective_seq_id": 2, "pg_id": 1, "process_group": ['t"p', "tensor"]},
]
status = {
    "0": {
        "last_enqueued_collective": "7",
        "last_started_collective": "-1",
        "last_completed_collective": "6",
    },
    "1": {
        "last_enqueued_collective": "2",
        "last_started_collective": "-1",
        "last_completed_collective": "2",
    },
}


def _dump_fr_trace_json(includeCollectives=True, onlyActive=False):
    document = {"pg_config": {"": {"name": ""}}, "pg_status": status, "version": "2.10"}
    if includeCollectives:
        document["entries"] = entries
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
