"""The result for a terminal: whole in 80 columns; brief, in about ten lines for one step and one
screen for six; several hosts or disks side by side, the same steps together."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from rich.console import Console, Group, OverflowMethod, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from diskbench.model.doubts import DOUBTS, WEIGHTS
from diskbench.model.ids import short
from diskbench.report.assemble.facts import AUDIT_FAILED
from diskbench.report.assemble.lines import (
    FIGURES,
    HIGH,
    LOW,
    MEDIAN,
    StepLine,
    WarningGroup,
    runs_words,
)
from diskbench.report.assemble.next_step import NextStep, for_hosts
from diskbench.report.assemble.report_view import BesideRow, rows_of_views
from diskbench.report.assemble.subject import SHARED, Subject
from diskbench.report.assemble.view import View
from diskbench.report.assemble.words import NONE
from diskbench.report.terminal.screen import print_trimmed, sparkline, wrapped
from diskbench.report.terminal.verdict_text import WIDTH, verdict_lines
from diskbench.units import counted

_BRIEF = ("IOPS", "MB/s", "mean", "p99", "max")
_VERDICT_STYLES = {"head": "dim", "row": "", "ground": "dim", "doubt": "yellow"}
_WARNING_LINES = 2


def print_view(view: View, *, console: Console) -> None:
    """Print the result of one trial (all its runs), and the next step."""
    print_trimmed(console, result_table(view))
    console.print(Text.assemble(("next: ", "bold"), f"{view.next.reason}:"))
    # Do not wrap or cut a command: it must survive copy and paste.
    console.print(Text(f"  {view.next.command}", "bold cyan"), soft_wrap=True)


def result_table(view: View) -> RenderableType:
    """The result of one trial: heading, table, notes, phases, verdicts and warnings."""
    phases = view.phase_lines
    parts: list[RenderableType] = [_heading(view.subject), Text()]
    if view.unfinished:
        parts.append(Text(view.unfinished, "bold yellow"))
    if view.headline:
        parts += [Text(view.headline, "bold"), Text()]
    if view.lines:
        parts += [_table(view.lines), *_notes(view)]
    elif not view.phases:
        parts.append(Text(view.missing, "yellow"))
    parts += [Text(line, "bold") for line in view.sla_lines]
    parts += [Text(line.text, "bold") for line in view.thresholds]
    if phases:
        parts += [*([Text()] if view.lines else []), Text("second by second", "bold")]
        parts += map(Text, phases)
    below = {(step or "", group.code) for group in view.warned for step, _ in group.cases}
    if judged := verdict_lines(view.verdicts, below):
        parts += [Text(), Text("verdict", "bold")]
        parts += [Text(line.text, _VERDICT_STYLES[line.kind], no_wrap=True) for line in judged]
    for number, group in enumerate(view.warned):
        parts += [] if number else [Text()]
        parts.append(Text.assemble(("! ", "bold yellow"), (group.code, "yellow")))
        told = [
            Text.assemble((f"{step}: " if step else "", "bold"), message)
            for step, message in group.cases
        ]
        told += [Text(f"→ {group.advice}", "dim")] if group.advice else []
        parts += [Padding(text, (0, 0, 0, 2), expand=False) for text in told]
    return Group(*parts, Text())


def _marked(*words: str, marks: Iterable[str], overflow: OverflowMethod | None = None) -> Text:
    """A heading whose first words are bold, with the marks that qualify the figures."""
    bold, *further = words
    shown = f"  [{', '.join(marks)}]" if marks else ""
    return Text.assemble((bold, "bold"), *further, (shown, "bold yellow"), overflow=overflow)


def _heading(subject: Subject) -> Text:
    text = _marked(subject.title, marks=subject.marks, overflow="fold")
    several = f"{len(subject.run_ids)} runs, " if len(subject.run_ids) > 1 else ""
    promised = subject.promised
    facts = {
        "rented": promised.offer if promised else "",
        "promised": promised.promise if promised else "",
        "shared": SHARED if promised and promised.shared else "",
    }
    run = f", run {short(subject.run_ids[0])}" if subject.run_ids else ""
    about = (
        *(f"{name}: {words}" for name, words in facts.items() if words),
        subject.machine,
        subject.target + (f", {subject.disk}" if subject.disk else ""),
        f"{several}{subject.fio}{run}",
    )
    for part in about:
        if part:
            text.append(f"\n{part}", "dim")
    return text


def _table(lines: Sequence[StepLine]) -> Table:
    table = _of_steps("I/O", *map(_number, FIGURES), gap=1)
    for line in lines:
        rows = [(Text(_name(line), "bold"), line.direction, MEDIAN, "")]
        if line.runs > 1:
            shape = Text(f" {sparkline(line.by_run, width=16)}", "cyan")
            runs = Text(f" {runs_words(line)}", "dim")
            rows += [(shape, "lowest", LOW, "dim"), (runs, "highest", HIGH, "dim")]
        for first, second, pick, style in rows:
            # All eight figures fit 80 columns without the blank before a unit.
            figures = [figure.replace(" ", "") for figure in line.words(pick)]
            table.add_row(first, *(Text(cell, style) for cell in (second, *figures)))
    return table


def _of_steps(*columns: Column | str, gap: int = 2) -> Table:
    """An empty table of steps with these columns."""
    step = Column("step", overflow="fold", min_width=12)
    return Table(
        step, *columns, box=None, padding=(0, 0, 0, gap), pad_edge=False, header_style="bold"
    )


def _number(name: str) -> Column:
    return Column(name, justify="right", no_wrap=True)


def _word(name: str) -> Column:
    return Column(name, no_wrap=True)


def _name(line: StepLine) -> str:
    name: list[str] = [line.level] if line.level else []
    if line.rounds is not None:
        first, last = line.rounds
        name.append(f"round {first}" if first == last else f"{first}–{last}")
    return f"{line.step} ({', '.join(name)})" if name else line.step


def _notes(view: View) -> list[Text]:
    notes = list(view.footnotes)
    if view.runs_n > 1:
        notes.append("first line = median of the runs; bars = IOPS of each run, from zero")
    return [Text(note, "dim", overflow="fold") for note in notes]


def print_brief(view: View, *, console: Console) -> None:
    """Print the result of one trial in short, and the commands for its page and for all of it."""
    print_trimmed(console, brief_result(view))
    id_ = view.subject.shown_id
    count = len(view.doubts)
    _print_closing(console, view.next, id_, f"{count} warnings" if count > 1 else "all", " -v")


def print_brief_hosts(named: Sequence[tuple[str, View]], asked: str, *, console: Console) -> None:
    """Print the results of several trials of one command side by side: a table, what is wrong with
    each, the heaviest warning, one next step, and the commands for more. `asked` is an id that
    means all of them."""
    views = [view for _, view in named]
    offers = {view.subject.promised.offer for view in views if view.subject.promised}
    where = f"{len(named)} × {offers.pop()}" if len(offers) == 1 else f"{len(named)} hosts"
    marks = dict.fromkeys(mark for view in views for mark in view.subject.marks)
    parts: list[RenderableType] = [
        _marked(views[0].subject.profile, f" on {where}", marks=marks),
        beside_table(rows_of_views(named), "host", width=console.width),
        Text(),
    ]
    for name, view in named:
        warnings = counted(len(view.doubts), "warning") if view.doubts else ""
        words = filter(None, (view.unfinished or view.missing, warnings))
        outcome = f"{name}: {', '.join(words) or 'no warning'}"
        parts.append(Text(f"{outcome}: diskbench results show {view.subject.shown_id} -v"))
        parts += _thresholds(view, indent="  ")
    doubted = [(name, view) for name, view in named if view.doubts]
    if doubted:
        name, view = min(doubted, key=lambda pair: _weight(heaviest(pair[1].doubts)))
        parts += [Text(), *_brief_warning(heaviest(view.doubts), _WARNING_LINES, f"{name}, ")]
    print_trimmed(console, Group(*parts, Text()))
    steps = [(name, view.next) for name, view in named]
    step = for_hosts(steps, doubted[0][0] if doubted else named[0][0])
    _print_closing(console, step, asked, "all", "")


def _print_closing(console: Console, step: NextStep, id_: str, all_: str, flags: str) -> None:
    """The next step, and where the rest is. A command is not wrapped or cut: it must survive copy
    and paste."""
    console.print(Text.assemble(("next: ", "bold"), f"{step.reason}:"), soft_wrap=True)
    console.print(Text(f"  {step.command}", "bold cyan"), soft_wrap=True)
    page, whole = f"diskbench report {id_}", f"diskbench results show {id_}{flags}"
    pages = Text.assemble(("page: ", "dim"), page, (f" · {all_}: ", "dim"), whole)
    console.print(pages, soft_wrap=True)


def brief_result(view: View) -> RenderableType:
    """The heading, the figures, the verdict of each step and the heaviest warning."""
    # One step is ten lines: there is nothing to set apart.
    gap = [Text()] if len({line.step for line in view.lines}) > 1 else []
    subject = view.subject
    offer = subject.promised.offer if subject.promised else ""
    where = offer or ", ".join(word for word in (subject.target, subject.disk) if word)
    runs = f", {len(subject.run_ids)} runs" if len(subject.run_ids) > 1 else ""
    place = f" on {where}" if where else ""
    parts: list[RenderableType] = [_marked(subject.profile, place, runs, marks=subject.marks)]
    if view.unfinished:
        parts.append(Text(view.unfinished, "bold yellow"))
    if view.headline:
        parts.append(Text(view.headline, "bold"))
    table = _of_steps("I/O", *map(_number, _BRIEF))
    for line in view.lines:
        name = f"{line.step} ({line.level})" if line.level else line.step
        figures = (line.cells[head].text for head in _BRIEF)
        table.add_row(Text(name, "bold"), line.direction, *figures)
    parts.append(Text(view.missing, "yellow") if view.missing else table)
    parts += _thresholds(view)
    if judged := verdict_lines(view.verdicts):
        rows = [line for line in judged if line.kind in ("head", "row")]
        styles = _VERDICT_STYLES
        parts += [*gap, *(Text(line.text, styles[line.kind], no_wrap=True) for line in rows)]
    if view.doubts:
        # An only warning is whole: no other hides behind `-v`, so nobody would look there.
        most = None if len(view.doubts) == 1 else _WARNING_LINES if gap else 1
        parts += [*gap, *_brief_warning(heaviest(view.doubts), most)]
    return Group(*parts, *gap)


def _thresholds(view: View, indent: str = "") -> list[Text]:
    """Whether the profile's thresholds are met; of each of the user how many figures meet it. The
    command ends with what fails it."""
    met = Counter(line.threshold for line in view.thresholds if line.outcome == "passed")
    asked = Counter(line.threshold for line in view.thresholds)
    lines = [*view.sla_lines]
    lines += [line.text for line in view.thresholds if not line.threshold.typed]
    lines += [
        f"passed: {met[threshold]} of {count} figures ({threshold.source})"
        for threshold, count in asked.items()
        if threshold.typed and met[threshold]
    ]
    return [
        Text(part, "bold")
        for line in lines
        for part in wrapped(indent, line, WIDTH, indent=len(indent) + 2)
    ]


def heaviest(groups: Sequence[WarningGroup]) -> WarningGroup:
    """The group of warnings that weighs most; of equal ones the first."""
    return min(groups, key=_weight)


def _weight(group: WarningGroup) -> int:
    """Where the weight of its doubt stands: 0 weighs most."""
    return WEIGHTS.index(DOUBTS[group.code].weight)


def _brief_warning(group: WarningGroup, most: int | None, host: str = "") -> list[Text]:
    """At most so many lines on what is wrong and where, and one on what to do about it; with `most`
    None as many as both take."""
    steps = list(dict.fromkeys(step for step, _ in group.cases if step))
    more = f" (and {len(steps) - 1} more)" if len(steps) > 1 else ""
    step, message = group.cases[0]
    where = f"{step}{more}: " if step else ""
    lines = _folded(f"! {host}{where}{message}", most)
    advice = _folded(f"→ {group.advice}", most and 1, WIDTH - 2) if group.advice else []
    return [Text(line, "yellow") for line in lines] + [Text(f"  {text}", "dim") for text in advice]


def _folded(text: str, most: int | None, width: int = WIDTH) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent="  ", max_lines=most, placeholder=" …")


_WITH_LIMITS = 100
"""Columns from which the limits have room; our choice."""
MOST_ROWS = 60
"""Lines of a table; our choice: what is longer belongs on a page."""
_TRUST_STYLE = {"no": "red", "with care": "yellow", "yes": "green"}


def beside_table(rows: Sequence[BesideRow], subject: str, *, width: int) -> RenderableType:
    """The rows, with the columns that any of them fills. `subject` titles their names, such
    as `host`. Of more than `MOST_ROWS` the first are shown, and the others counted."""
    columns: tuple[tuple[Column, bool, Callable[[BesideRow], str]], ...] = (
        (_number("n"), any(row.n > 1 for row in rows), lambda row: str(row.n)),
        (_number("p99"), any(row.p99 for row in rows), lambda row: row.p99 or NONE),
        (_number("of promise"), any(row.ratio is not None for row in rows), _ratio),
        (_word("limited by"), width >= _WITH_LIMITS and any(row.limit for row in rows),
         lambda row: row.limit),
        (_word("trust"), any(row.trust for row in rows), lambda row: row.trust),
    )  # fmt: skip
    shown = [(column, cell) for column, is_shown, cell in columns if is_shown]
    named = Column(subject, overflow="fold", min_width=8)
    table = _of_steps(_word("I/O"), named, _number("measured"), *(column for column, _ in shown))
    before = ("", "")
    for row in rows[:MOST_ROWS]:
        place = (row.step, row.direction)
        step, direction = place if place != before else ("", "")
        before = place
        cells = [cell(row) for _, cell in shown]
        styled = (Text(cell, _TRUST_STYLE.get(cell, "")) for cell in cells)
        table.add_row(Text(step, "bold"), direction, Text(row.name), row.measured, *styled)
    more = len(rows) - MOST_ROWS
    return Group(table, Text(f"and {more} more lines", "dim")) if more > 0 else table


def _ratio(row: BesideRow) -> str:
    """`102%`, or `102% of burst`: a burst that was not used up is no rate that lasts."""
    if row.ratio is None:
        return NONE
    return f"{row.ratio:.0%} of burst" if row.on_credit else f"{row.ratio:.0%}"


def audit_style(line: str) -> str:
    """The rich style of the line."""
    return "yellow" if AUDIT_FAILED in line else "dim"
