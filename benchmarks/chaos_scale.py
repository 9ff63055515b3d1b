"""1,000 cells, several workers, one PostgreSQL: what does it cost, and is the order held?

The cells are the fake cloud's, so that what is seen is diskbench's own work: fio runs for a tenth
of a second on its null engine. Makespan is set beside the ideal one, the sum of work over the
parallelism that is allowed; by the work of fio alone, and by the time that cells took here, where
several workers share the processors of one machine.

    python benchmarks/chaos.py --scale [--cells 1000] [--workers 4]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from benchmarks.chaos import Process, World, pairs, process_in, running, tell
from tests.rigs.books import Books, audit, in_directories
from tests.rigs.postgres import running_postgres

PARALLEL, PER_CLOUD = 16, 12
FIO_S = 0.1
ENDS_WITHIN_S = 3600.0
MATRIX = """name: thousand
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


@dataclass(frozen=True)
class Cell:
    """When a cell of the matrix got its turn, began and ended, in Unix seconds."""

    position: int
    queued: float
    started: float
    finished: float

    @property
    def seconds(self) -> float:
        return self.finished - self.started


@dataclass(frozen=True)
class Use:
    """What one worker used: processor seconds, fio's included, and its largest resident set."""

    cpu_s: float
    rss_mb: float


def main(cells: int, workers: int) -> int:
    """Measure, print, and end with 1 unless every cell is done and every limit was held."""
    with (
        tempfile.TemporaryDirectory(prefix="diskbench-scale-", dir="/var/tmp") as directory,
        running_postgres() as database,
    ):
        state = Path(directory)
        (state / "tiny.fio").write_text(JOB)
        file = state / "matrix.yaml"
        file.write_text(MATRIX.format(replicates=cells // 10, parallel=PARALLEL, per=PER_CLOUD))
        place = state / "fake"
        world = World(
            dict(os.environ) | {"DISKBENCH_FAKE_DIR": str(place)},
            str(file),
            pairs(ROWS),
            lambda: in_directories(place),
        )
        process = process_in(state / "user", world, database)
        wall, uses = measured(process, world, database, workers)
        books = audit(database, state / "user" / "evidence", expected=world.rows, left=world.left())
        found = cells_of(database)
    return 0 if show(wall, uses, books, found) else 1


def measured(
    process: Process, world: World, database: str, workers: int
) -> tuple[float, list[Use]]:
    """Wall seconds from queueing to the last cell's end, and what each worker used."""
    queued = process.start("matrix", "run", "--queue", world.matrix)
    if queued.wait(300):
        sys.exit(process.end_of_log())
    began = time.monotonic()
    started = [
        process.start("worker", "--name", f"w{n}", "--concurrency", str(PARALLEL // workers))
        for n in range(workers)
    ]
    try:
        while running(database):
            if time.monotonic() - began > ENDS_WITHIN_S:
                sys.exit(f"it did not end:\n{process.end_of_log()}")
            tell(str(dict(states(database))))
            time.sleep(1.0)
        wall = time.monotonic() - began
    finally:
        for one in started:
            one.terminate()
        uses = [used(one) for one in started]
    tell("")
    return wall, uses


def used(worker: subprocess.Popen[bytes]) -> Use:
    """What a worker used until its end, its fio included."""
    _, status, usage = os.wait4(worker.pid, 0)
    worker.returncode = os.waitstatus_to_exitcode(status)
    return Use(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def cells_of(database: str) -> list[Cell]:
    """Every cell with its times, in order."""
    query = (
        "SELECT position, queued_at, started_at, finished_at FROM diskbench_cell ORDER BY position"
    )
    return [
        Cell(position, *(datetime.fromisoformat(at).timestamp() for at in times))
        for position, *times in _rows(database, query)
    ]


def states(database: str) -> Counter[str]:
    """How many cells are in each state."""
    return Counter(state for (state,) in _rows(database, "SELECT state FROM diskbench_cell"))


def _rows(database: str, query: str) -> Sequence[Any]:
    engine = sa.create_engine(
        database.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool
    )
    with engine.connect() as connection:
        return connection.execute(sa.text(query)).all()


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


def show(wall: float, uses: Sequence[Use], books: Books, cells: Sequence[Cell]) -> bool:
    """Print the figures; whether all is as it should be."""
    allowed = min(PARALLEL, PER_CLOUD)
    by_fio = len(cells) * FIO_S / allowed
    by_cells = sum(cell.seconds for cell in cells) / allowed
    most, early = most_at_once(cells), out_of_turn(cells)
    for name, count in books.counts.items():
        print(f"{name:28} {count}")
    print(f"{'at once, at most':28} {most} of {allowed}")
    print(f"{'out of turn':28} {early}")
    print(f"{'makespan':28} {wall:.1f} s, {len(cells) / wall:.1f} cells a second")
    print(f"{'ideal by cells (their sum)':28} {by_cells:.1f} s: {wall / by_cells:.2f} times")
    print(f"{'ideal by fio alone':28} {by_fio:.1f} s: {wall / by_fio:.1f} times")
    for number, use in enumerate(uses):
        print(f"{f'worker {number}':28} {use.cpu_s:.1f} s CPU, {use.rss_mb:.0f} MB")
    cpu = sum(use.cpu_s for use in uses)
    print(
        f"{'all workers':28} {cpu:.1f} s CPU: {cpu / len(cells):.3f} s a cell, "
        f"{cpu / wall:.2f} of {os.cpu_count()} processors"
    )
    for one in books.wrong:
        print(f"  {one}")
    return not books.wrong and books.done == len(cells) and most <= allowed and not early
