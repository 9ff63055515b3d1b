"""The result as a table of 80 columns, with doubts and the next step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from diskbench.report.assemble.lines import Spread, StepLine, WarningGroup, runs_words
from diskbench.report.assemble.result_rows import NONE
from diskbench.report.assemble.subject import SHARED
from diskbench.report.terminal.plain import print_trimmed
from diskbench.report.terminal.sparkline import sparkline
from diskbench.report.terminal.verdict_text import verdict_lines
from diskbench.units import format_iops, format_latency_ns, format_mb_per_s

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from diskbench.report.assemble.subject import Subject
    from diskbench.report.assemble.trial_view import TrialView

_FIGURES = ("IOPS", "MB/s", "mean", "p50", "p99", "p99.9", "max", "CPU")
_VERDICT_STYLES = {"head": "dim", "row": "", "ground": "dim", "doubt": "yellow"}
_Pick = Callable[[Spread], float]


def print_view(view: TrialView, *, console: Console) -> None:
    """Print the result of one trial (all its runs), and the next step."""
    print_trimmed(console, result_table(view))
    console.print(Text.assemble(("next: ", "bold"), f"{view.next.reason}:"))
    # Do not wrap or cut a command: it must survive copy and paste.
    console.print(Text(f"  {view.next.command}", "bold cyan"), soft_wrap=True)


def result_table(view: TrialView) -> RenderableType:
    """The result of one trial: heading, table, notes, phases, verdicts and warnings."""
    phases = view.phase_lines
    parts: list[RenderableType] = [_heading(view.subject), Text()]
    if view.unfinished:
        parts.append(Text(view.unfinished, "bold yellow"))
    if view.headline:
        parts += [Text(view.headline, "bold"), Text()]
    if view.lines:
        parts += [_table(view.lines), *_notes(view)]
    elif not view.trial.phases:
        parts.append(Text(view.missing, "yellow"))
    parts += [Text(line.text, "bold") for line in view.thresholds]
    if phases:
        parts += [*([Text()] if view.lines else []), Text("second by second", "bold")]
        parts += map(Text, phases)
    below = {(step or "", group.code) for group in view.warnings for step, _ in group.cases}
    if judged := verdict_lines(view.trial.verdicts, below):
        parts += [Text(), Text("verdict", "bold")]
        parts += [Text(line.text, _VERDICT_STYLES[line.kind], no_wrap=True) for line in judged]
    for number, group in enumerate(view.warnings):
        parts += [*([] if number else [Text()]), *_warning(group)]
    return Group(*parts, Text())


def _heading(subject: Subject) -> Text:

    text = Text.assemble((subject.title, "bold"), overflow="fold")
    if subject.marks:
        text.append(f"  [{', '.join(subject.marks)}]", "bold yellow")
    several = f"{len(subject.run_ids)} runs, " if len(subject.run_ids) > 1 else ""
    about = (
        promise_line(subject),
        subject.machine,
        subject.target + (f", {subject.disk}" if subject.disk else ""),
        f"{several}{subject.fio}, run {subject.run_ids[0]}" if subject.run_ids else subject.fio,
    )
    for part in about:
        if part:
            text.append(f"\n{part}", "dim")
    return text


def promise_line(subject: Subject) -> str:
    """`rented: … promised: … shared: …`; empty for a machine that was not rented."""
    if subject.promised is None:
        return ""
    facts = {"rented": subject.promised.offer, "promised": subject.promised.promise}
    if subject.promised.shared:
        facts["shared"] = SHARED
    return "\n".join(f"{name}: {text}" for name, text in facts.items() if text)


def _table(lines: Sequence[StepLine]) -> Table:

    table = Table(box=None, padding=(0, 0, 0, 1), pad_edge=False, header_style="bold")
    table.add_column("step", overflow="fold", min_width=12)
    table.add_column("I/O")
    for name in _FIGURES:
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(Text(_name(line), "bold"), line.direction, *_cells(line, _median))
        if line.runs > 1:
            shape = Text(f" {sparkline(line.by_run, width=16)}", "cyan")
            table.add_row(shape, Text("lowest", "dim"), *_dim(_cells(line, _low)))
            runs = Text(f" {runs_words(line)}", "dim")
            table.add_row(runs, Text("highest", "dim"), *_dim(_cells(line, _high)))
    return table


def _name(line: StepLine) -> str:
    name: list[str] = [line.level] if line.level else []
    if line.rounds is not None:
        first, last = line.rounds
        name.append(f"round {first}" if first == last else f"{first}–{last}")
    return f"{line.step} ({', '.join(name)})" if name else line.step


def _cells(line: StepLine, pick: _Pick) -> list[str]:
    latencies = (line.mean_ns, line.p50_ns, line.p99_ns, line.p99_9_ns, line.max_ns)
    sync = line.direction == "sync"
    return [
        format_iops(pick(line.iops)) if line.iops else NONE,
        format_mb_per_s(pick(line.bytes_per_s)) if line.bytes_per_s and not sync else NONE,
        *(_latency(pick(latency)) if latency else NONE for latency in latencies),
        f"{pick(line.cpu):.0%}" if line.cpu else NONE,
    ]


def _latency(ns: float) -> str:
    return format_latency_ns(ns).replace(" ", "")


def _dim(cells: Sequence[str]) -> list[Text]:

    return [Text(cell, "dim") for cell in cells]


def _median(spread: Spread) -> float:
    return spread.median


def _low(spread: Spread) -> float:
    return spread.low


def _high(spread: Spread) -> float:
    return spread.high


def _notes(view: TrialView) -> list[Text]:
    notes = list(view.notes)
    if view.runs_n > 1:
        notes.append("first line = median of the runs; bars = IOPS of each run, from zero")
    return [Text(note, "dim", overflow="fold") for note in notes]


def _warning(group: WarningGroup) -> list[RenderableType]:

    parts: list[RenderableType] = [Text.assemble(("! ", "bold yellow"), (group.code, "yellow"))]
    for step, message in group.cases:
        case = Text.assemble((f"{step}: " if step else "", "bold"), message)
        parts.append(Padding(case, (0, 0, 0, 2), expand=False))
    if group.advice:
        parts.append(Padding(Text(f"→ {group.advice}", "dim"), (0, 0, 0, 2), expand=False))
    return parts
