"""A user with an empty home, a directory to measure in, and a user who rents."""

import pytest
from tests.rigs.chaos import a_chaos
from tests.rigs.cli import a_user


@pytest.fixture
def user(tmp_path):
    return a_user(tmp_path)


@pytest.fixture
def target(tmp_path):
    directory = tmp_path / "target"
    directory.mkdir()
    return directory


@pytest.fixture
def profile(request, user):
    """The job file of the module."""
    return user.job(request.module.JOB)


@pytest.fixture
def renting(tmp_path):
    """A user with a fake cloud and a lab, in which nothing may be left in the end."""
    with a_chaos(tmp_path) as made:
        yield made
