"""Many null cells, several workers, one PostgreSQL: what does a cell cost, and is the order held?

The cells are the fake cloud's, so that what is seen is diskbench's own work: fio runs for a tenth
of a second on its null engine. Printed are CPU a cell, the memory of a worker, and the makespan
beside the ideal one: the sum of what cells took here, where several workers share the processors of
one machine, over the parallelism that is allowed. Ends with 1 unless every cell is done, every
limit was held and the books (tests/rigs/books.py) are in order.

    python benchmarks/cells.py [--cells 1000] [--workers 4] [--json FILE]
"""

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
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.chaos import Process, World, pairs, process_in  # noqa: E402 - a neighbour
from tests.rigs.books import audit, in_directories  # noqa: E402
from tests.rigs.postgres import running_postgres  # noqa: E402

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
_LOOK_S = 0.5
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cell:
    """When a cell of the matrix got its turn, began and ended, in Unix seconds."""

    position: int
    queued: float
    started: float
    finished: float


@dataclass(frozen=True)
class Measured:
    """One run: wall seconds, CPU seconds of the workers and of all that they started since the
    first cell began, and the largest resident set of a worker in MB."""

    wall_s: float
    cpu_s: float
    rss_mb: float


def main() -> int:
    """Measure, print, and write the rows of script/bench."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=int, default=1000, help="a multiple of 10")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--within", type=float, default=3600.0, help="seconds until it gives up")
    parser.add_argument("--json", type=Path, help="write the rows of script/bench to this file")
    options = parser.parse_args()
    if options.cells < 10 or options.cells % 10:
        parser.error(f"--cells {options.cells}: give a multiple of 10")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parallel = 4 * options.workers
    allowed = parallel * 3 // 4
    with (
        tempfile.TemporaryDirectory(prefix="diskbench-cells-", dir="/var/tmp") as directory,
        running_postgres() as database,
    ):
        state = Path(directory)
        (state / "tiny.fio").write_text(JOB)
        file = state / "matrix.yaml"
        replicates = options.cells // 10
        file.write_text(MATRIX.format(replicates=replicates, parallel=parallel, per=allowed))
        place = state / "fake"
        env = dict(os.environ) | {"DISKBENCH_FAKE_DIR": str(place)}
        world = World(env, str(file), pairs(ROWS), lambda: in_directories(place))
        process = process_in(state / "user", world, database)
        ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)
        if process.start("matrix", "run", "--queue", world.matrix).wait(600):
            sys.exit(process.end_of_log())
        run = measured(process, database, options.workers, options.within)
        evidence = state / "user" / "evidence"
        books = audit(database, evidence, expected=world.rows, left=world.left())
        cells = cells_of(database)
    rows = rows_of(run, cells, allowed)
    for name, count in books.counts.items():
        print(f"{name:34} {count}")
    print(f"{'at once, at most':34} {most_at_once(cells)} of {allowed}")
    print(f"{'out of turn':34} {out_of_turn(cells)}")
    for row in rows:
        print(f"{row['name']:34} {row['ours'][0]:.3f} {row['unit']}")
    print(f"{'load':34} {os.getloadavg()[0]:.1f}")
    for fault in books.wrong:
        print(f"  {fault}")
    if options.json:
        options.json.write_text(json.dumps({"rows": rows}))
    is_good = not books.wrong and books.done == options.cells
    return 0 if is_good and most_at_once(cells) <= allowed and not out_of_turn(cells) else 1


def measured(process: Process, database: str, workers: int, within_s: float) -> Measured:
    """Let the workers measure the queued matrix to its last cell, and count what it took."""
    began = time.monotonic()
    started = [
        process.start("worker", "--name", f"w{n}", "--concurrency", "4") for n in range(workers)
    ]
    starting_s = 0.0
    try:
        while not is_over(database):
            if time.monotonic() - began > within_s:
                sys.exit(f"it did not end:\n{process.end_of_log()}")
            if not starting_s and (states(database)["done"] or states(database)["measuring"]):
                starting_s = sum(cpu_of(worker.pid) for worker in started)
            time.sleep(_LOOK_S)
        wall_s = time.monotonic() - began
        cpu_s = sum(cpu_of(worker.pid) for worker in started) - starting_s
        rss_mb = max(peak_mb(worker.pid) for worker in started)
    finally:
        for worker in started:
            worker.terminate()
        for worker in started:
            worker.wait(60)
    return Measured(wall_s, cpu_s + orphans_s(), rss_mb)


def rows_of(run: Measured, cells: Sequence[Cell], allowed: int) -> list[dict[str, Any]]:
    """The rows of script/bench."""
    ideal_s = sum(cell.finished - cell.started for cell in cells) / allowed
    # Until the first cell began the workers were still starting.
    first, last = min(cell.started for cell in cells), max(cell.finished for cell in cells)
    figures = {
        "wall": (run.wall_s, "s"),
        "CPU a cell": (run.cpu_s / len(cells), "s"),
        "makespan to the ideal": ((last - first) / ideal_s, ""),
        "memory of a worker": (run.rss_mb, "MB"),
    }
    return [
        {"name": f"{len(cells):,} cells, {name}", "unit": unit, "ours": [value], "floor": None}
        for name, (value, unit) in figures.items()
    ]


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
    latest, early = 0.0, 0
    for cell in sorted(cells, key=lambda cell: cell.position):
        early += cell.queued < latest
        latest = max(latest, cell.queued)
    return early


def cpu_of(pid: int) -> float:
    """CPU seconds of a process and of the children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / _TICKS


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


def is_over(database: str) -> bool:
    """Whether the matrix has ended."""
    return not ask(database, "SELECT 1 FROM diskbench_matrix WHERE state <> 'done'")


def states(database: str) -> Counter[str]:
    """How many cells are in each state."""
    query = "SELECT state, count(*) FROM diskbench_cell GROUP BY state"
    return Counter(dict(ask(database, query)))


def cells_of(database: str) -> list[Cell]:
    """Every cell that ended with its times, in order."""
    query = (
        "SELECT position, queued_at, started_at, finished_at FROM diskbench_cell"
        " WHERE finished_at IS NOT NULL ORDER BY position"
    )
    return [
        Cell(position, *(datetime.fromisoformat(at).timestamp() for at in times))
        for position, *times in ask(database, query)
    ]


def ask(database: str, query: str) -> Sequence[Any]:
    """The rows of a query."""
    with _engine(database).connect() as connection:
        return connection.execute(sa.text(query)).all()


@cache
def _engine(database: str) -> sa.Engine:
    return sa.create_engine(database.replace("postgresql://", "postgresql+psycopg://"))


if __name__ == "__main__":
    sys.exit(main())
