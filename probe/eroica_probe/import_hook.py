"""Calls a function right after a module has been imported, without importing it."""

import sys
import threading


class ModuleWatcher:
    """A meta path finder that finds nothing itself: it lets the other finders find the module.

    The loader stays the one that the others made: only its exec_module is wrapped, on the instance
    and for one execution, so that nobody sees another loader or another type of it.
    """

    def __init__(self, after_import, before_import=None):
        """Both map module names to functions; after_import's take the module, the others nothing."""
        self._after_import = dict(after_import)
        self._before_import = dict(before_import or {})
        self._searching_threads = set()

    def install(self):
        for name in list(self._after_import):
            module = sys.modules.get(name)
            if module is not None:
                self._imported(name, module)
        if self._after_import:
            sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        if name not in self._after_import:
            return None
        thread = threading.get_ident()
        if thread in self._searching_threads:  # another such finder asks all finders in its turn
            return None
        self._searching_threads.add(thread)
        try:
            spec = self._ask_others(name, path, target)
        finally:
            self._searching_threads.discard(thread)
        if spec is not None:
            self._wrap_loader(name, spec.loader)
        return spec

    def _ask_others(self, name, path, target):
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None)
            if finder is self or find_spec is None:
                continue
            spec = find_spec(name, path, target)
            if spec is not None:
                return spec
        return None

    def _wrap_loader(self, name, loader):
        execute = getattr(loader, "exec_module", None)
        if execute is None or getattr(execute, "watched_by", None) is self:
            return

        def exec_module(module):
            if "exec_module" in vars(loader):
                del loader.exec_module
            before = self._before_import.get(name)
            if before is not None:
                before()
            execute(module)
            self._imported(name, sys.modules.get(name, module))

        exec_module.watched_by = self
        try:
            loader.exec_module = exec_module
        except (AttributeError, TypeError):  # a loader with slots: this module goes unseen
            pass

    def _imported(self, name, module):
        callback = self._after_import.pop(name, None)
        if not self._after_import:
            # Anew, and not in place: another thread may be on its way through the old list.
            sys.meta_path = [finder for finder in sys.meta_path if finder is not self]
        if callback is not None:
            callback(module)
