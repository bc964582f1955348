"""What the launcher says through the environment."""

import os
from typing import NamedTuple, Optional

# A socket's address holds 107 bytes, and the names of the probe's own files need up to 30.
MAX_FOLDER_BYTES = 76


class Settings(NamedTuple):
    socket_folder: str
    trace_folder: Optional[str]
    job: Optional[str]


def read_settings(environ=os.environ):
    """None where the probe has to stay out."""
    folder = environ.get("EROICA_SOCKET_DIR", "")
    if environ.get("EROICA_DISABLE", "") not in ("", "0"):
        return None
    if not os.path.isabs(folder) or len(os.fsencode(folder)) > MAX_FOLDER_BYTES:
        return None
    traces = environ.get("EROICA_TRACE_DIR", "")
    return Settings(
        socket_folder=folder.rstrip("/") or "/",
        trace_folder=traces if os.path.isabs(traces) else None,
        job=environ.get("EROICA_JOB"),
    )
