"""A result in about ten lines for one step, and on one screen for six: the figures, a line of
verdict per step, the heaviest warning and the next step. All of it is in report/terminal/tables.py.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from diskbench.model.doubts import DOUBTS, WEIGHTS
from diskbench.model.ids import short
from diskbench.report.assemble.lines import Spread, StepLine
from diskbench.report.assemble.result_rows import NONE
from diskbench.report.terminal.plain import print_trimmed
from diskbench.report.terminal.verdict_text import WIDTH, verdict_lines
from diskbench.units import format_iops, format_latency_ns, format_mb_per_s

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from diskbench.report.assemble.lines import WarningGroup
    from diskbench.report.assemble.subject import Subject
    from diskbench.report.assemble.trial_view import TrialView

_STYLES = {"head": "dim", "row": ""}
_WARNING_LINES = 2


def print_brief(view: TrialView, *, console: Console) -> None:
    """Print the result of one trial in short, and the commands for its page and for all of it."""
    print_trimmed(console, brief_result(view))
    for text in _closing(view):
        # Do not wrap or cut a command: it must survive copy and paste.
        console.print(text, soft_wrap=True)


def brief_result(view: TrialView) -> RenderableType:
    """The heading, the figures, the verdict of each step and the heaviest warning."""
    parts: list[RenderableType] = [_heading(view.subject)]
    if view.unfinished:
        parts.append(Text(view.unfinished, "bold yellow"))
    if view.headline:
        parts.append(Text(view.headline, "bold"))
    parts.append(Text(view.missing, "yellow") if view.missing else _table(view.lines))
    parts += [Text(line.text, "bold") for line in view.thresholds]
    if judged := verdict_lines(view.trial.verdicts):
        rows = [line for line in judged if line.kind in _STYLES]
        parts += [Text(), *(Text(line.text, _STYLES[line.kind], no_wrap=True) for line in rows)]
    if view.doubts:
        parts += [Text(), *_warning(heaviest(view.doubts))]
    return Group(*parts)


def heaviest(groups: Sequence[WarningGroup]) -> WarningGroup:
    """The group of warnings that weighs most; of equal ones the first."""
    return min(groups, key=lambda group: WEIGHTS.index(DOUBTS[group.code].weight))


def _heading(subject: Subject) -> Text:
    offer = subject.promised.offer if subject.promised else ""
    where = offer or ", ".join(word for word in (subject.target, subject.disk) if word)
    runs = f", {len(subject.run_ids)} runs" if len(subject.run_ids) > 1 else ""
    text = Text.assemble((subject.profile, "bold"), f" on {where}" if where else "", runs)
    if subject.marks:
        text.append(f"  [{', '.join(subject.marks)}]", "bold yellow")
    return text


def _table(lines: Sequence[StepLine]) -> Table:
    table = Table(box=None, padding=(0, 0, 0, 2), pad_edge=False, header_style="bold")
    table.add_column("step", overflow="fold", min_width=12)
    table.add_column("I/O")
    for name in ("IOPS", "MB/s", "mean", "p99", "max"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        name = f"{line.step} ({line.level})" if line.level else line.step
        table.add_row(Text(name, "bold"), line.direction, *_cells(line))
    return table


def _cells(line: StepLine) -> list[str]:
    bytes_per_s = None if line.direction == "sync" else line.bytes_per_s
    return [
        format_iops(line.iops.median) if line.iops else NONE,
        format_mb_per_s(bytes_per_s.median) if bytes_per_s else NONE,
        *map(_latency, (line.mean_ns, line.p99_ns, line.max_ns)),
    ]


def _latency(spread: Spread | None) -> str:
    return format_latency_ns(spread.median) if spread else NONE


def _warning(group: WarningGroup) -> list[RenderableType]:
    """At most two lines on what is wrong and where, and what to do about it."""
    steps = list(dict.fromkeys(step for step, _ in group.cases if step))
    more = f" (and {len(steps) - 1} more)" if len(steps) > 1 else ""
    step, message = group.cases[0]
    where = f"{step}{more}: " if step else ""
    told = textwrap.wrap(f"! {where}{message}", WIDTH, subsequent_indent="  ")
    if len(told) > _WARNING_LINES:
        told = [*told[: _WARNING_LINES - 1], textwrap.shorten(
            " ".join(told[_WARNING_LINES - 1 :]), WIDTH - 2, placeholder=" …"
        )]  # fmt: skip
        told[-1] = f"  {told[-1]}"
    advice = [textwrap.shorten(f"→ {group.advice}", WIDTH - 2, placeholder=" …")]
    return [
        *(Text(line, "yellow") for line in told),
        *(Text(f"  {line}", "dim") for line in advice if group.advice),
    ]


def _closing(view: TrialView) -> list[Text]:
    """The next step, and where the rest is."""
    id_ = short(view.subject.run_ids[-1] if view.subject.run_ids else view.subject.trial_id)
    others = len(view.doubts) - 1
    rest = f" ({others} more warning{'s' if others > 1 else ''})" if others > 0 else ""
    return [
        Text(),
        Text.assemble(("next: ", "bold"), f"{view.next.reason}:"),
        Text(f"  {view.next.command}", "bold cyan"),
        Text(
            f"run {id_}, page: diskbench report {id_}, all: diskbench results show {id_} -v" + rest,
            "dim",
        ),
    ]
