"""Several trials, or replicates, side by side: a row for each step and direction."""

from collections.abc import Iterable, Sequence

from diskbench.analysis.shown import at_one_level, shown_stretch, trust_of, verdicts_by_step
from diskbench.model.campaign import ReplicateLine
from diskbench.model.verdict import LimiterName, Verdict
from diskbench.parallel import grouped
from diskbench.report.assemble.lines import StepLine
from diskbench.report.assemble.summary import short_limit
from diskbench.report.assemble.view import View
from diskbench.report.assemble.words import figure, figure_text
from diskbench.units import format_latency_ns


def rows_of_views(named: Iterable[tuple[str, View]]) -> list[dict[str, str]]:
    """A row for each step and direction of each trial, the same steps together: the words of its
    columns by their titles. What is judged of the whole step stands with its first direction."""
    rows: list[dict[str, str]] = []
    for name, view in named:
        judged = verdicts_by_step(view.verdicts)
        lines = (line for line in view.lines if line.direction != "sync")
        rows += [_of_line(name, line, judged.pop(line.step, [])) for line in lines]
    return _by_step(rows)


def rows_of_replicates(lines: Sequence[ReplicateLine]) -> list[dict[str, str]]:
    """A row for each step and direction of each block, the same steps together; blocks are named
    by what sets them apart."""
    names = short_names(dict.fromkeys(line.block for line in lines))
    return _by_step([_of_replicates(names[line.block], line) for line in lines])


def short_names(blocks: Iterable[str]) -> dict[str, str]:
    """Each block → its first part, and those of its other parts that not all blocks have."""
    parts = {block: block.split(", ") for block in blocks}
    shared = set.intersection(*map(set, parts.values())) if len(parts) > 1 else set()
    return {
        block: ", ".join([first, *(part for part in further if part not in shared)])
        for block, (first, *further) in parts.items()
    }


def _of_line(name: str, line: StepLine, verdicts: Sequence[Verdict]) -> dict[str, str]:
    iops = line.iops.median if line.iops else None
    measured = figure(iops, line.bytes_per_s.median if line.bytes_per_s else None)
    row = {"step": line.step, "I/O": line.direction, "name": name, "measured": measured}
    if line.p99_ns:
        row["p99"] = format_latency_ns(line.p99_ns.median)
    if not verdicts:
        return row
    shown = shown_stretch([verdict.stands_for for verdict in at_one_level(verdicts)])
    return row | _judged(shown.ratio, shown.limiter.name, shown.kind, trust_of(verdicts))


def _of_replicates(name: str, line: ReplicateLine) -> dict[str, str]:
    row = {
        "step": f"{line.step} ({line.level})" if line.level else line.step,
        "I/O": line.direction,
        "name": ", ".join([name, *(f"{fact} {value}" for fact, value in line.facts)]),
        "measured": figure_text(line.metric)(line.replicated.median).removesuffix(" IOPS"),
        "n": f"{line.replicated.machines}",
    }
    if (of := line.verdict) is None:
        return row
    return row | _judged(of.ratio, of.limiter.name, of.kind, of.trust)


def _judged(
    ratio: float | None, limiter: LimiterName, kind: str | None, trust: str
) -> dict[str, str]:
    """`102% of burst`: a burst that was not used up is no rate that lasts."""
    row = {"limited by": short_limit(limiter), "trust": trust}
    if ratio is not None:
        row["of promise"] = f"{ratio:.0%} of burst" if kind == "burst" else f"{ratio:.0%}"
    return row


def _by_step(rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    by_step = grouped(rows, lambda row: (row["step"], row["I/O"]))
    return [row for of in by_step.values() for row in of]
