"""Starts the probe in every Python process below `eroica run`, then runs the original sitecustomize.

The launcher puts this folder first on PYTHONPATH.
"""

import os
import sys


def _leave_the_path():
    """Takes this folder off sys.path: the original sitecustomize stands further along."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    return os.path.dirname(here)


def _start_probe(folder):
    if not os.environ.get("EROICA_SOCKET_DIR") or "eroica_probe" in sys.modules:
        return
    if os.environ.get("EROICA_DISABLE", "") not in ("", "0"):
        return
    from importlib import util

    package = os.path.join(folder, "eroica_probe")
    spec = util.spec_from_file_location(
        "eroica_probe", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    module = util.module_from_spec(spec)
    module.started_by = "sitecustomize"
    sys.modules["eroica_probe"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop("eroica_probe", None)
        raise


def _run_original():
    """As if this file did not exist, down to the exceptions that the original raises."""
    for finder in list(sys.meta_path):
        find_spec = getattr(finder, "find_spec", None)
        spec = find_spec("sitecustomize", None) if find_spec else None
        if spec is not None and spec.loader is not None:
            break
    else:
        return
    from importlib import util

    module = util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    _probe_folder = _leave_the_path()
    _start_probe(_probe_folder)
except Exception:
    pass
_run_original()
