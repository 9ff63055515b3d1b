"""A user with an empty home, a directory to measure in, and a user who rents."""

from pathlib import Path

import pytest
from tests.drills.conftest import chaos, target, user

__all__ = ["chaos", "target", "user"]


@pytest.fixture
def profile(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The job file of the module."""
    path = tmp_path / "mine.fio"
    path.write_text(request.module.JOB)
    return path
