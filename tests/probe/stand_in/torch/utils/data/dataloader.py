import os
import time


class _BaseDataLoaderIter:
    def __init__(self, batches):
        self._batches = iter(batches)

    def __iter__(self):
        return self

    def __next__(self):
        """Fetches."""
        time.sleep(float(os.environ.get("FETCH_SECONDS", "0")))
        return next(self._batches)


class DataLoader:
    def __init__(self, batches):
        self._batches = batches

    def __iter__(self):
        return _BaseDataLoaderIter(self._batches)
