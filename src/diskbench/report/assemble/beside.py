"""The same steps of several subjects side by side: hosts of one command, or disks of a matrix."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from diskbench.analysis.shown import at_one_level, shown_stretch, trust_of, verdicts_by_step
from diskbench.report.terminal.compare_text import figure_text
from diskbench.report.terminal.verdict_text import figure, short_limit
from diskbench.units import format_latency_ns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from diskbench.model.campaign import ReplicateLine
    from diskbench.model.verdict import Verdict
    from diskbench.report.assemble.lines import StepLine
    from diskbench.report.assemble.trial_view import TrialView


@dataclass(frozen=True)
class BesideRow:
    """One step and direction of one subject. `measured` has no unit for IOPS; `n` is the number of
    machines behind it; `ratio` is measured over promised, None where nothing is promised;
    `on_credit`: it is burst credit that was measured, and what was promised of it. What is
    judged of the whole step stands with its first direction and is empty with the others."""

    step: str
    direction: str
    name: str
    measured: str
    n: int = 1
    p99: str = ""
    ratio: float | None = None
    limit: str = ""
    trust: str = ""
    on_credit: bool = False


def rows_of_views(named: Iterable[tuple[str, TrialView]]) -> tuple[BesideRow, ...]:
    """A row for each step and direction of each trial, the same steps together."""
    rows = []
    for name, view in named:
        judged = verdicts_by_step(view.trial.verdicts)
        steps: set[str] = set()
        for line in view.lines:
            if line.direction == "sync":
                continue
            rows.append(
                _of_line(name, line, judged.get(line.step, []), first=line.step not in steps)
            )
            steps.add(line.step)
    return _by_step(rows)


def rows_of_replicates(lines: Sequence[ReplicateLine]) -> tuple[BesideRow, ...]:
    """A row for each step and direction of each block, the same steps together; blocks are named
    by what sets them apart."""
    names = short_names(dict.fromkeys(line.block for line in lines))
    return _by_step([_of_replicates(names[line.block], line) for line in lines])


def short_names(blocks: Iterable[str]) -> dict[str, str]:
    """Each block → its first part, and those of its other parts that not all blocks have."""
    parts = {block: block.split(", ") for block in blocks}
    shared = set.intersection(*(set(of) for of in parts.values())) if len(parts) > 1 else set()
    return {
        block: ", ".join([first, *(part for part in further if part not in shared)])
        for block, (first, *further) in parts.items()
    }


def _of_line(name: str, line: StepLine, verdicts: Sequence[Verdict], *, first: bool) -> BesideRow:
    iops = line.iops.median if line.iops else None
    rate = line.bytes_per_s.median if line.bytes_per_s else None
    row = BesideRow(
        step=line.step,
        direction=line.direction,
        name=name,
        measured=figure(iops, rate),
        p99=format_latency_ns(line.p99_ns.median) if line.p99_ns else "",
    )
    if not verdicts or not first:
        return row
    shown = shown_stretch([verdict.stands_for for verdict in at_one_level(verdicts)])
    return replace(
        row,
        ratio=shown.ratio,
        limit=short_limit(shown.limiter.name),
        trust=trust_of(verdicts),
        on_credit=shown.kind == "burst",
    )


def _of_replicates(name: str, line: ReplicateLine) -> BesideRow:
    facts = ", ".join(f"{fact} {value}" for fact, value in line.facts)
    shown = figure_text(line.metric)(line.replicated.median).removesuffix(" IOPS")
    verdict = line.verdict
    return BesideRow(
        step=f"{line.step} ({line.level})" if line.level else line.step,
        direction=line.direction,
        name=f"{name}, {facts}" if facts else name,
        measured=shown,
        n=line.replicated.machines,
        ratio=verdict.ratio if verdict else None,
        limit=short_limit(verdict.limiter.name) if verdict else "",
        trust=verdict.trust if verdict else "",
        on_credit=verdict is not None and verdict.kind == "burst",
    )


def _by_step(rows: Sequence[BesideRow]) -> tuple[BesideRow, ...]:
    by_step: dict[tuple[str, str], list[BesideRow]] = defaultdict(list)
    for row in rows:
        by_step[row.step, row.direction].append(row)
    return tuple(row for of in by_step.values() for row in of)
