"""A user with an empty home, and a directory to measure in."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rigs.cli import Cli, a_user


@pytest.fixture
def user(tmp_path: Path) -> Cli:
    return a_user(tmp_path)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    directory = tmp_path / "target"
    directory.mkdir()
    return directory
