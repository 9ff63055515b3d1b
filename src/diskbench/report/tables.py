"""The result as a table that fits 80 columns, with what to doubt and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word
from diskbench.report.headline import headline
from diskbench.report.lines import Line, Spread, WarningGroup, grouped_warnings, lines
from diskbench.report.next_step import next_step
from diskbench.report.phase_lines import phase_lines
from diskbench.report.plain import print_trimmed
from diskbench.report.sparkline import sparkline
from diskbench.report.subject import unfinished_words
from diskbench.report.threshold_lines import threshold_lines
from diskbench.report.verdict_text import verdict_lines
from diskbench.units import format_iops, format_latency_ns, format_mb_per_s

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from diskbench.model.phase import StepPhases
    from diskbench.model.verdict import Verdict
    from diskbench.report.subject import Subject

NONE = "–"
_FIGURES = ("IOPS", "MB/s", "mean", "p50", "p99", "p99.9", "max", "CPU")
_VERDICT_STYLES = {"head": "dim", "row": "", "ground": "dim", "doubt": "yellow"}
_Pick = Callable[[Spread], float]


def print_result(
    subject: Subject,
    measurements: Sequence[Measurement],
    warnings: Sequence[Warning],
    phases: Sequence[StepPhases] = (),
    verdicts: Sequence[Verdict] = (),
    *,
    console: Console,
) -> None:
    """Print the result of one trial (all its runs), and what to do next."""
    from rich.text import Text

    print_trimmed(console, result_table(subject, measurements, warnings, phases, verdicts))
    advice = next_step(subject, lines(measurements, phases, verdicts), grouped_warnings(warnings))
    console.print(Text.assemble(("next: ", "bold"), f"{advice.reason}:"))
    # A command is neither folded nor cut: it must survive copy and paste.
    console.print(Text(f"  {advice.command}", "bold cyan"), soft_wrap=True)


def result_table(
    subject: Subject,
    measurements: Sequence[Measurement],
    warnings: Sequence[Warning],
    phases: Sequence[StepPhases] = (),
    verdicts: Sequence[Verdict] = (),
) -> RenderableType:
    """The result of one trial: heading, table, notes, phases, verdicts and warnings."""
    from rich.console import Group
    from rich.text import Text

    found = lines(measurements, phases, verdicts)
    parts: list[RenderableType] = [_heading(subject), Text()]
    if unfinished := unfinished_words(subject, measurements):
        parts.append(Text(unfinished, "bold yellow"))
    if line := headline(subject.promised, measurements, phases):
        parts += [Text(line, "bold"), Text()]
    if found:
        parts += [_table(found), *_notes(found)]
    elif not phases:
        parts.append(Text(_nothing(subject), "yellow"))
    parts += [Text(line.text, "bold") for line in threshold_lines(subject.thresholds, found)]
    if told := phase_lines(phases):
        parts += [*([Text()] if found else []), Text("second by second", "bold"), *map(Text, told)]
    if judged := verdict_lines(verdicts):
        parts += [Text(), Text("verdict", "bold")]
        parts += [Text(line.text, _VERDICT_STYLES[line.kind], no_wrap=True) for line in judged]
    for number, group in enumerate(grouped_warnings(warnings)):
        parts += [*([] if number else [Text()]), *_warning(group)]
    return Group(*parts, Text())


def _nothing(subject: Subject) -> str:
    if "imported" in subject.marks:
        return "what was imported has no summary, only what its log tells second by second"
    return "no measured step finished"


def _heading(subject: Subject) -> Text:
    from rich.text import Text

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
    for one in about:
        if one:
            text.append(f"\n{one}", "dim")
    return text


def promise_line(subject: Subject) -> str:
    """`rented: … promised: … shared: …`; empty for a machine that was there."""
    if subject.promised is None:
        return ""
    told = {"rented": subject.promised.offer, "promised": subject.promised.promise}
    if subject.promised.shared:
        told["shared"] = "cells of its matrix use the machine in turn: no independent samples"
    return "\n".join(f"{name}: {text}" for name, text in told.items() if text)


def _table(found: Sequence[Line]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 0, 0, 1), pad_edge=False, header_style="bold")
    table.add_column("step", overflow="fold", min_width=12)
    table.add_column("I/O")
    for name in _FIGURES:
        table.add_column(name, justify="right", no_wrap=True)
    for line in found:
        table.add_row(Text(_name(line), "bold"), line.direction, *_cells(line, _median))
        if line.runs > 1:
            shape = Text(f" {sparkline(line.by_run, width=16)}", "cyan")
            table.add_row(shape, Text("lowest", "dim"), *_dim(_cells(line, _low)))
            runs = Text(f" {runs_words(line)}", "dim")
            table.add_row(runs, Text("highest", "dim"), *_dim(_cells(line, _high)))
    return table


def _name(line: Line) -> str:
    told: list[str] = [line.level] if line.level else []
    if line.rounds is not None:
        first, last = line.rounds
        told.append(f"round {first}" if first == last else f"{first}–{last}")
    return f"{line.step} ({', '.join(told)})" if told else line.step


def runs_words(line: Line) -> str:
    """`3 runs`, or `2 of 5 runs` where the others were at another level."""
    return f"{line.iops.n} of {line.runs} runs" if line.iops.n < line.runs else f"{line.runs} runs"


def _cells(line: Line, pick: _Pick) -> list[str]:
    latencies = (line.mean_ns, line.p50_ns, line.p99_ns, line.p99_9_ns, line.max_ns)
    sync = line.direction == "sync"
    return [
        format_iops(pick(line.iops)),
        NONE if sync else format_mb_per_s(pick(line.bytes_per_s)),
        *(_latency(pick(one)) if one else NONE for one in latencies),
        f"{pick(line.cpu):.0%}" if line.cpu else NONE,
    ]


def _latency(ns: float) -> str:
    return format_latency_ns(ns).replace(" ", "")


def _dim(cells: Sequence[str]) -> list[Text]:
    from rich.text import Text

    return [Text(cell, "dim") for cell in cells]


def _median(spread: Spread) -> float:
    return spread.median


def _low(spread: Spread) -> float:
    return spread.low


def _high(spread: Spread) -> float:
    return spread.high


def _notes(found: Sequence[Line]) -> list[Text]:
    from rich.text import Text

    notes = ["MB/s = 10^6 bytes/s; CPU = of one core, for all of fio's jobs"]
    levels = dict.fromkeys(line.level for line in found if line.level)
    if levels:
        told = ", ".join(f"({level})" for level in levels)
        notes.append(f"{told} = of that level alone, not of the whole step: it had several")
    if any(line.crosses for line in found):
        notes.append(f"{NONE} = latencies of both sides of a fall, so none is told")
    roles = {line.role for line in found}
    if "offered" in roles:
        notes.append(
            "latency of offered steps: arrivals at a fixed rate; of the others: at full load"
        )
    elif "measure" in roles:
        notes.append(
            "latency is at full load (closed loop); at a load of your choice: offered-load"
        )
    if any(line.runs > 1 for line in found):
        notes.append("first line = median of the runs; blocks = IOPS run by run, from zero")
    if any(line.iops.n % 2 == 0 for line in found):
        notes.append(
            "median of an even number: the worse of the two in the middle, no mean of them"
        )
    if any(line.rounds for line in found):
        notes.append("(3–7) = median of these rounds")
    if any(line.p50_ns and not line.p99_9_ns for line in found):
        notes.append(f"{NONE} = too few I/Os for this quantile (p99 needs 299, p99.9 2,995)")
    if any(line.latency_of_sync for line in found):
        notes.append("latency of a write with syncs: that of fsync or fdatasync, not of write()")
    if any(line.completion_only for line in found):
        notes.append("latency is completion latency: fio kept no other")
    return [Text(note, "dim", overflow="fold") for note in notes]


def _warning(group: WarningGroup) -> list[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    parts: list[RenderableType] = [Text.assemble(("! ", "bold yellow"), (group.code, "yellow"))]
    for step, message in group.cases:
        case = Text.assemble((f"{step}: " if step else "", "bold"), message)
        parts.append(Padding(case, (0, 0, 0, 2), expand=False))
    if group.advice:
        parts.append(Padding(Text(f"→ {group.advice}", "dim"), (0, 0, 0, 2), expand=False))
    return parts
