"""A report as Markdown: text and tables for a README, a blog or a ticket.

Tables are GitHub's (github.github.com/gfm, 0.29, section 4.10). Text from users is escaped: a
label `**x**` or `<script>` shows as it was typed.
"""

import re
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from diskbench.report.assemble.lines import FIGURES, StepLine, TableCell
from diskbench.report.assemble.report_view import Report
from diskbench.report.assemble.result_rows import ResultRow
from diskbench.report.assemble.words import NONE
from diskbench.report.templates import environment
from diskbench.visible import one_line, visible

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$&@]|^[#+-]|:(?=//)|(?<=\bwww)\.)")
"""Includes what GitHub turns into a link or a mention: `https://`, `www.` and `@name`."""
_RESULTS = ("step", "level", "IOPS", "MB/s", "promised", "ratio", "limited by", "trust", "price")
_WORDS = frozenset({"limited by", "trust"})


def markdown(report: Report) -> str:
    """The report as Markdown, ending in a line feed."""
    made = environment().overlay(autoescape=False, finalize=_finalized)
    text = made.get_template("report.md.j2").render(
        report=report,
        single=report.single,
        results=_results,
        figures=_figures,
        command=lambda words: Markup(one_line(words)),  # noqa: S704 - shown as code
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _finalized(value: object) -> object:
    return value if isinstance(value, Markup) or not isinstance(value, str) else escaped(value)


def escaped(text: str) -> str:
    """`text` escaped for Markdown, on one line, with its control characters made visible."""
    return _SPECIAL.sub(r"\\\1", " ".join(visible(text).split()))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """A table whose first `left` columns and text columns are left-aligned, the others
    right-aligned. Empty columns are left out."""
    cells = [list(row) for row in rows]
    shown = [i for i in range(len(head)) if any(row[i] not in ("", NONE) for row in cells)]
    aside = ["---" if i < left or head[i] in _WORDS else "---:" for i in shown]
    lines = [[head[i] for i in shown], aside]
    lines += [[escaped(row[i]) for i in shown] for row in cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _results(rows: Sequence[ResultRow]) -> Markup:
    """Measured and promised figures, one row per step and level."""
    cells = [
        (row.step, row.when, *map(_both, (row.iops, row.mb_per_s, row.promised, row.ratio)),
         row.limiter, f"{row.trust}: {row.doubt}" if row.doubt else row.trust, _both(row.price))
        for row in rows
    ]  # fmt: skip
    return Markup(table(_RESULTS, cells, left=2))  # noqa: S704 - its cells are escaped


def _figures(lines: Sequence[StepLine]) -> Markup:
    cells = ((of.title, of.direction, *map(_both, of.cells.values())) for of in lines)
    return Markup(table(("step", "I/O", *FIGURES), cells, left=2))  # noqa: S704 - as above


def _both(cell: TableCell) -> str:
    return f"{cell.text} ({cell.small})" if cell.small else cell.text
