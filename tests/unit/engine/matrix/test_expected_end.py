"""When a matrix should end: of many waiting cells by groups, of few in their order."""

import random
from datetime import UTC, datetime

import pytest
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row

from diskbench.engine.matrix import status
from diskbench.engine.matrix.status import look_at
from diskbench.model.matrix import Limits
from diskbench.store.campaigns import load_campaign, save_campaign
from diskbench.store.database import open_database

LONGEST_S = 1800.0
NOW = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def database(tmp_path):
    engine = open_database(f"sqlite:///{tmp_path}/rows.db")
    yield engine
    engine.dispose()


def end(database):
    text = look_at(database, load_campaign(database, CAMPAIGN)).totals.expected_end
    return None if text is None else datetime.fromisoformat(text)


@pytest.mark.parametrize("seed", range(3))
def test_the_end_by_groups_differs_by_at_most_the_longest_cell(database, monkeypatch, seed):
    draw = random.Random(seed)
    cells = [
        cell_row(
            n,
            partition=draw.choice(["aws/us-east-1", "aws/eu-west-1"]),
            expected_s=draw.choice([300.0, 700.0, LONGEST_S]),
            machine=draw.choice([None, None, "m1"]),
        )
        for n in range(400)
    ]
    save_campaign(database, campaign_row(limits=Limits(max_parallel=7)), cells)
    monkeypatch.setattr(status, "database_time", lambda _: NOW)
    in_order = end(database)
    monkeypatch.setattr(status, "MOST_IN_ORDER", 0)
    assert abs((end(database) - in_order).total_seconds()) <= LONGEST_S


def test_no_end_is_known_where_the_time_of_one_cell_is_not(database, monkeypatch):
    cells = [cell_row(n, expected_s=None if n == 30 else 600.0) for n in range(40)]
    save_campaign(database, campaign_row(), cells)
    assert end(database) is None
    monkeypatch.setattr(status, "MOST_IN_ORDER", 0)
    assert end(database) is None
