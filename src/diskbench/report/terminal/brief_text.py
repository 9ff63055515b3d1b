"""A result in about ten lines for one step, and on one screen for six: the figures, a line of
verdict per step, the heaviest warning and the next step. All of it is in report/terminal/tables.py.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from diskbench.model.doubts import DOUBTS, WEIGHTS
from diskbench.report.assemble.beside import rows_of_views
from diskbench.report.assemble.lines import Spread, StepLine
from diskbench.report.assemble.next_step import for_hosts
from diskbench.report.assemble.result_rows import NONE
from diskbench.report.terminal.beside_text import beside_table
from diskbench.report.terminal.plain import print_trimmed
from diskbench.report.terminal.verdict_text import WIDTH, verdict_lines
from diskbench.units import format_iops, format_latency_ns, format_mb_per_s

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from diskbench.report.assemble.lines import WarningGroup
    from diskbench.report.assemble.next_step import NextStep
    from diskbench.report.assemble.subject import Subject
    from diskbench.report.assemble.trial_view import TrialView

_STYLES = {"head": "dim", "row": ""}
_WARNING_LINES = 2


def print_brief(view: TrialView, *, console: Console) -> None:
    """Print the result of one trial in short, and the commands for its page and for all of it."""
    print_trimmed(console, brief_result(view))
    id_ = view.subject.shown_id
    count = len(view.doubts)
    _print_closing(console, view.next, id_, f"{count} warnings" if count > 1 else "all", " -v")


def print_brief_hosts(
    named: Sequence[tuple[str, TrialView]], asked: str, *, console: Console
) -> None:
    """Print the results of several trials of one command side by side: a table, what is wrong with
    each, the heaviest warning, one next step, and the commands for more. `asked` is an id that
    means all of them."""
    views = [view for _, view in named]
    offers = {view.subject.promised.offer for view in views if view.subject.promised}
    where = f"{len(named)} × {offers.pop()}" if len(offers) == 1 else f"{len(named)} hosts"
    marks = dict.fromkeys(mark for view in views for mark in view.subject.marks)
    heading = Text.assemble((views[0].subject.profile, "bold"), f" on {where}")
    heading.append(f"  [{', '.join(marks)}]" if marks else "", "bold yellow")
    print_trimmed(console, heading)
    rows = rows_of_views(named)
    print_trimmed(console, beside_table(rows, "host", width=console.width))
    parts: list[RenderableType] = [Text()]
    for name, view in named:
        id_ = view.subject.shown_id
        problem = view.unfinished or view.missing
        count = len(view.doubts)
        words = [problem, f"{count} warning{'s' if count > 1 else ''}" if count else ""]
        outcome = ", ".join(word for word in words if word) or "no warning"
        parts.append(Text(f"{name}: {outcome}: diskbench results show {id_} -v"))
        parts += _thresholds(view, indent="  ")
    doubted = [(name, view) for name, view in named if view.doubts]
    if doubted:
        name, view = min(doubted, key=lambda pair: _weight(heaviest(pair[1].doubts)))
        parts += [Text(), *_warning(heaviest(view.doubts), _WARNING_LINES, f"{name}, ")]
    print_trimmed(console, Group(*parts, Text()))
    steps = [(name, view.next) for name, view in named]
    step = for_hosts(steps, doubted[0][0] if doubted else named[0][0])
    _print_closing(console, step, asked, "all", "")


def _print_closing(console: Console, step: NextStep, id_: str, all_: str, flags: str) -> None:
    """The next step, and where the rest is. A command is not wrapped or cut: it must survive copy
    and paste."""
    console.print(Text.assemble(("next: ", "bold"), f"{step.reason}:"), soft_wrap=True)
    console.print(Text(f"  {step.command}", "bold cyan"), soft_wrap=True)
    pages = Text.assemble(
        ("page: ", "dim"),
        f"diskbench report {id_}",
        (f" · {all_}: ", "dim"),
        f"diskbench results show {id_}{flags}",
    )
    console.print(pages, soft_wrap=True)


def brief_result(view: TrialView) -> RenderableType:
    """The heading, the figures, the verdict of each step and the heaviest warning."""
    # One step is ten lines: there is nothing to set apart.
    gap = [Text()] if len({line.step for line in view.lines}) > 1 else []
    parts: list[RenderableType] = [_heading(view.subject)]
    if view.unfinished:
        parts.append(Text(view.unfinished, "bold yellow"))
    if view.headline:
        parts.append(Text(view.headline, "bold"))
    parts.append(Text(view.missing, "yellow") if view.missing else _table(view.lines))
    parts += _thresholds(view)
    if judged := verdict_lines(view.trial.verdicts):
        rows = [line for line in judged if line.kind in _STYLES]
        parts += [*gap, *(Text(line.text, _STYLES[line.kind], no_wrap=True) for line in rows)]
    if view.doubts:
        most = _WARNING_LINES if gap else 1
        # An only warning is whole: no other hides behind `-v`, so nobody would look there.
        parts += [*gap, *_warning(heaviest(view.doubts), most if len(view.doubts) > 1 else None)]
    return Group(*parts, *gap)


def _thresholds(view: TrialView, indent: str = "") -> list[RenderableType]:
    """Whether the profile's thresholds are met; of each `--fail-if` how many figures meet it. The
    command ends with what fails it."""
    met = Counter(line.threshold for line in view.thresholds if line not in view.missed)
    asked = Counter(line.threshold for line in view.thresholds)
    lines = [line.text for line in view.thresholds if line.threshold not in view.subject.fail_if]
    lines += [
        f"passed: {met[threshold]} of {count} figures ({threshold.source})"
        for threshold, count in asked.items()
        if threshold in view.subject.fail_if and met[threshold]
    ]
    return [
        Text(part, "bold")
        for line in lines
        for part in textwrap.wrap(
            line,
            WIDTH,
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            break_on_hyphens=False,
        )
    ]


def heaviest(groups: Sequence[WarningGroup]) -> WarningGroup:
    """The group of warnings that weighs most; of equal ones the first."""
    return min(groups, key=_weight)


def _weight(group: WarningGroup) -> int:
    """Where the weight of its doubt stands: 0 weighs most."""
    return WEIGHTS.index(DOUBTS[group.code].weight)


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


def _warning(group: WarningGroup, most: int | None, host: str = "") -> list[RenderableType]:
    """At most so many lines on what is wrong and where, and one on what to do about it; with `most`
    None as many as both take."""
    steps = list(dict.fromkeys(step for step, _ in group.cases if step))
    more = f" (and {len(steps) - 1} more)" if len(steps) > 1 else ""
    step, message = group.cases[0]
    where = f"{step}{more}: " if step else ""
    lines = _folded(f"! {host}{where}{message}", most)
    advice = _folded(f"→ {group.advice}", most and 1, WIDTH - 2) if group.advice else []
    return [
        *(Text(line, "yellow") for line in lines),
        *(Text(f"  {line}", "dim") for line in advice),
    ]


def _folded(text: str, most: int | None, width: int = WIDTH) -> list[str]:
    if most is None:
        return textwrap.wrap(text, width, subsequent_indent="  ")
    return textwrap.wrap(text, width, subsequent_indent="  ", max_lines=most, placeholder=" …")
