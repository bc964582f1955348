"""Tells the eroica agent of this host what a PyTorch training process is doing.

Importing the package is all there is to do. Nothing happens unless EROICA_SOCKET_DIR names the
agent's folder; with it, the probe waits for torch to be imported (torch_hooks.py says what then).
"""

import os

__version__ = "0.1.0"

# "sitecustomize" is put here before the package is executed, "pth" right after.
started_by = globals().get("started_by", "import")


def _start():
    switched_off = os.environ.get("EROICA_DISABLE", "") not in ("", "0")
    if switched_off or not os.environ.get("EROICA_SOCKET_DIR"):
        return
    try:
        from . import torch_hooks

        torch_hooks.wait_for_torch()
    except Exception:  # user code must run as if the probe were not there
        pass


_start()
