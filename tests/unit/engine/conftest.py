"""A session beside the fake cloud."""

import pytest

from diskbench.engine.session import open_session
from diskbench.providers.fake.cloud import VARIABLE


@pytest.fixture
def session(tmp_path, monkeypatch):
    """A session with stores and a fake cloud of its own, in the test's directory."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cloud"))
    made = open_session(f"sqlite:///{tmp_path}/rows.db", (tmp_path / "evidence").as_uri())
    yield made
    made.close()
