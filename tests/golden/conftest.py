"""Options and fixtures of the golden tests."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import eroica  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the reports as they are now to expected/")


@pytest.fixture
def update_golden(request):
    return request.config.getoption("--update-golden")


@pytest.fixture(scope="session")
def shared():
    """The folder of public traces and recorded incidents; tests that need it skip without it."""
    if not (eroica.SHARED / "data").is_dir():
        pytest.skip(f"no recorded data at {eroica.SHARED} (set EROICA_SHARED)")
    return eroica.SHARED / "data"
