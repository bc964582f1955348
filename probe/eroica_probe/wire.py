"""Datagrams between probe and agent; PROTOCOL.md is their description."""

import json

MAGIC = b"ERP1"
STEP, HELLO, GROUPS, EDGE, REPLY, BYE, OFF = 1, 2, 3, 4, 5, 6, 7

MAX_DATAGRAM_BYTES = 60000


def encode(kind, document):
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True)
    return MAGIC + bytes((kind,)) + text.encode("ascii")


def decode(datagram):
    """A command: a JSON object, or None."""
    if len(datagram) > MAX_DATAGRAM_BYTES:
        return None
    try:
        document = json.loads(datagram.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def encode_parts(kind, head, key, items):
    """Datagrams that each hold some of the items, none longer than the limit.

    An item must be a good deal shorter than a datagram.
    """
    room = MAX_DATAGRAM_BYTES - len(encode(kind, dict(head, part=9999999, parts=9999999))) - 64
    chunks, used = [[]], 0
    for item in items:
        size = len(json.dumps(item, separators=(",", ":"))) + 1
        if used + size > room and chunks[-1]:
            chunks.append([])
            used = 0
        chunks[-1].append(item)
        used += size
    parts = len(chunks)
    return [
        encode(kind, dict(head, part=part, parts=parts, **{key: chunk}))
        for part, chunk in enumerate(chunks)
    ]
