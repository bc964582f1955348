import os
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from probe_support import PROBE, Agent, Job  # noqa: E402

sys.path.insert(0, str(PROBE))


@pytest.fixture
def folder():
    """Short, as a socket's address must be."""
    path = tempfile.mkdtemp(prefix="ep-", dir="/tmp")
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def agent(folder):
    one = Agent(folder)
    yield one
    one.close()


@pytest.fixture
def start_job():
    jobs = []

    def start(*args, **kwargs):
        jobs.append(Job(*args, **kwargs))
        return jobs[-1]

    yield start
    for job in jobs:
        job.close()
