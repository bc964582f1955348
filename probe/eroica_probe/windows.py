"""Edges of profiling windows: when they are due, in the order of time."""

MAX_PENDING = 32


class WindowEdges:
    def __init__(self):
        self._pending = []

    def add(self, window, start_unix_ns, end_unix_ns):
        """False when too many are pending."""
        if len(self._pending) + 2 > MAX_PENDING:
            return False
        self._pending.append((start_unix_ns, "start", window))
        self._pending.append((end_unix_ns, "end", window))
        self._pending.sort(key=lambda edge: edge[0])
        return True

    def pop_due(self, now_unix_ns):
        """[(window, "start" | "end")] of what is due."""
        due = [edge for edge in self._pending if edge[0] <= now_unix_ns]
        self._pending = self._pending[len(due) :]
        return [(window, edge) for _, edge, window in due]

    def next_unix_ns(self):
        return self._pending[0][0] if self._pending else None
