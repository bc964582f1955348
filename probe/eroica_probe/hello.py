"""What the probe tells about its process."""

import os
import platform
import socket
import sys

from . import environment, flight_recorder, identity, wire

FRAMEWORKS = {
    "megatron": "megatron.core",
    "deepspeed": "deepspeed",
    "lightning": "lightning",
    "pytorch_lightning": "pytorch_lightning",
    "transformers": "transformers",
    "accelerate": "accelerate",
}


def describe_process(the_probe):
    shown = environment.shown_environment()
    torch = the_probe.torch
    version = getattr(torch, "version", None)
    who = the_probe.identity
    the_probe.gpu_told = gpu = uses_gpu()
    stacks = the_probe.stacks
    document = {
        "pid": os.getpid(),
        "rank": who.rank,
        "world_size": who.world_size,
        "local_rank": who.local_rank,
        "launcher": identity.is_launcher(),
        "host": socket.gethostname(),
        "job": the_probe.settings.job,
        "program": os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else "",
        "python": platform.python_version(),
        "torch": str(getattr(torch, "__version__", "")),
        "cuda": getattr(version, "cuda", None),
        "hip": getattr(version, "hip", None),
        "gpu": gpu,
        "frameworks": _frameworks(),
        "restart_count": _restart_count(),
        "probe": sys.modules["eroica_probe"].__version__,
        "started_by": sys.modules["eroica_probe"].started_by,
        "capabilities": {
            "step_hook": the_probe.step_hook is not None,
            "fetch_hook": the_probe.fetch_hook,
            "flight_recorder": flight_recorder.is_recording(),
            "kineto_daemon": _kineto_daemon(torch),
            "profile": "torch.profiler" in sys.modules,
            "step_ring": the_probe.has_step_ring(),
            "stack_signal": stacks.number if stacks else None,
            "stack_file": stacks.name if stacks else None,
        },
        "errors": the_probe.faults.count,
        "last_error": the_probe.faults.last,
        "ignored_commands": the_probe.ignored_commands,
        "env_hash": environment.hash_of(shown),
        "env": shown,
    }
    if len(wire.encode(wire.HELLO, document)) > wire.MAX_DATAGRAM_BYTES:
        document["env"] = {}
        document["env_cut"] = True
    return document


def uses_gpu():
    """Whether this process computes on a GPU (CUDA or HIP): a torch that could may run on a host without."""
    cuda = sys.modules.get("torch.cuda")
    is_initialized = getattr(cuda, "is_initialized", None)
    return bool(is_initialized is not None and is_initialized())


def _frameworks():
    """Versions of those that the job has imported, from the modules themselves."""
    found = {}
    for name, module in FRAMEWORKS.items():
        if module in sys.modules:
            found[name] = str(getattr(sys.modules[module], "__version__", ""))[:50]
    return found


def _restart_count():
    try:
        return int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    except (KeyError, ValueError):
        return None


def _kineto_daemon(torch):
    """Kineto asks a daemon for work in this process: the variable is set and torch is built for it."""
    if "KINETO_USE_DAEMON" not in os.environ:
        return False
    major = str(getattr(torch, "__version__", "0")).split(".")[0]
    profiler = sys.modules.get("torch.profiler")
    available = getattr(profiler, "kineto_available", None)
    return major.isdigit() and int(major) >= 2 and available is not None and bool(available())
