"""What the turn of a cell reads: the same, by an index, in a matrix of any size."""

import pytest
import sqlalchemy as sa
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row

from diskbench.engine.matrix.admission import feed
from diskbench.model.matrix import Limits
from diskbench.store import schema
from diskbench.store.campaigns import load_campaign, save_campaign
from diskbench.store.cells import live_cells, load_cells
from diskbench.store.database import database_time
from diskbench.store.machines import MachineRecord
from diskbench.store.matrix_lock import Locked, locked

MANY = 1_000
LIVE_CELLS = 12
LIMITS = Limits(max_parallel=LIVE_CELLS + 1, calls_per_minute={"aws": 10**6})


def filled(database, count):
    """A matrix half of whose cells are done, with one place free."""
    done = count // 2
    rows = [
        cell_row(
            n,
            state="done" if n < done else "measuring" if n < done + LIVE_CELLS else "waiting",
            queued_at="2026-11-01T00:00:00.000000+00:00" if n < done + LIVE_CELLS else None,
        )
        for n in range(count)
    ]
    save_campaign(database, campaign_row(limits=LIMITS), rows)
    if database.dialect.name == "postgresql":
        with database.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(sa.text(f"ANALYZE {schema.cell.name}"))


@pytest.fixture
def sent(any_database):
    """The statements that were sent, with their parameters."""
    found = []

    def note(_connection, _cursor, statement, parameters, *_):
        found.append((statement, parameters))

    sa.event.listen(any_database, "before_cursor_execute", note)
    yield found
    sa.event.remove(any_database, "before_cursor_execute", note)


def turn(database):
    return feed(database, load_campaign(database, CAMPAIGN), machines=())


@pytest.mark.parametrize("free", [1, 0])
def test_a_turn_of_a_thousand_cells_reads_by_indexes_alone(any_database, sent, free):
    filled(any_database, MANY)
    for _ in range(1 - free):
        turn(any_database)
    campaign = load_campaign(any_database, CAMPAIGN)
    sent.clear()
    _, begun = feed(any_database, campaign, machines=())
    live_cells(any_database)
    assert begun == free
    cells = [one for one in sent if schema.cell.name in one[0] and one[0].startswith("SELECT")]
    assert cells
    with any_database.connect() as connection:
        for statement, parameters in cells:
            word = "EXPLAIN" if any_database.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN"
            plan = connection.exec_driver_sql(f"{word} {statement}", parameters).all()
            text = "\n".join(str(row) for row in plan)
            assert "ix_diskbench_cell_" in text, f"{statement}\n{text}"
            assert "Seq Scan" not in text, f"{statement}\n{text}"
            assert "SCAN diskbench_cell" not in text, f"{statement}\n{text}"


def test_a_turn_sends_as_many_statements_in_a_large_matrix_as_in_a_small_one(any_database, sent):
    counts = []
    for count in (100, 1000):
        with any_database.begin() as connection:
            connection.execute(sa.delete(schema.campaign))
        filled(any_database, count)
        sent.clear()
        turn(any_database)
        counts.append(len(sent))
    assert counts[0] == counts[1]


def test_while_the_lock_of_a_matrix_is_held_few_statements_are_sent(any_database, sent):
    """A cell ended, and the next one takes its place: lock, cells under way, cells that wait, the
    one that begins. Other processes wait for the lock meanwhile."""
    filled(any_database, 100)
    campaign = load_campaign(any_database, CAMPAIGN)
    sent.clear()
    _, begun = feed(any_database, campaign, machines=())
    assert begun == 1
    timed = 1  # LIMITS has calls a minute, which needs the time before the cells are read
    lock = 1 if any_database.dialect.name == "postgresql" else 2
    assert len(sent) == lock + timed + 3


def test_the_cells_of_a_turn_get_the_time_at_which_they_were_read(any_database, sent):
    filled(any_database, 20)
    before = database_time(any_database)
    with locked(any_database, CAMPAIGN) as look:
        look.under_way(since=None)
        sent.clear()
        assert before <= look.now() <= database_time(any_database)
        assert not look.is_over()
    assert len(sent) == 1, "the time that is compared with, and nothing of the look"


@pytest.mark.parametrize("limits", [{}, {"budget_usd": 1e9, "assume_price_usd_per_hour": 0.1}])
def test_a_turn_reads_as_many_cells_whatever_waits_for_a_shared_machine(
    any_database, monkeypatch, limits
):
    """Cells of four machines, one of which works and one of which stands idle."""
    read = []
    real = Locked._cells
    monkeypatch.setattr(
        Locked, "_cells", lambda *given, **named: _counted(read, real(*given, **named))
    )
    counts = []
    for count in (200, 1000):
        with any_database.begin() as connection:
            connection.execute(sa.delete(schema.campaign))
        cells = [
            cell_row(
                n,
                state="done" if n < count // 2 else "measuring" if n == count // 2 else "waiting",
                machine=f"m{n % 4}",
            )
            for n in range(count)
        ]
        save_campaign(any_database, campaign_row(limits=Limits(max_parallel=2, **limits)), cells)
        standing = [
            MachineRecord.model_construct(campaign_id=CAMPAIGN, name=name) for name in ("m0", "m1")
        ]
        read.clear()
        campaign = load_campaign(any_database, CAMPAIGN)
        _, begun = feed(any_database, campaign, machines=standing)
        assert begun == 1
        waiting = [row.machine for row in load_cells(any_database, CAMPAIGN) if row.trial_id]
        assert waiting == ["m1"]  # m0 works, and both places are those of the machines
        counts.append(sum(read))
    assert counts[0] == counts[1]


def _counted(read, rows):
    read.append(len(rows))
    return rows
