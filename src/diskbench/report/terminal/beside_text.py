"""Hosts or disks side by side for a terminal: a line for each, the same steps together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from diskbench.report.assemble.result_rows import NONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from diskbench.report.assemble.beside import BesideRow

_WITH_LIMITS = 100
"""Columns from which the limits have room; our choice."""
MOST_ROWS = 60
"""Lines of a table; our choice: what is longer belongs on a page."""
_TRUST_STYLE = {"no": "red", "with care": "yellow", "yes": "green"}


def beside_table(rows: Sequence[BesideRow], subject: str, *, width: int) -> RenderableType:
    """The rows, with the columns that any of them fills. `subject` titles their names, such
    as `host`. Of more than `MOST_ROWS` the first are shown, and the others counted."""
    columns = {
        "n": any(row.n > 1 for row in rows),
        "p99": any(row.p99 for row in rows),
        "of promise": any(row.ratio is not None for row in rows),
        "limited by": width >= _WITH_LIMITS and any(row.limit for row in rows),
        "trust": any(row.trust for row in rows),
    }
    table = Table(box=None, padding=(0, 0, 0, 2), pad_edge=False, header_style="bold")
    table.add_column("step", overflow="fold", min_width=12)
    table.add_column("I/O", no_wrap=True)
    table.add_column(subject, overflow="fold", min_width=8)
    table.add_column("measured", justify="right", no_wrap=True)
    for name in (name for name, shown in columns.items() if shown):
        right = name in ("n", "p99", "of promise")
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    before: tuple[str, str] | None = None
    for row in rows[:MOST_ROWS]:
        place = (row.step, row.direction)
        lead = place if place != before else ("", "")
        before = place
        cells = {
            "n": Text(str(row.n)),
            "p99": Text(row.p99 or NONE),
            "of promise": Text(_ratio(row)),
            "limited by": Text(row.limit),
            "trust": Text(row.trust, _TRUST_STYLE.get(row.trust, "")),
        }
        shown = (cells[name] for name, is_shown in columns.items() if is_shown)
        table.add_row(Text(lead[0], "bold"), lead[1], Text(row.name), row.measured, *shown)
    more = len(rows) - MOST_ROWS
    return Group(table, Text(f"and {more} more lines", "dim")) if more > 0 else table


def _ratio(row: BesideRow) -> str:
    """`102%`, or `102% of burst`: a burst that was not used up is no rate that lasts."""
    if row.ratio is None:
        return NONE
    return f"{row.ratio:.0%} of burst" if row.on_credit else f"{row.ratio:.0%}"
