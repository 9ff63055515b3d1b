"""What runs, what is due and what is wrong here, for a terminal of 80 columns: workers, matrices,
schedules, and what the doctor found."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from diskbench.model.campaign import CellState, CellStatus, FleetDocument, MatrixStatus, UntilStatus
from diskbench.model.finding import Finding
from diskbench.model.ids import short
from diskbench.model.schedule import Occurrence, ScheduleStatus
from diskbench.report.terminal.layout import aligned, wrapped
from diskbench.report.terminal.result_text import beside_table
from diskbench.report.terminal.screen import Fitted
from diskbench.units import counted, format_duration_s, format_share

_NO_WORKER = "no worker is running; start one with: diskbench worker"


def fleet_table(fleet: FleetDocument) -> RenderableType:
    """Workers, queues, running cells and rented resources; a line replaces each empty table."""
    workers = [
        (
            worker.name,
            f"{worker.hostname}:{worker.pid}",
            "–" if worker.queues is None else " ".join(worker.queues),
            f"{worker.running}" + (f" of {worker.concurrency}" if worker.concurrency else ""),
            f"{format_duration_s(worker.beat_age_s)} ago",
            "dead" if not worker.alive else "draining" if worker.draining else "alive",
        )
        for worker in fleet.workers
    ]
    queues = [
        (queue.route, queue.partition,
         *map(str, (queue.waiting, queue.queued, queue.running, queue.workers)))
        for queue in fleet.queues
    ]  # fmt: skip
    cells = [
        (cell.name, cell.state, cell.doing or "–",
         "–" if cell.age_s is None else format_duration_s(cell.age_s), cell.worker or "gone")
        for cell in fleet.cells
    ]  # fmt: skip
    leases = [
        (
            short(lease.lease_id),
            f"{lease.provider} {lease.region or ''}".rstrip(),
            format_duration_s(lease.age_s),
            "unknown" if lease.usd is None else f"${lease.usd:,.2f}",
            "in use" if lease.in_use else lease.error or "nobody's",
        )
        for lease in fleet.leases
    ]
    owed = "Open leases"
    if fleet.leases:
        unpriced = f", {fleet.unpriced} of them without a known price" if fleet.unpriced else ""
        owed += f": {len(fleet.leases)}{unpriced}, ${fleet.usd:,.2f} so far"
    tables: tuple[tuple[str, str, str, Sequence[Sequence[str]], Sequence[int]], ...] = (
        ("Workers", _NO_WORKER, "name host:pid serves runs beat state", workers, (0, 1, 2)),
        ("Queues", "no cell waits for a worker", "route partition waiting queued running workers",
         queues, (0, 1)),
        ("Running", "nothing runs", "cell state step age worker", cells, (0, 2, 4)),
        (owed, "nothing is rented", "lease where age cost state", leases, (1, 4)),
    )  # fmt: skip
    parts: list[RenderableType] = []
    for title, empty, titles, rows, wide in tables:
        table = _table(titles.split(), rows, wide=wide) if rows else Text(f"  {empty}")
        parts += [Text(title, style="bold"), table, Text("")]
    worries = [Text(f"! {line}", style="yellow") for line in _worries(fleet)]
    return Group(*(parts if worries else parts[:-1]), *worries)


def _worries(fleet: FleetDocument) -> list[str]:
    """Queues that no worker serves, and leases that no process uses."""
    lines = [
        f"{counted(waiting, 'cell')} {'waits' if waiting == 1 else 'wait'} for a worker that "
        f"serves {queue.route}: diskbench worker --queues {queue.route}"
        for queue in fleet.queues
        if not queue.workers and (waiting := queue.waiting + queue.queued)
    ]
    unused = [lease.lease_id for lease in fleet.leases if not lease.in_use]
    if unused:
        which = f"lease {short(unused[0])}" if len(unused) == 1 else f"{len(unused)} leases"
        lines.append(f"no process uses {which}: see 'diskbench gc --dry-run'")
    return lines


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]], *, wide: Sequence[int]) -> Table:
    """Columns in `wide` share the remaining width and are cut; the others are shown whole."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for position, title in enumerate(titles):
        table.add_column(title, no_wrap=position not in wide)
    for row in rows:
        cells = enumerate(row)
        table.add_row(*(Fitted(c, middle=at == 0) if at in wide else Text(c) for at, c in cells))
    return table


def schedule_lines(schedule: ScheduleStatus) -> Iterator[str]:
    """A schedule: what it measures and when, then its next and its past occurrences."""
    marks = ["paused"] if schedule.paused else []
    marks += ["overlapping ones wait"] if schedule.overlap == "queue" else []
    marks += ["backfill"] if schedule.backfill else []
    marks += [f"budget ${schedule.budget_usd:g}"] if schedule.budget_usd is not None else []
    marked = f"  ({', '.join(marks)})" if marks else ""
    times = f"{schedule.cron!r} {schedule.timezone}"
    yield f"{schedule.name}  {schedule.source}  {times}{marked}"
    for moment in schedule.next:
        yield f"  next  {_both(datetime.fromisoformat(moment), schedule.timezone)}"
    if not schedule.next:
        yield f"  next  {'paused' if schedule.paused else 'never'}"
    for occurrence in schedule.occurrences:
        at = datetime.fromisoformat(occurrence.scheduled_for)
        yield f"  last  {_both(at, schedule.timezone)}: {what_became(occurrence)}"
    if not schedule.occurrences:
        yield "  last  none yet"
    if schedule.waiting > 1 or (schedule.waiting and schedule.occurrences[0].state != "queued"):
        yield f"  {schedule.waiting} wait for a worker or for the running matrix"


def what_became(occurrence: Occurrence) -> str:
    """`matrix 9x01k3qz has ended: 3 of 4 done, 1 failed`, `skipped: matrix 9x01k3qz still ran`."""
    if occurrence.state != "begun":
        # The reason may have advice on further lines: join them.
        why = " ".join((occurrence.reason or "").split())
        return f"{occurrence.state}: {why}" if why else occurrence.state
    matrix, counts = f"matrix {short(occurrence.campaign_id or '')}", occurrence.counts
    if occurrence.campaign_state is None:
        return f"begun, {matrix}"
    words = [f"{counts.get('done', 0)} of {sum(counts.values())} done"]
    words += [f"{n} {state}" for state, n in sorted(counts.items()) if n and state != "done"]
    verb = {"done": "has ended", "running": "runs", "cancelling": "is being cancelled"}
    return f"{matrix} {verb[occurrence.campaign_state]}: {', '.join(words)}"


def _both(moment: datetime, zone: str) -> str:
    in_zone, local = moment.astimezone(ZoneInfo(zone)), moment.astimezone()
    # The offset's name makes the hour unambiguous that occurs twice when daylight saving ends.
    clock = "%H:%M:%S" if in_zone.second else "%H:%M"
    shown = in_zone.strftime(f"%a %Y-%m-%d {clock} %Z")
    if in_zone.utcoffset() == local.utcoffset():
        return shown
    return f"{shown} ({local.strftime('%a %H:%M')} here)"


_NARROWEST = 30
_FURTHER_LEFT = 4


def finding_lines(findings: Sequence[Finding], *, width: int = 80) -> Iterator[str]:
    """State, check, place and text of each finding, with its advice below. No line is longer than
    `width`, except for a single longer word."""
    rows = [(finding.state, finding.check, finding.where, "|") for finding in findings]
    heads = [row.removesuffix("|") for row in aligned(rows)]
    indent = len(heads[0]) if heads else 0
    room = max(width - indent, _NARROWEST)
    for finding, head in zip(findings, heads, strict=True):
        lines = wrapped("", finding.told, room)
        lines += wrapped("", f"→ {finding.advice}", room, indent=2) if finding.advice else []
        if lines and len(lines[0]) > room:
            lines.insert(0, "")  # one long word, such as a path: on its own line, further left
        for number, line in enumerate(lines or [""]):
            # Paths are not broken, so that they can be copied.
            margin = indent if len(line) <= room else _FURTHER_LEFT
            yield ((" " * margin if number else head) + line).rstrip()


ORDER: tuple[CellState, ...] = (
    "measuring", "renting", "queued", "failed", "refused", "waiting", "done", "cancelled",
    "spared",
)  # fmt: skip
"""The states by how much a user needs to see their cells."""
LISTED = tuple(state for state in ORDER if state != "spared")
"""The states whose cells have a line; spared cells are counted in the line of their block."""
STYLE: dict[CellState, str] = {
    "measuring": "cyan", "renting": "yellow", "queued": "yellow", "done": "green", "failed": "red",
    "refused": "red",
}  # fmt: skip
"""The style of a cell's state; else it is dim."""


_STATE = max(map(len, ORDER))
_BETWEEN = 2
_NUMBER = 4
LEAST_NAME = 36
"""Characters of a cell's name that a long note does not cut; our choice, for 80 columns."""


def matrix_line(status: MatrixStatus, now: datetime | None = None) -> str:
    """`3 of 12 done · 2 measuring · 7 waiting · $0.12 of $5.00 · ends about 14:20`."""
    counts = status.counts
    words = [f"{counts.get('done', 0)} of {sum(counts.values()) - counts.get('spared', 0)} done"]
    words += [f"{counts[of]} {of}" for of in ORDER if of != "done" and counts.get(of)]
    spent = f"${status.spent_usd:.2f}"
    if status.budget_usd is not None:
        spent += f" of ${status.budget_usd:.2f}"
    if status.unpriced:
        spent += f" ({status.unpriced} without a known price)"
    if status.state == "done":
        return " · ".join([*words, f"cost {spent}", "ended"])
    words.append(f"{spent} spent")
    if not status.worked_on:
        interrupted = "interrupted; continue with: diskbench matrix resume"
        words.append(_NO_WORKER if status.for_workers else interrupted)
    elif status.state == "cancelling":
        words.append("being cancelled")
    elif status.expected_end is not None:
        end = datetime.fromisoformat(status.expected_end)
        remaining_s = (end - (now or datetime.now(UTC))).total_seconds()
        clock = end.astimezone().strftime("%H:%M")
        words.append(f"ends about {clock} (in {format_duration_s(max(remaining_s, 0.0))})")
    return " · ".join(words)


def matrix_end(
    status: MatrixStatus, rows: Sequence[Mapping[str, str]], marks: Sequence[str], *, width: int
) -> RenderableType:
    """A matrix that is over: its totals, the cells of `status`, which have no result, its figures
    side by side, and the commands for its page and for all of it. `marks` qualify the figures:
    emulated."""
    id_ = short(status.campaign_id)
    parts = _totals(status, marks)
    for cell in status.cells:
        state = (cell.row.state, STYLE.get(cell.row.state, "dim"))
        parts.append(Text.assemble(state, f"  {cell.row.key}: {cell.doing}"))
    if rows:
        parts += [Text(), beside_table(rows, "disk", width=width), Text()]
        commands = f"diskbench report {id_} · all: diskbench results show {id_}"
        parts.append(Text.assemble(("page: ", "dim"), commands))
    return Group(*parts)


def _totals(status: MatrixStatus, marks: Sequence[str] = ()) -> list[RenderableType]:
    marked = f"  [{', '.join(marks)}]" if marks else ""
    title = f"matrix {status.name}  {short(status.campaign_id)}"
    return [
        Text.assemble((title, "bold"), (marked, "bold yellow")),
        Text(matrix_line(status)),
        *(Text(f"{block.block}: {until_words(block)}") for block in status.until),
    ]


def matrix_table(status: MatrixStatus, *, longest: int | None = None) -> RenderableType:
    """The totals and the cells of `status`; the other cells are counted. `longest` is the most
    characters of the name of any cell (default: of those of `status`)."""
    if longest is None:
        longest = max((len(cell.row.key) for cell in status.cells), default=0)
    parts = [*_totals(status), cell_table(status.cells, longest)]
    hidden = sum(status.counts.get(state, 0) for state in LISTED) - len(status.cells)
    if hidden > 0:
        parts.append(Text(f"and {hidden} more: diskbench matrix status {status.name}", style="dim"))
    return Group(*parts)


def cell_table(cells: Sequence[CellStatus], longest: int) -> Table:
    """A row for each cell; `longest` is the most characters of any name. Only the name and the note
    may be cut: where the table is narrow the note first."""
    table = Table(box=None, pad_edge=False, padding=(0, _BETWEEN, 0, 0), expand=False)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("cell")
    table.add_column("state", no_wrap=True, min_width=_STATE)
    table.add_column("")
    beside = _NUMBER + min(longest, LEAST_NAME) + _STATE + 3 * _BETWEEN
    for cell in cells:
        row, name = cell.row, Fitted(cell.row.key, middle=True)
        state = Text(row.state, style=STYLE.get(row.state, "dim"))
        table.add_row(Text(str(row.position + 1)), name, state, Fitted(cell.doing, beside=beside))
    return table


def until_words(until: UntilStatus) -> str:
    """`within ±4.1 % after 12 replicates, ±5 % was wanted (worst: rand-read-4k read)`."""
    worst = f" (worst: {until.step})" if until.step and until.width is not None else ""
    within = "no interval" if until.width is None else f"within ±{format_share(until.width)}"
    text = f"{within} after {counted(until.n, 'replicate')}, ±{format_share(until.wanted)} was "
    text += f"wanted{worst}"
    if until.reached and until.width is not None:
        return f"reached: {text}"
    if until.more is None and until.width is not None:
        text += "; too noisy to estimate how many more runs are needed"
    elif until.more:
        text += f"; about {until.more} more"
    return f"not reached: {text}; {until.ended}" if until.ended else text
