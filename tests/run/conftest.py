"""A user with an empty home, a directory to measure in, and a user who rents."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rigs.chaos import Chaos, a_chaos
from tests.rigs.cli import Cli, a_user


@pytest.fixture
def user(tmp_path: Path) -> Cli:
    return a_user(tmp_path)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    directory = tmp_path / "target"
    directory.mkdir()
    return directory


@pytest.fixture
def profile(request: pytest.FixtureRequest, user: Cli) -> str:
    """The job file of the module."""
    return user.job(request.module.JOB)


@pytest.fixture
def renting(tmp_path: Path) -> Iterator[Chaos]:
    """A user with a fake cloud and a lab, in which nothing may be left in the end."""
    with a_chaos(tmp_path) as made:
        yield made
