"""What drills act on: a user with an empty home, and one with a fake cloud and a lab as well."""

import pytest
from tests.rigs.postgres import running_postgres
from tests.run.conftest import renting as chaos
from tests.run.conftest import target, user

__all__ = ["chaos", "target", "user"]


@pytest.fixture(scope="module")
def postgres():
    """The URL of a database of PostgreSQL, which the drills of a file share."""
    with running_postgres() as url:
        yield url
