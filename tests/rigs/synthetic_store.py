"""A synthetic store of any number of runs, the same at every call: rows only, no evidence.

`fill` copies one run of the example data: its plan, its run and its measured step are real rows,
with other ids, places, times and figures. A time is one campaign in which every configuration
(region and disk type) is measured by one trial of RUNS_A_TRIAL runs; the last may be cut short.
Steps last half a minute, so that no command looks for phases in evidence that is not there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from ulid import base32

from diskbench import __version__
from diskbench.store import schema
from diskbench.store.example import example_data

REGIONS = tuple(f"region-{n:02}" for n in range(50))
DISKS = tuple(f"disk-{n:02}" for n in range(20))
RUNS_A_TRIAL = 5
BETWEEN_TIMES = timedelta(hours=6)
LAST = datetime(2026, 11, 1, tzinfo=UTC)
"""When the newest campaign is measured."""
STEP_S = 30.0
_TABLES = (
    schema.campaign,
    schema.trial,
    schema.run,
    schema.step,
    schema.measurement,
    schema.headline,
)
_Place = tuple[str, str]
_Rows = dict[str, list[dict[str, Any]]]


def fill(
    engine: Engine,
    runs: int,
    scratch: Path,
    *,
    regions: Sequence[str] = REGIONS,
    disks: Sequence[str] = DISKS,
) -> None:
    """Add `runs` runs to the empty database of `engine`; the example is unpacked in `scratch`."""
    template = _template(scratch)
    places = [(region, disk) for disk in disks for region in regions]
    for rows in _by_time(runs, places, template):
        with engine.begin() as connection:
            for table in _TABLES:
                _write(connection, table, rows[table.name])
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        # PostgreSQL does so by itself after a while, SQLite never for a table without statistics.
        is_postgres = engine.dialect.name == "postgresql"
        connection.exec_driver_sql("VACUUM (ANALYZE)" if is_postgres else "ANALYZE")


def _by_time(runs: int, places: Sequence[_Place], template: _Rows) -> Iterator[_Rows]:
    at_once = len(places) * RUNS_A_TRIAL
    times = -(-runs // at_once)
    for time in range(times):
        at = LAST - BETWEEN_TIMES * (times - 1 - time)
        yield _rows_of_time(time, at, min(at_once, runs - time * at_once), places, template)


def _rows_of_time(
    time: int, at: datetime, runs: int, places: Sequence[_Place], template: _Rows
) -> _Rows:
    """The rows of one campaign, by table."""
    chance = Random(time)
    rows: _Rows = {table.name: [] for table in _TABLES}
    campaign_id = _ulid(at, chance)
    rows["diskbench_campaign"].append({"campaign_id": campaign_id, "created_at": _iso(at)})
    (trial,), (run,) = template["trial"], template["run"]
    # A burst on a lab disk is as short as its time scale says: that of a cloud's takes minutes.
    real = re.sub(r'"time_scale": [0-9.]+', '"time_scale": 1.0', trial["plan"])
    document = json.loads(real)
    rent = json.dumps(document["cell"]["rent"])
    for number in range(-(-runs // RUNS_A_TRIAL)):
        region, disk = places[number]
        begin = at + timedelta(seconds=number % 600)
        level = 1000.0 * (1 + DISKS.index(disk)) * chance.gauss(1, 0.02)
        trial_id = _ulid(begin, chance)
        plan = real.replace(trial["trial_id"], trial_id)
        plan = plan.replace('"disk": "gp2"', f'"disk": "{disk}"', 1)
        plan = plan.replace('"region": null', f'"region": "{region}"', 1)
        rented = {"scope": json.dumps(document["rental"]["scope"] | {"region": region})}
        rented["rent"] = json.dumps(document["cell"]["rent"] | {"disk": disk, "region": region})
        plan = plan.replace(f'"rent": {rent}', f'"rent": {rented["rent"]}')
        made = {"campaign_id": campaign_id, "trial_id": trial_id}
        rows["diskbench_trial"].append(
            {**trial, **made, **rented, "plan": plan, "created_at": _iso(begin)}
        )
        for index in range(min(RUNS_A_TRIAL, runs - number * RUNS_A_TRIAL)):
            started = begin + timedelta(minutes=index)
            run_id, when = _ulid(started, chance), _iso(started)
            rows["diskbench_run"].append(
                {
                    **run, **made, "run_id": run_id, "run_index": index, "created_at": when,
                    "started_at": when, "finished_at": when, "measured_at": when,
                    "provider": "aws", "disk_cloud": "aws", "region": region, "zone": f"{region}a",
                    "disk_type": disk, "instance_type": "m7i.large", "emulated": False,
                    "hostname": f"host-{trial_id[-12:]}",
                    "labels": json.dumps({"team": f"team-{number % 40}"}),
                }
            )  # fmt: skip
            figure = level * chance.gauss(1, 0.01)
            rows["diskbench_step"].append({**template["step"][0], "run_id": run_id})
            for row in template["measurement"]:
                moved = {"iops": figure, "bytes_per_s": 4096 * figure, "ios": int(figure * STEP_S)}
                moved |= {"bytes": int(4096 * figure * STEP_S), "runtime_ns": int(STEP_S * 1e9)}
                rows["diskbench_measurement"].append({**row, **moved, "run_id": run_id})
            rows["diskbench_headline"].append(
                {
                    "run_id": run_id, "step": template["step"][0]["step"], "iops": figure,
                    "bytes_per_s": 4096 * figure, "kind": None, "trust": "good",
                    "judged_by": __version__,
                }
            )  # fmt: skip
    return rows


def _template(scratch: Path) -> _Rows:
    """One trial of the example with its run, its measured step and the rows of this step. What is
    JSON stays text."""
    example = sa.create_engine(example_data(scratch).database)
    with example.connect() as connection:
        run_id = connection.exec_driver_sql("SELECT min(run_id) FROM diskbench_run").scalar_one()

        def rows(table: str, where: str) -> list[dict[str, Any]]:
            query = f"SELECT * FROM diskbench_{table} WHERE {where}"  # noqa: S608 - our own words
            return [dict(row) for row in connection.exec_driver_sql(query).mappings()]

        run = rows("run", f"run_id = '{run_id}'")
        found = {
            "run": run,
            "trial": rows("trial", f"trial_id = '{run[0]['trial_id']}'"),
            "step": rows("step", f"run_id = '{run_id}' AND role = 'measure'")[:1],
        }
        index = found["step"][0]["step_index"]
        found["measurement"] = rows("measurement", f"run_id = '{run_id}' AND step_index = {index}")
    example.dispose()
    # A job, the step, and the same step in another direction: three rows, as of real runs.
    step = next(row for row in found["measurement"] if row["scope"] == "step")
    found["measurement"].append({**step, "direction": "write", "position": step["position"] + 1})
    return found


def _write(connection: Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    if not rows:
        return
    names = [column.name for column in table.columns]
    flags = [isinstance(column.type, sa.Boolean) for column in table.columns]
    values = (
        [
            bool(row.get(name)) if flag else row.get(name)
            for name, flag in zip(names, flags, strict=True)
        ]
        for row in rows
    )
    cursor = connection.connection.cursor()
    quoted = ", ".join(f'"{name}"' for name in names)
    if connection.dialect.name == "postgresql":
        _copy(cursor, f"COPY {table.name} ({quoted}) FROM STDIN", values)
        return
    marks = ", ".join("?" * len(names))
    cursor.executemany(f"INSERT INTO {table.name} ({quoted}) VALUES ({marks})", values)  # noqa: S608


def _copy(cursor: Any, statement: str, rows: Iterable[Sequence[Any]]) -> None:
    with cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def _ulid(at: datetime, chance: Random) -> str:
    stamp = int(at.timestamp() * 1000).to_bytes(6, "big")
    return base32.encode(stamp + chance.randbytes(10)).lower()


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")
