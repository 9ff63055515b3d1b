"""A report as Markdown: text and tables for a README, a blog or a ticket.

Tables are GitHub's (github.github.com/gfm, 0.29, section 4.10). Text from users is escaped: a
label `**x**` or `<script>` shows as it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from diskbench.report.assemble.lines import FIGURES, FigureCell
from diskbench.report.assemble.report_view import Report
from diskbench.report.assemble.result_rows import ResultRow
from diskbench.report.assemble.view import View
from diskbench.report.assemble.words import NONE
from diskbench.visible import one_line, visible

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$&@]|^[#+-]|:(?=//)|(?<=\bwww)\.)")
"""Includes what GitHub turns into a link or a mention: `https://`, `www.` and `@name`."""
_RESULTS = ("step", "level", "IOPS", "MB/s", "promised", "ratio", "limited by", "trust", "price")
_WORDS = frozenset({"limited by", "trust"})


def markdown(report: Report) -> str:
    """The report as Markdown, ending in a line feed."""
    single = report.single
    parts = list(_single(single) if single is not None else _several(report))
    parts += [escaped(text) for text in report.left_out]
    if report.made:
        parts.append(f"*{escaped(report.made[0].upper() + report.made[1:])}.*")
    return "\n\n".join(part for part in parts if part) + "\n"


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


def _single(view: View) -> Iterable[str]:
    subject = view.subject
    marks = f" ({', '.join(subject.marks)})" if subject.marks else ""
    yield f"# {escaped(subject.title + marks)}"
    first, second = view.sentences
    yield f"{escaped(first)} **{escaped(second)}**" if second else escaped(first)
    yield escaped(view.headline)
    yield escaped(view.trust)
    yield escaped(view.unfinished)
    yield "\n".join(f"- {name}: {escaped(', '.join(values))}" for name, values in view.facts)
    if view.rows:
        beside = " beside promised" if "promised" in view.shown else ""
        yield f"## Measured{beside}\n\n{results_table(view.rows)}"
    if said := (*view.sla_lines, *(threshold.text for threshold in view.thresholds)):
        yield "\n".join(f"- {escaped(line)}" for line in said)
    if view.promise_kept:
        lines = "\n".join(f"- {escaped(share)}" for share in view.promise_kept)
        yield f"## How much of the time it kept its promise\n\n{lines}"
    if view.slowed:
        yield "## Why it slowed down\n\n" + "\n\n".join(map(escaped, view.slowed))
    if view.lines:
        rows = ((of.title, of.direction, *map(_both, of.cells.values())) for of in view.lines)
        figures = table(("step", "I/O", *FIGURES), rows, left=2)
        yield f"## Latency, and all figures by direction\n\n{figures}"
        yield f"{escaped('; '.join(view.footnotes))}."
    elif not view.rows:
        yield f"{escaped(view.missing.capitalize())}."
    yield _doubts(view)
    yield _runs(view)
    if view.again:
        yield f"## Again\n\n    {one_line(view.again)}"


def _several(report: Report) -> Iterable[str]:
    yield f"# {escaped(report.title)}"
    first, second = report.sentences
    yield f"{escaped(first)} **{escaped(second)}**" if second else escaped(first)
    for group in report.groups:
        yield f"## {escaped(group.words)}"
        yield results_table(group.rows)
    yield "## Trials"
    yield "\n".join(f"- {escaped(view.summary)}" for view in report.trials)


def results_table(rows: Sequence[ResultRow]) -> str:
    """Measured and promised figures, one row per step and level."""
    cells = [
        (row.step, row.when, *map(_both, (row.iops, row.mb_per_s, row.promised, row.ratio)),
         row.limiter, f"{row.trust}: {row.doubt}" if row.doubt else row.trust, _both(row.price))
        for row in rows
    ]  # fmt: skip
    return table(_RESULTS, cells, left=2)


def _runs(view: View) -> str:
    """The runs: state, error and advice for a failed run, and whether the figures agree."""
    lines = []
    for run in view.runs:
        words = [run.state, run.error, f"→ {run.advice}" if run.advice else "", run.audit]
        lines.append(f"- {escaped(run.run_id)}: {escaped('; '.join(filter(None, words)))}")
    return "\n".join([f"## Run{'s'[: len(view.runs) != 1]}", "", *lines]) if lines else ""


def _doubts(view: View) -> str:
    if not view.doubts:
        return ""
    lines = ["## What to doubt", ""]
    for group in view.doubts:
        cases = "; ".join(f"{step}: {text}" if step else text for step, text in group.cases)
        advice = f" → {group.advice}" if group.advice else ""
        lines.append(f"- **{escaped(group.code)}**: {escaped(cases + advice)}")
    return "\n".join(lines)


def _both(cell: FigureCell) -> str:
    return f"{cell.text} ({cell.small})" if cell.small else cell.text
