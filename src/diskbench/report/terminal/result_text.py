"""The result for a terminal: whole in 80 columns; brief, in about ten lines for one step and one
screen for six; several hosts or disks side by side, the same steps together."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console, Group, OverflowMethod, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from diskbench.model.doubts import DOUBTS, WEIGHTS
from diskbench.model.ids import short
from diskbench.report.assemble.lines import (
    FIGURES,
    HIGH,
    LOW,
    MEDIAN,
    StepLine,
    WarningGroup,
    runs_words,
)
from diskbench.report.assemble.next_step import for_hosts
from diskbench.report.assemble.side_by_side import rows_of_views
from diskbench.report.assemble.subject import AUDIT_FAILED, SHARED, Subject
from diskbench.report.assemble.view import View
from diskbench.report.assemble.words import NONE
from diskbench.report.terminal.layout import sparkline, wrapped
from diskbench.report.terminal.screen import print_trimmed
from diskbench.report.terminal.verdict_text import WIDTH, verdict_lines
from diskbench.units import counted

_BRIEF = ("IOPS", "MB/s", "mean", "p99", "max")
_VERDICT_STYLES = {"head": "dim", "row": "", "ground": "dim", "doubt": "yellow"}
_WARNING_LINES = 2


def print_view(view: View, *, console: Console, brief: bool = False) -> None:
    """Print the result of one trial (all its runs), and the next step; if `brief` in short, with
    the commands for its page and for all of it."""
    print_trimmed(console, result(view, brief=brief))
    if not brief:
        _print_next(console, view.next, fold=True)
        return
    count = len(view.doubts)
    all_ = f"{count} warnings" if count > 1 else "all"
    _print_closing(console, view.next, view.subject.shown_id, all_, " -v")


def result(view: View, *, brief: bool = False) -> RenderableType:
    """The result of one trial: heading, table, notes, phases, verdicts and warnings. If `brief`
    only the heading, the figures, the verdict of each step and the heaviest warning."""
    # Of one step a brief result is ten lines: there is nothing to set apart.
    is_long = not brief or len({line.step for line in view.lines}) > 1
    gap = [Text()] if is_long else []
    blank = [] if brief else [Text()]
    parts: list[RenderableType] = [_heading(view.subject, brief=brief), *blank]
    if view.unfinished:
        parts.append(Text(view.unfinished, "bold yellow"))
    if view.headline:
        parts += [Text(view.headline, "bold"), *blank]
    if view.lines:
        parts.append(_table(view.lines, brief=brief))
        notes = () if brief else view.footnotes
        if view.runs_n > 1 and not brief:
            bars = "first line = median of the runs; bars = IOPS of each run, from zero"
            notes = (*notes, bars)
        parts += [Text(note, "dim", overflow="fold") for note in notes]
    elif brief or not view.phases:
        parts.append(Text(view.missing, "yellow"))
    parts += _thresholds(view, brief=brief)
    if not brief and (phases := view.phase_lines):
        parts += [*([Text()] if view.lines else []), Text("second by second", "bold")]
        parts += map(Text, phases)
    below = {(step or "", group.code) for group in view.warned for step, _ in group.cases}
    judged = [
        Text(text, _VERDICT_STYLES[kind], no_wrap=True)
        for kind, text in verdict_lines(view.verdicts, below)
        if not brief or kind in ("head", "row")
    ]
    if judged:
        parts += [*gap, *([] if brief else [Text("verdict", "bold")]), *judged]
    if brief and view.doubts:
        # An only warning is whole: no other hides behind `-v`, so nobody would look there.
        most = None if len(view.doubts) == 1 else _WARNING_LINES if gap else 1
        parts += [*gap, *_brief_warning(heaviest(view.doubts), most)]
    elif view.warned and not brief:
        parts += [Text(), *(part for group in view.warned for part in _warning(group))]
    return Group(*parts, *gap)


def _warning(group: WarningGroup) -> list[RenderableType]:
    cases = (Text.assemble((f"{of}: " if of else "", "bold"), told) for of, told in group.cases)
    advice = [Text(f"→ {group.advice}", "dim")] if group.advice else []
    inside = (Padding(text, (0, 0, 0, 2), expand=False) for text in (*cases, *advice))
    return [Text.assemble(("! ", "bold yellow"), (group.code, "yellow")), *inside]


def _marked(*words: str, marks: Iterable[str], overflow: OverflowMethod | None = None) -> Text:
    """A heading whose first words are bold, with the marks that qualify the figures."""
    bold, *further = words
    shown = f"  [{', '.join(marks)}]" if marks else ""
    return Text.assemble((bold, "bold"), *further, (shown, "bold yellow"), overflow=overflow)


def _heading(subject: Subject, *, brief: bool) -> Text:
    several = f"{len(subject.run_ids)} runs" if len(subject.run_ids) > 1 else ""
    if brief:
        where = subject.offer or ", ".join(filter(None, (subject.target, subject.disk)))
        on, runs = f" on {where}" if where else "", f", {several}" if several else ""
        return _marked(subject.profile, on, runs, marks=subject.marks)
    text = _marked(subject.title, marks=subject.marks, overflow="fold")
    run = f", run {short(subject.run_ids[0])}" if subject.run_ids else ""
    about = (
        f"rented: {subject.offer}" if subject.offer else "",
        f"promised: {subject.promise}" if subject.promise else "",
        f"shared: {SHARED}" if subject.shared else "",
        subject.machine,
        subject.target + (f", {subject.disk}" if subject.disk else ""),
        ", ".join(filter(None, (several, subject.fio))) + run,
    )
    return text.append("".join(f"\n{part}" for part in about if part), "dim")


def _table(lines: Sequence[StepLine], *, brief: bool) -> Table:
    heads = _BRIEF if brief else FIGURES
    table = _of_steps("I/O", *map(_number, heads), gap=2 if brief else 1)
    for line in lines:
        kinds: list[str] = [line.level] if line.level else []
        if line.rounds is not None and not brief:
            first, last = line.rounds
            kinds.append(f"round {first}" if first == last else f"{first}–{last}")
        name = Text(f"{line.step} ({', '.join(kinds)})" if kinds else line.step, "bold")
        rows = [(name, line.direction, MEDIAN, "")]
        if line.runs > 1 and not brief:
            shape = Text(f" {sparkline(line.by_run, width=16)}", "cyan")
            runs = Text(f" {runs_words(line)}", "dim")
            rows += [(shape, "lowest", LOW, "dim"), (runs, "highest", HIGH, "dim")]
        for lead, second, pick, style in rows:
            figures = dict(zip(FIGURES, line.words(pick), strict=True))
            # All eight figures fit 80 columns without the blank before a unit.
            shown = (figures[of] if brief else figures[of].replace(" ", "") for of in heads)
            table.add_row(lead, *(Text(cell, style) for cell in (second, *shown)))
    return table


def _of_steps(*columns: Column | str, gap: int = 2) -> Table:
    step = Column("step", overflow="fold", min_width=12)
    return Table(
        step, *columns, box=None, padding=(0, 0, 0, gap), pad_edge=False, header_style="bold"
    )


def _number(name: str) -> Column:
    return Column(name, justify="right", no_wrap=True)


def print_brief_hosts(named: Sequence[tuple[str, View]], asked: str, *, console: Console) -> None:
    """Print the results of several trials of one command side by side: a table, what is wrong with
    each, the heaviest warning, one next step, and the commands for more. `asked` is an id that
    means all of them."""
    views = [view for _, view in named]
    offers = {view.subject.offer for view in views if view.subject.offer}
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
        parts += _thresholds(view, brief=True, indent="  ")
    doubted = [(name, group) for name, view in named for group in view.doubts]
    if doubted:
        name, group = min(doubted, key=lambda pair: _weight(pair[1]))
        parts += [Text(), *_brief_warning(group, _WARNING_LINES, f"{name}, ")]
    print_trimmed(console, Group(*parts, Text()))
    steps = [(name, view.next) for name, view in named]
    step = for_hosts(steps, doubted[0][0] if doubted else named[0][0])
    _print_closing(console, step, asked, "all", "")


def _print_next(console: Console, step: tuple[str, str], *, fold: bool) -> None:
    reason, command = step
    console.print(Text.assemble(("next: ", "bold"), f"{reason}:"), soft_wrap=not fold)
    # Do not wrap or cut a command: it must survive copy and paste.
    console.print(Text(f"  {command}", "bold cyan"), soft_wrap=True)


def _print_closing(
    console: Console, step: tuple[str, str], id_: str, all_: str, flags: str
) -> None:
    _print_next(console, step, fold=False)
    page, whole = f"diskbench report {id_}", f"diskbench results show {id_}{flags}"
    apart = " · " if len(f"page: {page} · {all_}: {whole}") <= console.width else "\n"
    pages = Text.assemble(("page: ", "dim"), page, (f"{apart}{all_}: ", "dim"), whole)
    console.print(pages, soft_wrap=True)


def _thresholds(view: View, *, brief: bool, indent: str = "") -> list[Text]:
    """Whether the profile's thresholds are met; if `brief`, of each typed one only how many
    figures meet it: the command ends with what fails it."""
    lines = [*view.sla_lines]
    lines += [line.text for line in view.thresholds if not (brief and line.threshold.typed)]
    if not brief:
        return [Text(line, "bold") for line in lines]
    met = Counter(line.threshold for line in view.thresholds if line.outcome == "passed")
    asked = Counter(line.threshold for line in view.thresholds)
    lines += [
        f"passed: {met[threshold]} of {count} figures ({threshold.source})"
        for threshold, count in asked.items()
        if threshold.typed and met[threshold]
    ]
    folded = (wrapped(indent, line, WIDTH, indent=len(indent) + 2) for line in lines)
    return [Text(part, "bold") for parts in folded for part in parts]


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
_OPTIONAL = {"n": "1", "p99": NONE, "of promise": NONE, "limited by": "", "trust": ""}
"""The columns that are shown where a row has more than this in them."""
_WORDS = ("limited by", "trust")


def beside_table(rows: Sequence[Mapping[str, str]], subject: str, *, width: int) -> RenderableType:
    """The rows (report_view.py), with the columns that any of them fills. `subject` titles their
    names, such as `host`. Of more than `MOST_ROWS` the first are shown, and the others counted."""
    known = _OPTIONAL.items()
    filled = [of for of, none in known if any(row.get(of, none) != none for row in rows)]
    shown = [of for of in filled if of != "limited by" or width >= _WITH_LIMITS]
    further = (Column(of, no_wrap=True) if of in _WORDS else _number(of) for of in shown)
    named = Column(subject, overflow="fold", min_width=8)
    table = _of_steps(Column("I/O", no_wrap=True), named, _number("measured"), *further)
    before = ("", "")
    for row in rows[:MOST_ROWS]:
        place = (row["step"], row["I/O"])
        step, direction = place if place != before else ("", "")
        before = place
        cells = (row.get(of, _OPTIONAL[of]) for of in shown)
        styled = (Text(cell, _TRUST_STYLE.get(cell, "")) for cell in cells)
        table.add_row(Text(step, "bold"), direction, Text(row["name"]), row["measured"], *styled)
    more = len(rows) - MOST_ROWS
    return Group(table, Text(f"and {counted(more, 'more line')}", "dim")) if more > 0 else table


def audit_style(line: str) -> str:
    """The rich style of the line."""
    return "yellow" if AUDIT_FAILED in line else "dim"
