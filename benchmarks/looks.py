"""What does a turn of a matrix cost while thousands of its cells wait, by the kind of its limits?

Here a matrix has one place free and `--cells` waiting cells, half as many ended before them. A
process looks, locks the matrix and lets one cell begin. Printed are CPU of this process, wall time
and statements, the median of `--repeats`.

    python benchmarks/looks.py [--cells 100 1000 10000] [--repeats 5]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import sqlalchemy as sa

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row  # noqa: E402
from tests.rigs.postgres import running_postgres  # noqa: E402

from diskbench.engine.matrix.admission import feed  # noqa: E402
from diskbench.model.campaign import CellRow  # noqa: E402
from diskbench.model.matrix import Limits  # noqa: E402
from diskbench.store import schema  # noqa: E402
from diskbench.store.campaigns import load_campaign, save_campaign, traits_of  # noqa: E402
from diskbench.store.database import open_database, transaction  # noqa: E402
from diskbench.store.machines import MachineRecord  # noqa: E402

LIVE = 12
_BACK = sa.text(
    f"UPDATE {schema.cell.name} SET state = 'waiting', trial_id = NULL, queued_at = NULL"  # noqa: S608
    " WHERE state = 'queued'"
)
KINDS: dict[str, Limits] = {
    "places alone": Limits(max_parallel=LIVE + 1),
    "calls_per_minute": Limits(max_parallel=LIVE + 1, calls_per_minute={"aws": 10**6}),
    "budget": Limits(max_parallel=LIVE + 1, budget_usd=10.0**9, assume_price_usd_per_hour=0.1),
    "until_ci": Limits(max_parallel=LIVE + 1, until_ci=0.05),
    "reuse_host": Limits(max_parallel=LIVE + 1),
}


def main() -> int:
    """Measure each kind at each size and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="+", default=[100, 1000, 10000])
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    print(f"{'limits':18} {'waiting':>8} {'CPU, ms':>9} {'wall, ms':>9} {'statements':>11}")
    for kind, limits in KINDS.items():
        for count in given.cells:
            cpu, wall, sent = look_at(kind, limits, count, given.repeats)
            print(f"{kind:18} {count:8} {cpu:9.1f} {wall:9.1f} {sent:11}", flush=True)
    return 0


def look_at(kind: str, limits: Limits, waiting: int, repeats: int) -> tuple[float, float, int]:
    """Median CPU and wall milliseconds of a turn while `waiting` cells wait, and its statements."""
    with running_postgres() as url:
        database = open_database(url)
        save_campaign(database, campaign_row(limits=limits), cells_of(kind, waiting))
        with database.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(sa.text(f"ANALYZE {schema.cell.name}"))
        sent: list[str] = []
        sa.event.listen(
            database, "before_cursor_execute", lambda _c, _u, statement, *_: sent.append(statement)
        )
        partitions = traits_of(database, CAMPAIGN).partitions
        campaign = load_campaign(database, CAMPAIGN)
        machines = (shared(),) if kind == "reuse_host" else ()
        cpus, walls = [], []
        for _ in range(repeats):
            sent.clear()
            wall, cpu = time.perf_counter(), time.process_time()
            feed(database, campaign, machines=machines, partitions=partitions)
            cpus.append(time.process_time() - cpu)
            walls.append(time.perf_counter() - wall)
            statements = len(sent)
            with transaction(database) as connection:
                connection.execute(_BACK)
        database.dispose()
    return statistics.median(cpus) * 1e3, statistics.median(walls) * 1e3, statements


def cells_of(kind: str, waiting: int) -> list[CellRow]:
    """Half as many ended cells as waiting ones, some live ones, and those that wait."""
    ended = waiting // 2
    states = ["done"] * ended + ["measuring"] * LIVE + ["waiting"] * waiting
    return [
        cell_row(
            n,
            state=state,
            trial_id=None if state == "waiting" else f"01kq8z6rhz{n:016d}",
            queued_at=None if state == "waiting" else "2026-11-01T00:00:00.000000+00:00",
            machine=f"m{n % 100}" if kind == "reuse_host" else None,
            block=f"b{n % 100}",
        )
        for n, state in enumerate(states)
    ]


def shared() -> MachineRecord:
    """A machine that cells of the matrix share, free for the next one."""
    return MachineRecord.model_construct(
        lease_id="01kq8z6rhzmmmmmmmmmmmmmmmm",
        campaign_id=CAMPAIGN,
        name="m0",
        state="open",
        turn=1,
    )


if __name__ == "__main__":
    sys.exit(main())
