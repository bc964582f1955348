"""torch's flight recorder: which collectives each group has enqueued and completed."""

import json
import os
import re
import sys

from . import groups

# torch writes the keys in alphabetical order, the group's number before its name.
_NAME_OF_NUMBER = re.compile(rb'"pg_id":\s*(\d+),\s*"process_group":\s*\[\s*"((?:[^"\\]|\\.)*)"')
_FUNCTIONS = {"nccl": "_dump_nccl_trace_json", "generic": "_dump_fr_trace_json"}


def _recorder(name):
    module = sys.modules.get("torch._C._distributed_c10d")
    return getattr(module, _FUNCTIONS[name], None)


def recorders():
    """Names of the recorders here, the most telling first: NCCL has one of its own."""
    order = ["nccl", "generic"] if groups.uses_backend("nccl") else ["generic", "nccl"]
    return [name for name in order if _recorder(name) is not None]


def is_recording():
    """The recorder keeps nothing unless its buffer has a size."""
    sizes = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")
    return bool(recorders()) and any(os.environ.get(s, "0") not in ("", "0") for s in sizes)


def dump(name=None):
    """(name of the recorder, its JSON document as bytes)."""
    names = recorders()
    if name is None and names:
        name = names[0]
    if name not in names:
        raise ValueError("this torch has no such flight recorder")
    return name, bytes(_recorder(name)())


class SequenceNumbers:
    """Last enqueued, started and completed collective of each group."""

    def __init__(self):
        self._names = {}

    def read(self):
        found = []
        for recorder in recorders():
            document = json.loads(_recorder(recorder)(includeCollectives=False))
            status = document.get("pg_status") or {}
            if not status:
                continue
            self._learn_names(recorder, status, document.get("pg_config") or {})
            for number, sequence in sorted(status.items()):
                found.append(
                    {
                        "id": number,
                        "name": self._names.get((recorder, number)),
                        "recorder": recorder,
                        "last_enqueued": _integer(sequence.get("last_enqueued_collective")),
                        "last_started": _integer(sequence.get("last_started_collective")),
                        "last_completed": _integer(sequence.get("last_completed_collective")),
                    }
                )
        return found

    def _learn_names(self, recorder, status, config):
        unknown = [number for number in status if (recorder, number) not in self._names]
        for number in unknown:
            name = (config.get(number) or {}).get("name")
            if name:
                self._names[recorder, number] = name
        if all((recorder, number) in self._names for number in unknown):
            return
        # Gloo's groups are named by the collectives only.
        for number, name in set(_NAME_OF_NUMBER.findall(_recorder(recorder)())):
            self._names[recorder, number.decode()] = json.loads(b'"' + name + b'"')


def _integer(text):
    try:
        return int(text)
    except (TypeError, ValueError):
        return None
