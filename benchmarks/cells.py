"""Many null cells, several workers, one PostgreSQL: what does a cell cost, and is the order held?

The cells are the fake cloud's, so that what is seen is diskbench's own work: fio runs for a tenth
of a second on its null engine. Printed are CPU, SQL statements, transactions and bytes of
checkpoints a cell, each apart; and the makespan beside the ideal one, the sum of work over the
parallelism that is allowed: by the work of fio alone, and by the time that cells took here, where
several workers share the processors of one machine. `--json FILE` adds one line to FILE a run, from
which benchmarks/cells_chart.py draws the curves of docs/scale.md.

    python benchmarks/cells.py [--cells 1000] [--workers 4] [--json FILE] [--statements 20]
    python benchmarks/cells.py --cells 10000 --workers 16        (an hour or more on two cores)
    python benchmarks/cells.py --cells 10000 --workers 16 --first 400       (its first 400 cells)

With `--first` the workers are ended when so many cells are done: what a cell costs while thousands
wait. The books are then not audited, since cells are under way.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.chaos import Process, World, pairs, process_in  # noqa: E402
from tests.rigs.books import Books, audit, in_directories  # noqa: E402
from tests.rigs.postgres import running_postgres  # noqa: E402

FIO_S = 0.1
MATRIX = """name: null-cells
seed: 5
defaults: {{provider: fake, disk: plain, profile: ./tiny.fio, replicates: {replicates}}}
axes:
  zone: [fake-1a, fake-1b]
  size: [1, 2, 3, 4, 5]
limits: {{max_parallel: {parallel}, per: {{fake: {per}}}}}
"""
JOB = """[read]
ioengine=null
size=1m
rw=randread
time_based
runtime=100ms
"""
ROWS = ("read/read",)
_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2): fio that a worker detached becomes a child of this process,
so that its CPU is counted."""
_TICKS = os.sysconf("SC_CLK_TCK")
_COUNTED = ("shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track=all")


@dataclass(frozen=True)
class Cell:
    """When a cell of the matrix got its turn, began and ended, in Unix seconds."""

    position: int
    queued: float
    started: float
    finished: float

    @property
    def seconds(self) -> float:
        """The seconds that the cell took, once a worker had it."""
        return self.finished - self.started


@dataclass(frozen=True)
class Use:
    """What one worker used: processor seconds of its own and of the children that it waited for,
    those until the first cell of all began, and its largest resident set."""

    own_s: float
    children_s: float
    starting_s: float
    rss_mb: float


@dataclass(frozen=True)
class Counted:
    """What PostgreSQL counted: statements, transactions, CPU seconds of its processes."""

    statements: int
    transactions: int
    cpu_s: float

    def since(self, before: Counted) -> Counted:
        """What was added since `before`."""
        return Counted(
            self.statements - before.statements,
            self.transactions - before.transactions,
            self.cpu_s - before.cpu_s,
        )


@dataclass(frozen=True)
class Measured:
    """One run of the benchmark."""

    wall_s: float
    workers: tuple[Use, ...]
    connections: int
    """The most connections to PostgreSQL at one time, without this process's."""
    detached_s: float
    """CPU seconds of what the workers detached: fio, and the shell that looks after it."""
    database: Counted


def main() -> int:
    """Measure, print, and end with 1 unless every cell is done and every limit was held."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=int, default=1000, help="a multiple of 10")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--parallel", type=int, default=None, help="default: 4 a worker")
    parser.add_argument("--first", type=int, default=None, help="end when this many cells are done")
    parser.add_argument("--within", type=float, default=7200.0, help="seconds until it gives up")
    parser.add_argument("--json", type=Path, default=None, help="add a line of JSON to this file")
    parser.add_argument("--statements", type=int, default=0, help="list the N most frequent ones")
    parser.add_argument("--log", type=Path, default=None, help="copy the workers' log here")
    given = parser.parse_args()
    if given.cells < 10 or given.cells % 10:
        parser.error(f"--cells {given.cells}: give a multiple of 10")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parallel = given.parallel or 4 * given.workers
    allowed = max(1, parallel * 3 // 4)
    with (
        tempfile.TemporaryDirectory(prefix="diskbench-cells-", dir="/var/tmp") as directory,
        running_postgres(*_COUNTED) as database,
    ):
        state = Path(directory)
        (state / "tiny.fio").write_text(JOB)
        file = state / "matrix.yaml"
        file.write_text(MATRIX.format(replicates=given.cells // 10, parallel=parallel, per=allowed))
        place = state / "fake"
        world = World(
            dict(os.environ) | {"DISKBENCH_FAKE_DIR": str(place)},
            str(file),
            pairs(ROWS),
            lambda: in_directories(place),
        )
        process = process_in(state / "user", world, database)
        _ask(database, "CREATE EXTENSION pg_stat_statements")
        ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)
        try:
            found = measured(process, world, database, given)
        finally:
            if given.log:
                given.log.write_text(process.log.read_text(errors="replace"))
        frequent = statements(database, given.statements)
        evidence = state / "user" / "evidence"
        books = (
            None
            if given.first
            else audit(database, evidence, expected=world.rows, left=world.left())
        )
        cells = cells_of(database)
        sizes = sizes_of(database)
        kept = (path for path in (state / "user" / "evidence").rglob("*") if path.is_file())
        sizes["evidence"] = sum(path.stat().st_size for path in kept)
    figures = figures_of(found, cells, sizes, allowed, of=given.cells)
    show(figures, found, books, cells, allowed)
    for calls, ms, text in frequent:
        print(f"{calls / len(cells):8.2f} a cell {ms / len(cells):8.2f} ms a cell  {text}")
    if given.json:
        with given.json.open("a") as sink:
            sink.write(json.dumps(figures) + "\n")
    good = books is None or (not books.wrong and books.done == given.cells)
    return 0 if good and most_at_once(cells) <= allowed and not out_of_turn(cells) else 1


def measured(process: Process, world: World, database: str, given: argparse.Namespace) -> Measured:
    """Queue the matrix, let the workers measure it to its last cell, and count what it took."""
    queued = process.start("matrix", "run", "--queue", world.matrix)
    if queued.wait(600):
        sys.exit(process.end_of_log())
    before, began = counted(database), time.monotonic()
    concurrency = max(1, -(-(given.parallel or 4 * given.workers) // given.workers))
    started = [
        process.start("worker", "--name", f"w{n}", "--concurrency", str(concurrency))
        for n in range(given.workers)
    ]
    starting: dict[int, float] = {}
    connections = 0
    try:
        while not over(database) and not done(database, given.first):
            if time.monotonic() - began > given.within:
                sys.exit(f"it did not end:\n{process.end_of_log()}")
            if not starting and states(database).keys() - {"waiting", "queued"}:
                starting = {one.pid: sum(cpu_of(one.pid)) for one in started}
            connections = max(connections, connected(database))
            time.sleep(1.0)
        wall = time.monotonic() - began
        after = counted(database)
        uses = tuple(
            Use(*cpu_of(one.pid), starting.get(one.pid, 0.0), peak_mb(one.pid)) for one in started
        )
    finally:
        for one in started:
            one.terminate()
        for one in started:
            one.wait(60)
    return Measured(wall, uses, connections, orphans_s(), after.since(before))


def cpu_of(pid: int) -> tuple[float, float]:
    """CPU seconds of a process, and of the children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own, children = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return own / _TICKS, children / _TICKS


def peak_mb(pid: int) -> float:
    """The largest resident set of a process so far."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def orphans_s() -> float:
    """CPU seconds of the processes that workers detached and that became children of this one."""
    total = 0.0
    while True:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return total
        if not pid:
            return total
        total += usage.ru_utime + usage.ru_stime


def counted(database: str) -> Counted:
    """What PostgreSQL has counted so far."""
    ((statement_count,),) = _ask(database, "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements")
    ((transactions,),) = _ask(
        database,
        "SELECT xact_commit + xact_rollback FROM pg_stat_database"
        " WHERE datname = current_database()",
    )
    ((backend,),) = _ask(database, "SELECT pg_backend_pid()")
    (postmaster,) = {int(stat[1]) for pid, stat in _processes() if pid == backend} or {0}
    ours = [stat for pid, stat in _processes() if int(stat[1]) == postmaster or pid == postmaster]
    # utime and stime of all, with those of the children that the postmaster has reaped.
    ticks = sum(int(stat[11]) + int(stat[12]) for stat in ours)
    ticks += sum(int(s[13]) + int(s[14]) for pid, s in _processes() if pid == postmaster)
    return Counted(int(statement_count), int(transactions), ticks / _TICKS)


def _processes() -> list[tuple[int, list[str]]]:
    """Each process with the fields of its stat after the name (proc(5), field 3 on)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            found.append((int(path.parent.name), path.read_text().rpartition(")")[2].split()))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def statements(database: str, most: int) -> list[Any]:
    """The statements that were sent most often: calls, milliseconds, text."""
    query = (
        "SELECT calls, total_exec_time, regexp_replace(left(query, 150), '\\s+', ' ', 'g')"
        " FROM pg_stat_statements ORDER BY calls DESC"
    )
    return list(_ask(database, query))[:most]


def cells_of(database: str) -> list[Cell]:
    """Every cell that ended with its times, in order."""
    query = (
        "SELECT position, queued_at, started_at, finished_at FROM diskbench_cell"
        " WHERE finished_at IS NOT NULL ORDER BY position"
    )
    return [
        Cell(position, *(datetime.fromisoformat(at).timestamp() for at in times))
        for position, *times in _ask(database, query)
    ]


def sizes_of(database: str) -> dict[str, int]:
    """Bytes of the checkpoints (their text), of DBOS's tables and of ours, indexes included."""
    table = "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN"
    table += " pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND "
    queries = {
        "checkpoints": "SELECT coalesce(sum(octet_length(coalesce(output, ''))), 0)"
        " FROM dbos.operation_outputs",
        "steps": "SELECT count(*) FROM dbos.operation_outputs",
        "dbos_tables": f"{table} n.nspname = 'dbos'",
        "our_tables": f"{table} n.nspname = 'public'",
    }
    return {name: int(_ask(database, query)[0][0]) for name, query in queries.items()}


def connected(database: str) -> int:
    """How many connections there are to the database, without this one."""
    query = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    return int(_ask(database, query)[0][0])


def done(database: str, first: int | None) -> bool:
    """Whether so many cells are done; False without a number."""
    return first is not None and states(database)["done"] >= first


def over(database: str) -> bool:
    """Whether the matrix has ended."""
    return not _ask(database, "SELECT 1 FROM diskbench_matrix WHERE state <> 'done'")


def states(database: str) -> Counter[str]:
    """How many cells are in each state."""
    query = "SELECT state, count(*) FROM diskbench_cell GROUP BY state"
    return Counter(dict(_ask(database, query)))


def _ask(database: str, query: str) -> Sequence[Any]:
    """The rows of a query, or none of a command."""
    with _engine(database).begin() as connection:
        found = connection.execute(sa.text(query))
        return found.all() if found.returns_rows else ()


@cache
def _engine(database: str) -> sa.Engine:
    return sa.create_engine(database.replace("postgresql://", "postgresql+psycopg://"))


def most_at_once(cells: Sequence[Cell]) -> int:
    """The most cells that were under way at one time."""
    changes = sorted([(c.finished, -1) for c in cells] + [(c.started, 1) for c in cells])
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def out_of_turn(cells: Sequence[Cell]) -> int:
    """How many cells got their turn before one that stands before them in the matrix."""
    turns = [cell.queued for cell in sorted(cells, key=lambda one: one.position)]
    latest, found = 0.0, 0
    for turn in turns:
        found += turn < latest
        latest = max(latest, turn)
    return found


def figures_of(
    found: Measured, cells: Sequence[Cell], sizes: dict[str, int], allowed: int, *, of: int
) -> dict[str, Any]:
    """The figures of the run, those that grow with the number of cells by cell."""
    count = len(cells)
    own_s, children_s, starting_s = (
        sum(getattr(use, name) for use in found.workers)
        for name in ("own_s", "children_s", "starting_s")
    )
    all_s = own_s + children_s + found.detached_s
    ideal_s = sum(cell.seconds for cell in cells) / allowed
    # Until the first cell began the workers were still starting.
    first = min(cell.started for cell in cells)
    makespan_s = max(cell.finished for cell in cells) - first
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cells": of,
        "ended": count,
        "workers": len(found.workers),
        "allowed": allowed,
        "wall_s": round(found.wall_s, 1),
        "makespan_s": round(makespan_s, 1),
        "makespan_to_ideal": round(makespan_s / ideal_s, 3),
        "taken_after_s": round(sum(cell.started - cell.queued for cell in cells) / count, 3),
        "connections_a_worker": round(found.connections / len(found.workers), 1),
        "cpu_s_a_cell": round((all_s - starting_s) / count, 3),
        "start_cpu_s_a_worker": round(starting_s / len(found.workers), 2),
        "with_start_cpu_s_a_cell": round(all_s / count, 3),
        "own_cpu_s_a_cell": round((own_s - starting_s) / count, 3),
        "children_cpu_s_a_cell": round(children_s / count, 3),
        "detached_cpu_s_a_cell": round(found.detached_s / count, 3),
        "postgres_cpu_s_a_cell": round(found.database.cpu_s / count, 4),
        "statements_a_cell": round(found.database.statements / count, 1),
        "transactions_a_cell": round(found.database.transactions / count, 1),
        **{f"{name}_a_cell": round(size / count, 1) for name, size in sizes.items()},
        "rss_mb": round(max(use.rss_mb for use in found.workers)),
        "load": round(os.getloadavg()[0], 1),
    }


def show(
    figures: dict[str, Any],
    found: Measured,
    books: Books | None,
    cells: Sequence[Cell],
    allowed: int,
) -> None:
    """Print the figures."""
    for name, count in (books.counts if books else {}).items():
        print(f"{name:28} {count}")
    print(f"{'at once, at most':28} {most_at_once(cells)} of {allowed}")
    print(f"{'out of turn':28} {out_of_turn(cells)}")
    for name, figure in figures.items():
        print(f"{name.replace('_', ' '):28} {figure}")
    by_fio = len(cells) * FIO_S / allowed
    print(f"{'ideal by fio alone':28} {by_fio:.1f} s: {found.wall_s / by_fio:.1f} times")
    for one in books.wrong if books else ():
        print(f"  {one}")


if __name__ == "__main__":
    sys.exit(main())
