"""What became of a matrix, counted behind diskbench's back: in the tables, the evidence store, and
wherever something could have been left."""

import argparse
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

FINAL = ("done", "failed", "refused", "cancelled")
_OVER = ("done", "failed", "interrupted", "cancelled")


@dataclass(frozen=True)
class Books:
    """The counts. Everything but the first four must be empty: each names what is wrong."""

    cells: int
    done: int
    failed: int
    rows: int
    """Rows of the cells that are done."""
    unsettled: tuple[str, ...]
    """Cells that are not over, or ended without a reason."""
    leaked: tuple[str, ...]
    lost: tuple[str, ...]
    """Rows that a cell that is done should have and has not, and runs that never ended."""
    doubled: tuple[str, ...]
    """Rows, steps or runs that are there more often than they were asked for."""

    @property
    def counts(self):
        ends = {"cells": self.cells, "done": self.done, "failed with reason": self.failed}
        found = {"rows": self.rows, "without an end": len(self.unsettled)}
        wrong = {"leaked": self.leaked, "lost": self.lost, "doubled": self.doubled}
        return ends | found | {name: len(what) for name, what in wrong.items()}

    @property
    def wrong(self):
        return (*self.unsettled, *self.leaked, *self.lost, *self.doubled)


def audit(database_url, evidence, *, expected, left=(), newest=False):
    """The books of all matrices of a database, or of the newest. `expected`: step and direction of
    every row that one run of a cell has; `left`: what is still there of what was rented."""
    engine = sa.create_engine(
        database_url.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool
    )
    with engine.connect() as connection:
        tables = _Tables(connection, newest=newest)
    cells, runs = tables.cells, tables.runs
    newest = {cell["trial_id"]: cell for cell in cells}
    unsettled = [
        f"{cell['key']} is {cell['state']}: {cell['error']}"
        for cell in cells
        if cell["state"] not in FINAL or (cell["state"] != "done" and not cell["error"])
    ]
    lost = [f"run {run['run_id']} is {run['state']}" for run in runs if run["state"] not in _OVER]
    doubled, counted = [], 0
    by_trial = {}
    for run in runs:
        by_trial.setdefault(run["trial_id"], []).append(run)
        if run["state"] == "done" and run["trial_id"] not in newest:
            doubled.append(f"run {run['run_id']} of an older attempt is done")
    for cell in (one for one in cells if one["state"] == "done"):
        wanted = cell["cell"]["runs"]
        got = [run for run in by_trial.get(cell["trial_id"], ()) if run["state"] == "done"]
        lost += [f"{cell['key']} has {len(got)} runs of {wanted}"] * (len(got) < wanted)
        doubled += [f"{cell['key']} has {len(got)} runs, not {wanted}"] * (len(got) > wanted)
        for run in got:
            rows = tables.rows.get(run["run_id"], Counter())
            counted += rows.total()
            lost += [f"{cell['key']}: no row {row}" for row in expected if not rows[row]]
            doubled += [f"{cell['key']}: {n} rows {row}" for row, n in rows.items() if n > 1]
            steps = len({step for step, _ in expected})
            lost += _lost_evidence(evidence, run["run_id"], steps)
    states = Counter(cell["state"] for cell in cells)
    return Books(
        cells=len(cells),
        done=states["done"],
        failed=sum(states[name] for name in ("failed", "refused", "cancelled")),
        rows=counted,
        unsettled=tuple(unsettled),
        leaked=(*left, *tables.leases, *_on_this_machine(by_trial)),
        lost=tuple(lost),
        doubled=tuple(doubled),
    )


def in_directories(*bases):
    found = [str(p) for base in bases for p in (*base.glob("resources/*"), *base.glob("*/lease*"))]
    listed = subprocess.run(
        ["losetup", "-l", "-n", "-O", "BACK-FILE"], capture_output=True, text=True, check=True
    )
    return found + [
        line for line in listed.stdout.splitlines() if line.startswith(tuple(map(str, bases)))
    ]


class _Tables:
    def __init__(self, connection, *, newest):
        campaign = sa.select(sa.func.max(_MATRIX.c.campaign_id)).scalar_subquery()
        cells, runs = sa.select(_CELL), sa.select(_RUN)
        if newest:
            cells = cells.where(_CELL.c.campaign_id == campaign)
            runs = runs.where(_RUN.c.campaign_id == campaign)
        self.cells = _all(connection, cells)
        self.runs = _all(connection, runs)
        mine = {run["run_id"] for run in self.runs}
        self.rows = {}
        for row in _all(connection, sa.select(_ROW).where(_ROW.c.scope == "step")):
            if row["run_id"] in mine:
                counted = self.rows.setdefault(row["run_id"], Counter())
                counted[row["step"], row["direction"]] += 1
        self.leases = [
            f"lease {row['lease_id']} is {row['state']}: {row['error']}"
            for row in _all(connection, sa.select(_LEASE).where(_LEASE.c.state != "released"))
        ]


def _table(name, *columns):
    return sa.table(f"diskbench_{name}", *map(sa.column, columns))


_MATRIX = _table("matrix", "campaign_id")
_CELL = sa.table(
    "diskbench_cell",
    *map(sa.column, ("campaign_id", "key", "state", "error", "trial_id")),
    sa.column("cell", sa.JSON),
)
_RUN = _table("run", "campaign_id", "run_id", "trial_id", "state")
_ROW = _table("measurement", "run_id", "scope", "step", "direction")
_LEASE = _table("lease", "lease_id", "state", "error")


def _all(connection, query):
    return list(connection.execute(query).mappings())


def _lost_evidence(evidence, run_id, steps):
    """The plan first, every step closed, the manifest last."""
    place = evidence / "runs" / run_id
    missing = [name for name in ("plan.json", "manifest.json") if not (place / name).is_file()]
    if missing:
        return [f"run {run_id} has no {' and no '.join(missing)}"]
    closed = len(list(place.glob("steps/*/step.json")))
    return [f"run {run_id} has evidence of {closed} steps, not {steps}"] * (closed != steps)


def _on_this_machine(trials):
    """A trial's files on a host are named after it; the fake cloud's machine is this one."""
    return [str(path) for name in trials for path in Path("/var/tmp").glob(f"diskbench-{name}*")]


def main():
    """Print the counts of the newest matrix and what is wrong; ends with 1 if anything is. `python
    -m tests.rigs.books DATABASE_URL EVIDENCE_DIRECTORY STEP/DIRECTION…`"""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database_url")
    parser.add_argument("evidence", type=Path)
    parser.add_argument("rows", nargs="+", help="step/direction of each row of a run")
    given = parser.parse_args()
    rows = [(step, direction) for step, _, direction in (row.partition("/") for row in given.rows)]
    books = audit(given.database_url, given.evidence, expected=rows, newest=True)
    for name, count in books.counts.items():
        print(f"  {name:20} {count}")
    for one in books.wrong:
        print(f"    {one}")
    return 1 if books.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
