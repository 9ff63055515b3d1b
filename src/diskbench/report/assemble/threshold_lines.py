"""Whether figures meet the thresholds of their profile and of the user, a line per threshold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from diskbench.analysis.shown import verdicts_by_step
from diskbench.analysis.sla import Sla, needed_ios
from diskbench.model.spec import Search
from diskbench.model.threshold import COLUMN_OF, Threshold
from diskbench.model.verdict import Verdict
from diskbench.report.assemble.lines import StepLine
from diskbench.report.assemble.words import figure_text
from diskbench.units import format_iops

_BOUND_WORDS = {"<": "below", "<=": "at most", ">": "above", ">=": "at least"}
Outcome = Literal["passed", "not passed", "not measured"]


@dataclass(frozen=True)
class ThresholdLine:
    """One threshold beside one line of a result: the `finding`, and what was asked. `step` is
    empty where no line matches."""

    outcome: Outcome
    finding: str
    threshold: Threshold
    step: str = ""

    @property
    def text(self) -> str:
        """`not passed: commit sync p99 is 12.0 ms; required: below 10.0 ms (etcd)`."""
        return f"{self.outcome}: {self.finding}; required: {_asked(self.threshold)}"


def threshold_lines(
    thresholds: Sequence[Threshold],
    lines: Sequence[StepLine],
    verdicts: Sequence[Verdict] = (),
    slas: Sequence[Sla] = (),
) -> tuple[ThresholdLine, ...]:
    """Every threshold with its lines of the result, judged by the worst run.

    A threshold without a line, or on a figure that too few I/Os support, is `not measured`.
    """
    found: list[ThresholdLine] = []
    for threshold in thresholds:
        figures = [*_figures(threshold, lines, verdicts, slas)]
        if not figures:
            finding = f"{threshold.metric}: {threshold.step or 'any step'} has no such figure"
            found.append(ThresholdLine("not measured", finding, threshold))
        for step, name, values, unknown in figures:
            outcome: Outcome = "not measured"
            finding = f"{name}: {unknown}"
            if values:
                worst = max(values) if threshold.is_ceiling else min(values)
                outcome = "passed" if threshold.holds(worst) else "not passed"
                of_runs = f", the worst of {len(values)} runs" if len(values) > 1 else ""
                finding = f"{name} is {_shown(threshold, worst)}{of_runs}"
            found.append(ThresholdLine(outcome, finding, threshold, step))
    return tuple(found)


def _figures(
    threshold: Threshold,
    lines: Sequence[StepLine],
    verdicts: Sequence[Verdict],
    slas: Sequence[Sla],
) -> Iterator[tuple[str, str, Sequence[float], str]]:
    """Step and name of each figure that a threshold is on, the values of its runs, and why there is
    none."""
    if threshold.metric == "sla":
        yield "", "sla", [sla.iops for sla in slas], "no probe of the search ended"
    elif threshold.metric == "ratio":
        for step, of_step in verdicts_by_step(verdicts).items():
            if threshold.step in (None, step):
                ratios = [verdict.stands_for.ratio for verdict in of_step]
                yield step, f"{step} ratio", [of for of in ratios if of is not None], _NO_LIMIT
    else:
        for line in lines:
            at = threshold.step or line.step, threshold.direction or line.direction
            if at == (line.step, line.direction):
                spread = line.figure(COLUMN_OF[threshold.metric])
                name = f"{line.step} {line.direction} {threshold.metric}"
                values = spread.values if spread else ()
                yield line.step, name, values, "too few I/Os for this figure"


def sla_words(sla: Sla, search: Search) -> str:
    """`sla: 2,740 IOPS at p99 below 2.00 ms (missed at 2,810; 6 probes)`."""
    target = search.target
    of = f"{target.direction} " if target.direction else ""
    at = f"{of}{target.metric} {_asked(target)}"
    probes = f"{sla.probes} probes of at least {needed_ios(target, search.beyond):,} I/Os"
    if not sla.iops:
        return f"sla: none: {at} was missed at {format_iops(sla.missed_iops or 0)} IOPS ({probes})"
    above = "the capacity limits it"
    if sla.missed_iops is not None:
        above = f"missed at {format_iops(sla.missed_iops)}"
    return f"sla: {format_iops(sla.iops)} IOPS at {at} ({above}; {probes})"


_NO_LIMIT = "this disk has no documented limit (give --promise)"


def _asked(threshold: Threshold) -> str:
    source = f" ({threshold.source})" if threshold.source else ""
    bound = _BOUND_WORDS[threshold.bound]
    return f"{bound} {_shown(threshold, threshold.limit)}{source}"


def _shown(threshold: Threshold, figure: float) -> str:
    if threshold.metric == "ratio":
        return f"{figure * 100:.3g}%"  # 89.6% must not read as the 90% that it misses
    return figure_text(COLUMN_OF.get(threshold.metric, "iops"))(figure)  # that of a search is IOPS
