"""Which rank this process is, if it is one at all."""

import os
import sys
from typing import NamedTuple, Optional

# "PID:RANK" of the process that a RANK in the environment was meant for; its children inherit both.
OWNER_VARIABLE = "EROICA_RANK_OWNER"

LAUNCHERS = {
    "torchrun",
    "torch.distributed.run",
    "torch.distributed.launch",
    "torch.distributed.elastic",
    "accelerate",
    "accelerate.commands.launch",
    "deepspeed",
    "deepspeed.launcher.runner",
    "deepspeed.launcher.launch",
}


class Identity(NamedTuple):
    rank: Optional[int]
    world_size: Optional[int]
    local_rank: Optional[int]


def claim_rank():
    """Before torch starts threads of its own: changing the environment beside them is not safe."""
    try:
        if rank_is_given():
            os.environ[OWNER_VARIABLE] = "%d:%s" % (os.getpid(), os.environ["RANK"])
    except Exception:
        pass


def rank_is_given():
    """RANK is set and meant for this process, not for its parent."""
    return (
        _number("RANK") is not None
        and not is_multiprocessing_child()
        and not is_launcher()
        and not _belongs_to_ancestor()
    )


def may_be_helper():
    """A worker or a tool of some rank: to be ignored until it proves to be a rank itself."""
    return is_multiprocessing_child() or (
        _number("RANK") is not None and not is_launcher() and _belongs_to_ancestor()
    )


def _belongs_to_ancestor():
    owner, _, rank = os.environ.get(OWNER_VARIABLE, "").partition(":")
    return owner != "" and owner != str(os.getpid()) and rank == os.environ.get("RANK")


def is_multiprocessing_child():
    process = sys.modules.get("multiprocessing.process")
    if process is None:
        return False
    # While a spawned child imports the main module it has no parent_process() yet.
    return process.parent_process() is not None or getattr(
        process.current_process(), "_inheriting", False
    )


def command_line():
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read(4096).split(b"\0")[:-1]]
    except OSError:
        return list(sys.argv)


def is_launcher(words=None):
    """torchrun and its like import torch and carry, in some clusters, a RANK that is not theirs."""
    words = command_line() if words is None else words
    index = 1
    while index < len(words):
        word = words[index]
        if word == "-c":
            return False
        if word == "-m":
            return index + 1 < len(words) and words[index + 1] in LAUNCHERS
        if word in ("-W", "-X"):
            index += 1
        elif not word.startswith("-"):
            return os.path.basename(word) in LAUNCHERS or word.endswith(
                ("torch/distributed/run.py", "torch/distributed/launch.py")
            )
        index += 1
    return False


def process_group_is_up(torch_distributed):
    """Whether torch.distributed (a module or None) has a default process group."""
    is_initialized = getattr(torch_distributed, "is_initialized", None)
    return bool(is_initialized is not None and is_initialized())


def resolve(torch_distributed, inherited_rank=None, steps=False):
    """The process group knows best, then the environment; a lone process that steps is rank 0 of 1.

    inherited_rank is the text of a RANK that does not count, since it is an ancestor's.
    """
    local_rank = _number("LOCAL_RANK")
    if local_rank is None:
        local_rank = _number("SLURM_LOCALID")
    if process_group_is_up(torch_distributed):
        return Identity(torch_distributed.get_rank(), torch_distributed.get_world_size(), local_rank)
    given = os.environ.get("RANK")
    if _number("RANK") is not None and given != inherited_rank and not is_launcher():
        return Identity(_number("RANK"), _number("WORLD_SIZE"), local_rank)
    if steps and given is None:
        return Identity(0, 1, local_rank)
    return Identity(None, None, local_rank)


def _number(variable):
    try:
        value = int(os.environ[variable])
    except (KeyError, ValueError):
        return None
    return value if 0 <= value < 2**31 else None
