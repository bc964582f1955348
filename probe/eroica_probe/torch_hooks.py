"""What is hooked in torch, and when: nothing before torch itself has been imported."""

import functools

from .compilation import stay_uncompiled
from .import_hook import ModuleWatcher


def wait_for_torch():
    from . import identity

    ModuleWatcher({"torch": _torch_imported}, {"torch": identity.claim_rank}).install()


def _torch_imported(torch):
    try:
        from . import compilation, probe

        settings = probe.read_settings()
        if settings is None:
            return
        the_probe = probe.Probe(settings, torch)
        # Both may have come with torch already, come later, or never.
        ModuleWatcher(
            {
                "torch.optim.optimizer": functools.partial(_hook_optimizers, the_probe),
                "torch.utils.data.dataloader": functools.partial(_hook_fetches, the_probe),
            }
        ).install()
        compilation.leave_out_package()
        the_probe.begin()
    except Exception:
        pass


def _hook_optimizers(the_probe, module):
    """Global post hook of all optimizers, in torch since 2.0; without it there are no step marks."""
    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is None:
        return
    marked = the_probe.marks.optimizer_stepped

    def optimizer_stepped(optimizer, args, kwargs):
        marked(optimizer)

    try:
        stay_uncompiled(optimizer_stepped)
        the_probe.step_hook = register(optimizer_stepped)
    except Exception as error:
        the_probe.faults.caught(error)


def _hook_fetches(the_probe, module):
    iterator = getattr(module, "_BaseDataLoaderIter", None)
    fetch = getattr(iterator, "__next__", None)
    if fetch is None or hasattr(fetch, "eroica_fetches"):
        return
    marks = the_probe.marks
    fetch_begins, fetch_ends = marks.fetch_begins, marks.fetch_ends

    @functools.wraps(fetch)
    def __next__(self):
        began_ns = fetch_begins()
        if began_ns is None:
            return fetch(self)
        fetched = 0
        try:
            batch = fetch(self)
            fetched = 1
            return batch
        finally:
            fetch_ends(began_ns, fetched)

    __next__.eroica_fetches = marks
    try:
        stay_uncompiled(__next__)
        iterator.__next__ = __next__
        the_probe.fetch_hook = True
    except (AttributeError, TypeError) as error:
        the_probe.faults.caught(error)
