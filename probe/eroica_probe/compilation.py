"""Keeps torch.compile away from the probe's functions, which run inside compiled training code."""

import sys
import types


def leave_out_package():
    """To be called once the package's modules have been imported."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] != "eroica_probe":
            continue
        for value in list(vars(module).values()):
            members = vars(value).values() if isinstance(value, type) else (value,)
            for member in members:
                if isinstance(member, types.FunctionType) and member.__module__ == name:
                    _skip(member)


def stay_uncompiled(function):
    """For what torch calls: a compiler that meets the call shall not look inside either."""
    function._torchdynamo_disable = True
    _skip(function)


def _skip(function):
    eval_frame = sys.modules.get("torch._C._dynamo.eval_frame")
    skip_code = getattr(eval_frame, "skip_code", None)
    if skip_code is not None:
        skip_code(function.__code__)


def uncompiled(function, *arguments):
    """Calls it with the compiler off, for what leads into code that is not the probe's."""
    eval_frame = sys.modules.get("torch._C._dynamo.eval_frame")
    set_eval_frame = getattr(eval_frame, "set_eval_frame", None)
    if set_eval_frame is None:
        return function(*arguments)
    before = set_eval_frame(None)
    try:
        return function(*arguments)
    finally:
        set_eval_frame(before)
