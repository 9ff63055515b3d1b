"""What drills act on: a user with an empty home, and one with a fake cloud and a lab as well."""

import pytest
from tests.rigs.chaos import a_chaos
from tests.rigs.cli import a_user
from tests.rigs.postgres import running_postgres


@pytest.fixture
def user(tmp_path):
    return a_user(tmp_path)


@pytest.fixture
def target(tmp_path):
    directory = tmp_path / "target"
    directory.mkdir()
    return directory


@pytest.fixture
def chaos(tmp_path):
    """A user with a fake cloud and a lab; neither may keep anything."""
    with a_chaos(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def postgres():
    """The URL of a database of PostgreSQL, which the drills of a file share."""
    with running_postgres() as url:
        yield url
