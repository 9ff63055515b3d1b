"""How often PostgreSQL is asked for one thing, and what a broken connection costs."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from tests.rigs.plans import make_plan

from diskbench.store import schema
from diskbench.store.cells import run_cells
from diskbench.store.database import one_statement, open_database, transaction
from diskbench.store.leases import Lease
from diskbench.store.rows import save_plans
from diskbench.store.upsert import insert_missing, upsert

ROWS = [{"campaign_id": f"c{n}", "created_at": f"2026-11-0{n}"} for n in range(1, 6)]


@pytest.fixture
def sent(any_database):
    """The statements that were sent."""
    found: list[str] = []

    def note(_connection, _cursor, statement, *_):
        found.append(statement)

    sa.event.listen(any_database, "before_cursor_execute", note)
    yield found
    sa.event.remove(any_database, "before_cursor_execute", note)


def campaigns(database):
    query = sa.select(schema.campaign.c.campaign_id, schema.campaign.c.created_at)
    with one_statement(database) as connection:
        return {row.campaign_id: row.created_at for row in connection.execute(query)}


@pytest.mark.parametrize(
    ("write", "kept"), [(insert_missing, {"c1": "first"}), (upsert, {})], ids=["missing", "upsert"]
)
def test_many_rows_are_one_statement(any_database, sent, write, kept):
    with transaction(any_database) as connection:
        write(connection, schema.campaign, [ROWS[0] | {"created_at": "first"}])
        before = len(sent)
        write(connection, schema.campaign, ROWS)
    assert len(sent) - before == 1
    of_rows = {row["campaign_id"]: row["created_at"] for row in ROWS}
    assert campaigns(any_database) == of_rows | kept


def test_one_row_may_hold_an_expression(any_database):
    row = {"campaign_id": "c1", "created_at": sa.func.lower("NOW")}
    with transaction(any_database) as connection:
        insert_missing(connection, schema.campaign, [row])
    assert campaigns(any_database) == {"c1": "now"}


def saved_at_once(database, sent, count):
    """The statements that save `count` trials of one run, with their leases."""
    plans = [
        make_plan((f"{count * 10 + n:026}",), campaign_id=f"{count:026}") for n in range(count)
    ]
    held = [
        Lease(lease_id=plan.trial_id, provider="ssh", created_at="2026-11-21T10:00:00")
        for plan in plans
    ]
    before = len(sent)
    save_plans(database, plans, "file:///e", owner="me", leases=held)
    assert [cell.position for cell in run_cells(database)][-count:] == list(range(count))
    return len(sent) - before - 1


def test_many_hosts_are_saved_with_as_many_statements_as_one(any_database, sent):
    one, many = (saved_at_once(any_database, sent, count) for count in (1, 8))
    assert many == one


def test_a_host_that_is_saved_again_or_later_keeps_the_places_of_the_others(any_database):
    plans = [make_plan((f"{n:026}",)) for n in range(3)]
    save_plans(any_database, plans[:2], "file:///e", owner="me")
    save_plans(any_database, plans, "file:///e", owner="another")
    places = {cell.trial_id: (cell.position, cell.owner) for cell in run_cells(any_database)}
    names = [plan.trial_id for plan in plans]
    assert places == dict(zip(names, [(0, "me"), (1, "me"), (2, "another")], strict=True))


def end_connections(url):
    """End all connections to a database, as a restart of the server does."""
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(
            sa.text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )


@pytest.mark.slow
@pytest.mark.parametrize("any_database_url", ["postgresql"], indirect=True)
def test_connections_that_broke_while_idle_are_made_anew(any_database_url):
    database = open_database(any_database_url)
    assert campaigns(database) == {}
    end_connections(any_database_url)
    assert campaigns(database) == {}
    database.dispose()
