"""What drills act on: a user with an empty home, and one with a fake cloud and a lab as well."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rigs.chaos import Chaos, a_chaos
from tests.rigs.cli import Cli, a_user
from tests.rigs.postgres import running_postgres


@pytest.fixture
def user(tmp_path: Path) -> Cli:
    return a_user(tmp_path)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    directory = tmp_path / "target"
    directory.mkdir()
    return directory


@pytest.fixture
def chaos(tmp_path: Path) -> Iterator[Chaos]:
    """A user with a fake cloud and a lab; neither may keep anything."""
    with a_chaos(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The URL of a database of PostgreSQL, which the drills of a file share."""
    with running_postgres() as url:
        yield url
