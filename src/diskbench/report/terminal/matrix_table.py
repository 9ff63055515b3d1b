"""A matrix for a terminal: totals first, then a line for each cell that is given."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from diskbench.model.campaign import CellState, CellStatus, MatrixStatus, UntilStatus
from diskbench.model.ids import short
from diskbench.report.assemble.report_view import BesideRow
from diskbench.report.assemble.words import counted
from diskbench.report.terminal.result_text import beside_table
from diskbench.report.terminal.screen import Fitted
from diskbench.units import format_duration_s, format_share

ORDER: tuple[CellState, ...] = (
    "measuring", "renting", "queued", "failed", "refused", "waiting", "done", "cancelled",
    "spared",
)  # fmt: skip
"""The states by how much a user needs to see their cells."""
LISTED = tuple(state for state in ORDER if state != "spared")
"""The states whose cells have a line; spared cells are counted in the line of their block."""
STYLE: dict[CellState, str] = {
    "measuring": "cyan",
    "renting": "yellow",
    "queued": "yellow",
    "done": "green",
    "failed": "red",
    "refused": "red",
    "cancelled": "dim",
    "waiting": "dim",
    "spared": "dim",
}


_STATE = max(map(len, ORDER))
_GAP = 2
_NUMBER = 4
LEAST_NAME = 36
"""Characters of a cell's name that a long note does not cut; our choice, for 80 columns."""


def matrix_line(status: MatrixStatus, now: datetime | None = None) -> str:
    """`3 of 12 done · 2 measuring · 7 waiting · $0.12 of $5.00 · ends about 14:20`."""
    counts = status.counts
    total = sum(counts.values()) - counts.get("spared", 0)
    words = [f"{counts.get('done', 0)} of {total} done"]
    words += [
        f"{counts[state]} {state}" for state in ORDER if state != "done" and counts.get(state)
    ]
    spent = f"${status.spent_usd:.2f}"
    if status.budget_usd is not None:
        spent += f" of ${status.budget_usd:.2f}"
    if status.unpriced:
        spent += f" ({status.unpriced} without a known price)"
    words.append(f"cost {spent}" if status.state == "done" else f"{spent} spent")
    if status.state == "done":
        words.append("ended")
    elif not status.worked_on:
        command = "worker" if status.for_workers else "matrix resume"
        words.append(
            f"no worker is running; start one with: diskbench {command}"
            if status.for_workers
            else f"interrupted; continue with: diskbench {command}"
        )
    elif status.state == "cancelling":
        words.append("being cancelled")
    elif status.expected_end is not None:
        end = datetime.fromisoformat(status.expected_end)
        remaining_s = (end - (now or datetime.now(UTC))).total_seconds()
        clock = end.astimezone().strftime("%H:%M")
        words.append(f"ends about {clock} (in {format_duration_s(max(remaining_s, 0.0))})")
    return " · ".join(words)


def matrix_end(
    status: MatrixStatus, rows: Sequence[BesideRow], marks: Sequence[str], *, width: int
) -> RenderableType:
    """A matrix that is over: its totals, the cells of `status`, which have no result, its figures
    side by side, and the commands for its page and for all of it. `marks` qualify the figures:
    emulated."""
    id_ = short(status.campaign_id)
    marked = f"  [{', '.join(marks)}]" if marks else ""
    parts: list[RenderableType] = [
        Text.assemble((f"matrix {status.name}  {id_}", "bold"), (marked, "bold yellow")),
        Text(matrix_line(status)),
        *(Text(f"{block.block}: {until_words(block)}") for block in status.until),
    ]
    for cell in status.cells:
        state = (cell.row.state, STYLE[cell.row.state])
        parts.append(Text.assemble(state, f"  {cell.row.key}: {cell.doing}"))
    if rows:
        parts += [Text(), beside_table(rows, "disk", width=width), Text()]
        commands = f"diskbench report {id_} · all: diskbench results show {id_}"
        parts.append(Text.assemble(("page: ", "dim"), commands))
    return Group(*parts)


def matrix_table(status: MatrixStatus, *, longest: int | None = None) -> RenderableType:
    """The totals and the cells of `status`; the other cells are counted. `longest` is the most
    characters of the name of any cell (default: of those of `status`)."""
    if longest is None:
        longest = max((len(cell.row.key) for cell in status.cells), default=0)
    parts: list[RenderableType] = [
        Text(f"matrix {status.name}  {short(status.campaign_id)}", style="bold"),
        Text(matrix_line(status)),
        *(Text(f"{block.block}: {until_words(block)}") for block in status.until),
        cell_table(status.cells, longest),
    ]
    hidden = sum(status.counts.get(state, 0) for state in LISTED) - len(status.cells)
    if hidden > 0:
        parts.append(Text(f"and {hidden} more: diskbench matrix status {status.name}", style="dim"))
    return Group(*parts)


def cell_table(cells: Sequence[CellStatus], longest: int) -> Table:
    """A row for each cell; `longest` is the most characters of any name. Only the name and the note
    may be cut: where the table is narrow the note first."""
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), expand=False)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("cell")
    table.add_column("state", no_wrap=True, min_width=_STATE)
    table.add_column("")
    beside = _NUMBER + min(longest, LEAST_NAME) + _STATE + 3 * _GAP
    for cell in cells:
        row = cell.row
        table.add_row(
            Text(str(row.position + 1)),
            Fitted(row.key, middle=True),
            Text(row.state, style=STYLE[row.state]),
            Fitted(cell.doing, beside=beside),
        )
    return table


def until_words(until: UntilStatus) -> str:
    """`within ±4.1 % after 12 replicates, ±5 % was wanted (worst: rand-read-4k read)`."""
    worst = f" (worst: {until.step})" if until.step else ""
    target = f"±{format_share(until.wanted)} was wanted"
    count = counted(until.n, "replicate")
    if until.width is None:
        text = f"no interval after {count}, {target}"
    elif until.reached:
        return f"reached: within ±{format_share(until.width)} after {count}, {target}{worst}"
    else:
        text = f"within ±{format_share(until.width)} after {count}, {target}{worst}"
    if until.more is None and until.width is not None:
        text += "; too noisy to estimate how many more runs are needed"
    elif until.more:
        text += f"; about {until.more} more"
    return f"not reached: {text}; {until.ended}" if until.ended else text
