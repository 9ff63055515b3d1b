"""Many null cells, several workers, one PostgreSQL: what does a cell cost, and is the order held?

The cells are the fake cloud's, so that what is seen is diskbench's own work: fio runs for a tenth
of a second on its null engine. Printed are CPU, SQL statements, transactions and bytes of
checkpoints a cell, each apart; and the makespan beside the ideal one, the sum of work over the
parallelism that is allowed: by the work of fio alone, and by the time that cells took here, where
several workers share the processors of one machine. `--json FILE` adds one line to FILE a run, from
which `python -m benchmarks.curves cells --draw` draws the curves of docs/evidence/scale.md.

    python benchmarks/cells.py [--cells 1000] [--workers 4] [--json FILE] [--statements 20]
    python benchmarks/cells.py --cells 10000 --workers 16        (an hour or more on two cores)
    python benchmarks/cells.py --cells 10000 --workers 16 --first 400       (its first 400 cells)
    python benchmarks/cells.py --cells 10000 --workers 16 --ended 9700       (its last 300 cells)

With `--first` the workers are ended when so many cells are done: what a cell costs while thousands
wait. The books are then not audited, since cells are under way. With `--ended` so many cells have
ended before the workers start (cells_ended.py): what the last cells cost in a matrix of full size,
how long its end takes, and what commands cost that show it.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.cells_counts import (  # noqa: E402 - a neighbour
    COUNTED,
    ask,
    counted,
    cpu_of,
    is_over,
    orphans_s,
    peak_mb,
    sessions,
    sizes_of,
    statements,
    states,
)
from benchmarks.cells_ended import end_first  # noqa: E402
from benchmarks.cells_figures import (  # noqa: E402
    Cell,
    Measured,
    Use,
    figures_of,
    most_at_once,
    out_of_turn,
    show,
)
from benchmarks.chaos import Process, World, pairs, process_in  # noqa: E402
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
_LOOK_S, _LAST_LOOK_S = 1.0, 0.1
"""Seconds between two looks at the matrix, and while its last cells are measured."""
_SHOWN = {
    "matrix status": ("matrix", "status"),
    "results list": ("results", "list"),
    "csv of all": ("results", "export", "--format", "csv"),
}
"""The commands that are measured after a matrix whose cells had ended before."""


def main() -> int:
    """Measure, print, and end with 1 unless every cell is done and every limit was held."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=int, default=1000, help="a multiple of 10")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--parallel", type=int, default=None, help="default: 4 a worker")
    parser.add_argument("--first", type=int, default=None, help="end when this many cells are done")
    parser.add_argument("--ended", type=int, default=0, help="cells that end before the workers")
    parser.add_argument("--within", type=float, default=7200.0, help="seconds until it gives up")
    parser.add_argument("--json", type=Path, default=None, help="add a line of JSON to this file")
    parser.add_argument("--statements", type=int, default=0, help="list the N most frequent ones")
    parser.add_argument("--log", type=Path, default=None, help="copy the workers' log here")
    options = parser.parse_args()
    if options.cells < 10 or options.cells % 10:
        parser.error(f"--cells {options.cells}: give a multiple of 10")
    if not 0 <= options.ended < options.cells:
        parser.error(f"--ended {options.ended}: give less than the {options.cells} cells")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parallel = options.parallel or 4 * options.workers
    allowed = max(1, parallel * 3 // 4)
    with (
        tempfile.TemporaryDirectory(prefix="diskbench-cells-", dir="/var/tmp") as directory,
        running_postgres(*COUNTED) as database,
    ):
        state = Path(directory)
        (state / "tiny.fio").write_text(JOB)
        file = state / "matrix.yaml"
        replicates = options.cells // 10
        file.write_text(MATRIX.format(replicates=replicates, parallel=parallel, per=allowed))
        place, evidence = state / "fake", state / "user" / "evidence"
        world = World(
            dict(os.environ) | {"DISKBENCH_FAKE_DIR": str(place)},
            str(file),
            pairs(ROWS),
            lambda: in_directories(place),
        )
        process = process_in(state / "user", world, database)
        ask(database, "CREATE EXTENSION pg_stat_statements")
        ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)
        copied: Collection[str] = ()
        try:
            queue(process, world)
            if options.ended:
                copied = end_first(process, database, options.ended, options.within)
                orphans_s()
                ask(database, "SELECT pg_stat_statements_reset()")
            sizes = Counter[str]()
            if options.ended:
                sizes.subtract(sizes_of(database, evidence))
            run = measured(process, database, options)
        finally:
            if options.log:
                options.log.write_text(process.log.read_text(errors="replace"))
        frequent = statements(database, options.statements)
        books = (
            None
            if options.first
            else audit(database, evidence, expected=world.rows, left=world.left(), copied=copied)
        )
        cells = [cell for cell in cells_of(database) if cell.started > run.began_unix_s]
        sizes.update(sizes_of(database, evidence))
        shown = commands_s(process) if options.ended else {}
    figures = figures_of(run, cells, sizes, allowed, of=options.cells) | shown
    show(figures, run, books, cells, allowed)
    for calls, ms, text in frequent:
        print(f"{calls / len(cells):8.2f} a cell {ms / len(cells):8.2f} ms a cell  {text}")
    if options.json:
        with options.json.open("a") as sink:
            sink.write(json.dumps(figures) + "\n")
    good = books is None or (not books.wrong and books.done == options.cells)
    return 0 if good and most_at_once(cells) <= allowed and not out_of_turn(cells) else 1


def queue(process: Process, world: World) -> None:
    """Leave the matrix to workers."""
    queued = process.start("matrix", "run", "--queue", world.matrix)
    if queued.wait(600):
        sys.exit(process.end_of_log())


def measured(process: Process, database: str, options: argparse.Namespace) -> Measured:
    """Let the workers measure the queued matrix to its last cell, and count what it took."""
    before, began, began_unix_s = counted(database), time.monotonic(), time.time()
    done_before = states(database)["done"]
    concurrency = max(1, -(-(options.parallel or 4 * options.workers) // options.workers))
    workers = [
        process.start("worker", "--name", f"w{n}", "--concurrency", str(concurrency))
        for n in range(options.workers)
    ]
    starting: dict[int, float] = {}
    connections = waiting = 0
    try:
        while not is_over(database):
            cells = states(database)
            if options.first is not None and cells["done"] >= options.first:
                break
            if time.monotonic() - began > options.within:
                sys.exit(f"it did not end:\n{process.end_of_log()}")
            if not starting and (cells["done"] > done_before or cells["measuring"]):
                starting = {worker.pid: sum(cpu_of(worker.pid)) for worker in workers}
            now = sessions(database)
            connections, waiting = max(connections, now.connections), max(waiting, now.waiting)
            unfinished = cells.total() - cells["done"]
            time.sleep(_LOOK_S if unfinished > options.workers else _LAST_LOOK_S)
        wall, over_unix_s = time.monotonic() - began, time.time()
        after = counted(database)
        uses = tuple(
            Use(*cpu_of(worker.pid), starting.get(worker.pid, 0.0), peak_mb(worker.pid))
            for worker in workers
        )
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait(60)
    return Measured(
        wall,
        uses,
        connections,
        waiting,
        orphans_s(),
        after.since(before),
        began_unix_s,
        over_unix_s,
    )


def commands_s(process: Process) -> dict[str, float]:
    """CPU seconds of the commands that show a matrix and its results."""
    seconds = {}
    for name, words in _SHOWN.items():
        before = os.times()
        completed = subprocess.run(
            [sys.executable, "-m", "diskbench", *words],
            env=process.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        if completed.returncode:
            sys.exit(f"{' '.join(words)}: {completed.stderr.decode(errors='replace')}")
        after = os.times()
        used = after.children_user + after.children_system
        used -= before.children_user + before.children_system
        seconds[f"{name.replace(' ', '_')}_cpu_s"] = round(used, 2)
    return seconds


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


if __name__ == "__main__":
    sys.exit(main())
