"""A frame opens its database once and reads the rows of the runs that were asked for."""

import pytest
import sqlalchemy as sa
from tests.rigs.replicates import measured

import diskbench
from diskbench.store import database as module
from diskbench.store.database import open_database

ROWS = 3


@pytest.fixture
def url(tmp_path):
    url = f"sqlite:///{tmp_path}/rows.db"
    engine = open_database(url)
    trials = measured(engine, [100.0] * ROWS)
    engine.dispose()
    return url, trials


@pytest.mark.parametrize(
    "load", [diskbench.load_runs, diskbench.load_measurements, diskbench.load_expected]
)
def test_a_frame_opens_the_database_once(url, load, monkeypatch):
    opened = []
    real = module.open_database
    monkeypatch.setattr(module, "open_database", lambda *a, **k: opened.append(a) or real(*a, **k))
    load(database=url[0])
    assert len(opened) == 1


def test_measurements_of_one_run_read_the_row_of_no_other(url, monkeypatch):
    asked = []
    real = module.open_database

    def watched(*typed, **more):
        engine = real(*typed, **more)
        sa.event.listen(engine, "before_cursor_execute", lambda *a: asked.append((a[2], a[3])))
        return engine

    monkeypatch.setattr(module, "open_database", watched)
    frame = diskbench.load_measurements(url[1][0], database=url[0])
    assert frame.height
    bought = [(text, values) for text, values in asked if "disk_cloud" in text and "region" in text]
    whole = [text for text, values in bought if "WHERE" not in text]
    assert bought
    assert whole == []
