"""Workers, queues, running cells and leases as tables of 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from diskbench.model.ids import short
from diskbench.report.terminal.fitted import Fitted
from diskbench.units import format_duration_s

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType

    from diskbench.model.campaign import CellSeen, FleetDocument, LeaseSeen, QueueSeen, WorkerSeen


def fleet_table(fleet: FleetDocument) -> RenderableType:
    """Workers, queues, running cells and rented resources; a line replaces each empty table."""
    parts: list[RenderableType] = []
    for title, empty, table in (
        ("Workers", "no process works; start one with: diskbench worker", _workers(fleet.workers)),
        ("Queues", "no cell waits for a worker", _queues(fleet.queues)),
        ("Running", "nothing runs", _cells(fleet.cells)),
        (_title(fleet), "nothing is rented", _leases(fleet.leases)),
    ):
        parts += [Text(title, style="bold"), table if table.row_count else Text(f"  {empty}")]
        parts.append(Text(""))
    parts += [Text(f"! {line}", style="yellow") for line in _worries(fleet)]
    return Group(*(parts if _worries(fleet) else parts[:-1]))


def _title(fleet: FleetDocument) -> str:
    if not fleet.leases:
        return "Open leases"
    unpriced = f", {fleet.unpriced} of them without a known price" if fleet.unpriced else ""
    return f"Open leases: {len(fleet.leases)}{unpriced}, ${fleet.usd:,.2f} so far"


def _that_wait(count: int) -> str:
    return "1 cell waits" if count == 1 else f"{count} cells wait"


def _worries(fleet: FleetDocument) -> list[str]:
    """Queues that no worker serves, and leases that no process uses."""
    lines = [
        f"{_that_wait(queue.waiting + queue.queued)} for a worker that serves {queue.route}: "
        f"diskbench worker --queues {queue.route}"
        for queue in fleet.queues
        if not queue.workers and queue.waiting + queue.queued
    ]
    unused = [lease.lease_id for lease in fleet.leases if not lease.in_use]
    if unused:
        which = f"lease {short(unused[0])}" if len(unused) == 1 else f"{len(unused)} leases"
        lines.append(f"no process uses {which}: see 'diskbench gc --dry-run'")
    return lines


def _workers(workers: Sequence[WorkerSeen]) -> Table:
    rows = (
        (
            worker.name,
            f"{worker.hostname}:{worker.pid}",
            "–" if worker.queues is None else " ".join(worker.queues),
            f"{worker.running}" + (f" of {worker.concurrency}" if worker.concurrency else ""),
            f"{format_duration_s(worker.beat_age_s)} ago",
            _state(worker),
        )
        for worker in workers
    )
    return _table(("name", "host:pid", "serves", "runs", "beat", "state"), rows, wide=(0, 1, 2))


def _state(worker: WorkerSeen) -> str:
    if not worker.alive:
        return "dead"
    return "draining" if worker.draining else "alive"


def _queues(queues: Sequence[QueueSeen]) -> Table:
    rows = (
        (
            queue.route,
            queue.partition,
            *map(str, (queue.waiting, queue.queued, queue.running, queue.workers)),
        )
        for queue in queues
    )
    return _table(
        ("route", "partition", "waiting", "queued", "running", "workers"), rows, wide=(0, 1)
    )


def _cells(cells: Sequence[CellSeen]) -> Table:
    rows = (
        (
            cell.name,
            cell.state,
            cell.doing or "–",
            "–" if cell.age_s is None else format_duration_s(cell.age_s),
            cell.worker or "gone",
        )
        for cell in cells
    )
    return _table(("cell", "state", "step", "age", "worker"), rows, wide=(0, 2, 4))


def _leases(leases: Sequence[LeaseSeen]) -> Table:
    rows = (
        (
            short(lease.lease_id),
            f"{lease.provider} {lease.region or ''}".rstrip(),
            format_duration_s(lease.age_s),
            "unknown" if lease.usd is None else f"${lease.usd:,.2f}",
            "in use" if lease.in_use else lease.error or "nobody's",
        )
        for lease in leases
    )
    return _table(("lease", "where", "age", "cost", "state"), rows, wide=(1, 4))


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]], *, wide: Sequence[int]) -> Table:
    """Columns in `wide` share the remaining width and are cut; the others are shown whole."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for position, title in enumerate(titles):
        table.add_column(title, no_wrap=position not in wide)
    for row in rows:
        table.add_row(
            *(
                Fitted(text, middle=at == 0) if at in wide else Text(text)
                for at, text in enumerate(row)
            )
        )
    return table
