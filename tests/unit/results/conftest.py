"""A database and a store of evidence of its own for each test of the room."""

import pytest

from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence


@pytest.fixture
def database(tmp_path):
    engine = open_database(f"sqlite:///{tmp_path}/rows.db")
    yield engine
    engine.dispose()


@pytest.fixture
def evidence(tmp_path):
    return open_evidence((tmp_path / "evidence").as_uri())
