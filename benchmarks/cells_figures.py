"""The figures of a run of benchmarks/cells.py, and how they are printed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.cells_counts import Counted
    from tests.rigs.books import Books

FIO_S = 0.1
"""How long fio runs in a cell."""


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
class Measured:
    """One run of the benchmark."""

    wall_s: float
    workers: tuple[Use, ...]
    connections: int
    """The most connections to PostgreSQL at one time, without this process's."""
    waiting: int
    """The most of them that waited for a lock of another at one time."""
    detached_s: float
    """CPU seconds of what the workers detached: fio, and the shell that looks after it."""
    database: Counted
    began_unix_s: float
    over_unix_s: float
    """When this process first read that the matrix had ended."""


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
    turns = [cell.queued for cell in sorted(cells, key=lambda cell: cell.position)]
    latest, early = 0.0, 0
    for turn in turns:
        early += turn < latest
        latest = max(latest, turn)
    return early


def figures_of(
    run: Measured, cells: Sequence[Cell], sizes: Counter[str], allowed: int, *, of: int
) -> dict[str, Any]:
    """The figures of the run, those that grow with the number of cells by cell."""
    count = len(cells)
    own_s, children_s, starting_s = (
        sum(getattr(use, name) for use in run.workers)
        for name in ("own_s", "children_s", "starting_s")
    )
    all_s = own_s + children_s + run.detached_s
    ideal_s = sum(cell.seconds for cell in cells) / allowed
    # Until the first cell began the workers were still starting.
    first = min(cell.started for cell in cells)
    last = max(cell.finished for cell in cells)
    makespan_s = last - first
    # Not of cells whose turn came before there were workers (--ended).
    waits_s = [cell.started - cell.queued for cell in cells if cell.queued > run.began_unix_s]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cells": of,
        "ended": count,
        "workers": len(run.workers),
        "allowed": allowed,
        "wall_s": round(run.wall_s, 1),
        "makespan_s": round(makespan_s, 1),
        "makespan_to_ideal": round(makespan_s / ideal_s, 3),
        "taken_after_s": round(sum(waits_s) / max(1, len(waits_s)), 3),
        "matrix_ends_after_s": round(run.over_unix_s - last, 1),
        "waiting_for_a_lock": run.waiting,
        "connections_a_worker": round(run.connections / len(run.workers), 1),
        "cpu_s_a_cell": round((all_s - starting_s) / count, 3),
        "start_cpu_s_a_worker": round(starting_s / len(run.workers), 2),
        "with_start_cpu_s_a_cell": round(all_s / count, 3),
        "own_cpu_s_a_cell": round((own_s - starting_s) / count, 3),
        "children_cpu_s_a_cell": round(children_s / count, 3),
        "detached_cpu_s_a_cell": round(run.detached_s / count, 3),
        "postgres_cpu_s_a_cell": round(run.database.cpu_s / count, 4),
        "statements_a_cell": round(run.database.statements / count, 1),
        "transactions_a_cell": round(run.database.transactions / count, 1),
        **{f"{name}_a_cell": round(size / count, 1) for name, size in sizes.items()},
        "rss_mb": round(max(use.rss_mb for use in run.workers)),
        "load": round(os.getloadavg()[0], 1),
    }


def show(
    figures: dict[str, Any],
    run: Measured,
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
    print(f"{'ideal by fio alone':28} {by_fio:.1f} s: {run.wall_s / by_fio:.1f} times")
    for fault in books.wrong if books else ():
        print(f"  {fault}")
