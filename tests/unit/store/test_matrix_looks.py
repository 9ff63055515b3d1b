"""What a look at a matrix reads: as many rows, by as many statements, however many cells it has."""

import pytest
import sqlalchemy as sa
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row
from tests.rigs.statements import counted_reads

from diskbench.cli.matrix_display import print_matrix_status, progress_table
from diskbench.engine.matrix.campaign import changed_cells
from diskbench.engine.matrix.status import fleet, look_at
from diskbench.engine.processes import enrol
from diskbench.store import schema
from diskbench.store.campaigns import load_campaign, save_campaign
from diskbench.store.claims import describe_executor
from diskbench.store.clock import now

SMALL, LARGE = 100, 3_000
LIVE_CELLS, FAILED = 6, 4


def filled(database, count, *, over=False):
    """A matrix whose worker has six cells; four failed, a third is done, and the others wait. Or
    it is `over`: all are done but the four."""
    rows = [cell_row(n, **_state(n, count, over=over)) for n in range(count)]
    state = {"state": "done", "finished_at": now()} if over else {}
    save_campaign(database, campaign_row(**state), rows)
    enrol(database, "e1")
    describe_executor(database, "e1", queues=["aws"])


def _state(n, count, *, over):
    ended = {"attempt": 1, "started_at": now(), "finished_at": now()}
    if n < FAILED:
        return {"state": "failed", "error": "fio ended with 1", **ended}
    if over or n < count // 3:
        return {"state": "done", "trial_id": f"t{n}", **ended}
    if n < count // 3 + LIVE_CELLS:
        return {"state": "measuring", "trial_id": f"t{n}", "owner": "e1", "started_at": now()}
    return {}


def look(database):
    return look_at(database, load_campaign(database, CAMPAIGN))


def reads(database, count, show, **given):
    with database.begin() as connection:
        connection.execute(sa.delete(schema.campaign))
    filled(database, count, **given)
    with counted_reads(database) as rows:
        show(database)
    return rows


@pytest.mark.parametrize(
    "show",
    [
        look,
        lambda database: progress_table(database, CAMPAIGN),
        lambda database: look(database).without_result(),
        fleet,
    ],
    ids=["a line", "the live table", "what failed", "status"],
)
def test_a_large_matrix_is_looked_at_by_as_few_rows_as_a_small_one(any_database, show):
    few, many = (reads(any_database, count, show) for count in (SMALL, LARGE))
    assert len(many) == len(few)
    assert sum(many) <= sum(few)


def test_the_end_of_a_large_matrix_reads_the_cells_without_a_result_alone(any_database, capsys):
    def show(database):
        print_matrix_status(look(database), "table")

    few, many = (reads(any_database, count, show, over=True) for count in (SMALL, LARGE))
    assert (len(many), sum(many)) == (len(few), sum(few))
    assert capsys.readouterr().out.count("fio ended with 1") == 2 * FAILED


def test_the_next_look_for_changes_reads_the_cells_under_way_alone(any_database):
    counts = []
    for count in (SMALL, LARGE):
        known = {}

        def first(database, known=known):
            assert len(list(changed_cells(database, CAMPAIGN, known))) > LIVE_CELLS

        reads(any_database, count, first)
        with counted_reads(any_database) as rows:
            assert list(changed_cells(any_database, CAMPAIGN, known)) == []
        counts.append(rows)
    assert counts[0] == counts[1]
    states = 4
    assert sum(counts[0]) == LIVE_CELLS + states
