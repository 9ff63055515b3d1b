"""Selections of a large store use indexes: PostgreSQL's own plans of what is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa
from tests.rigs import synthetic_store
from tests.rigs.figures import find_regressions, trial_figures

from diskbench.results.selection import Selection, chosen, listed
from diskbench.store.database import open_database

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

RUNS, REGIONS, DISKS = 20_000, synthetic_store.REGIONS[:10], synthetic_store.DISKS[:10]
LARGE = re.compile(r"Seq Scan.*\b(diskbench_(run|measurement|headline|step))\b")
PAGE = 5
"""For fifty trials it is right to read the headlines of so small a table whole."""
NEWEST_DAY = "2026-11-01"
PLACE = (f"disk={DISKS[1]}", f"region={REGIONS[3]}")


@pytest.fixture(scope="module")
def large(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sa.Engine]:
    server = sa.make_url(postgres_url).set(drivername="postgresql+psycopg")
    admin = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sa.text("CREATE DATABASE large"))
    admin.dispose()
    url = server.set(drivername="postgresql", database="large")
    engine = open_database(url.render_as_string(hide_password=False))
    scratch = tmp_path_factory.mktemp("example")
    synthetic_store.fill(engine, RUNS, scratch, regions=REGIONS, disks=DISKS)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        # What this server committed and did not write yet, VACUUM could not mark as seen by all.
        connection.exec_driver_sql("CHECKPOINT")
        connection.exec_driver_sql("VACUUM diskbench_run")
    yield engine
    engine.dispose()


def list_of(*filters: str, since: str | None = None) -> Callable[[sa.Engine], object]:
    def run(engine: sa.Engine) -> object:
        wanted = chosen(engine, Selection((), filters, since))
        trials, total = listed(engine, wanted, limit=PAGE, at_work=tuple)
        assert 0 < len(trials) <= total
        return trials

    return run


def of_matrix(engine: sa.Engine) -> object:
    with engine.connect() as connection:
        query = "SELECT max(campaign_id) FROM diskbench_campaign"
        campaign_id = connection.exec_driver_sql(query).scalar_one()
    return list_of(f"campaign_id={campaign_id}")(engine)


def of_compare(engine: sa.Engine) -> object:
    figures = trial_figures(engine, chosen(engine, Selection((), PLACE)), "iops")
    assert len(figures) == 2 * RUNS / (len(REGIONS) * len(DISKS) * synthetic_store.RUNS_A_TRIAL)
    return figures


def of_regressions(engine: sa.Engine) -> object:
    found = find_regressions(engine, chosen(engine, Selection((), PLACE)))
    assert found.histories
    return found


CASES: dict[str, Callable[[sa.Engine], object]] = {
    "disk and region": list_of(*PLACE),
    "provider, disk and region": list_of("provider=aws", *PLACE),
    "region": list_of(PLACE[1]),
    "disk": list_of(PLACE[0]),
    "time": list_of(since=NEWEST_DAY),
    "disk, region and time": list_of(*PLACE, since="2026-10-31"),
    "matrix": of_matrix,
    "compare": of_compare,
    "regressions": of_regressions,
}


@pytest.mark.parametrize("name", CASES)
def test_no_large_table_is_read_whole(large: sa.Engine, name: str) -> None:
    for statement, values in sent_by(large, CASES[name]):
        with large.connect() as connection:
            rows = connection.exec_driver_sql(f"EXPLAIN {statement}", values)
            plan = "\n".join(row[0] for row in rows)
        assert not LARGE.search(plan), f"{statement}\n{json.dumps(values, default=str)}\n{plan}"


def sent_by(engine: sa.Engine, run: Callable[[sa.Engine], object]) -> list[tuple[str, object]]:
    """The statements that `run` sends, with their values."""
    sent: list[tuple[str, object]] = []

    def note(_c: object, _k: object, statement: str, values: object, *_: object) -> None:
        sent.append((statement, values))

    sa.event.listen(engine, "before_cursor_execute", note)
    try:
        run(engine)
    finally:
        sa.event.remove(engine, "before_cursor_execute", note)
    assert sent
    return sent
