"""Whether figures meet their profile's thresholds: passed or not passed, a line per threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from diskbench.units import format_iops, format_latency_ns, format_mb_per_s

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from diskbench.model.threshold import Threshold
    from diskbench.report.assemble.lines import Spread, StepLine

Outcome = Literal["passed", "not passed", "not measured"]


@dataclass(frozen=True)
class ThresholdLine:
    """One threshold beside one line of a result."""

    outcome: Outcome
    text: str


def threshold_lines(
    thresholds: Sequence[Threshold], lines: Sequence[StepLine]
) -> tuple[ThresholdLine, ...]:
    """Every threshold with its lines of the result, judged by the worst run.

    A threshold without a line, or on a figure that too few I/Os support, is `not measured`.
    """
    return tuple(line for threshold in thresholds for line in _judged(threshold, lines))


def _judged(threshold: Threshold, lines: Sequence[StepLine]) -> Iterator[ThresholdLine]:
    matching = [
        line
        for line in lines
        if threshold.step in (None, line.step) and threshold.direction in (None, line.direction)
    ]
    asked = _asked(threshold)
    if not matching:
        where = threshold.step or "any step"
        yield ThresholdLine("not measured", f"not measured: {asked} ({where} has no such figure)")
    for line in matching:
        name = f"{line.step} {line.direction} {threshold.metric}"
        spread = _spread(line, threshold)
        if spread is None:
            why = "too few I/Os for this figure"
            yield ThresholdLine("not measured", f"not measured: {name}: {why}; asked: {asked}")
            continue
        worst = spread.high if threshold.bound == "<" else spread.low
        outcome: Outcome = "passed" if threshold.holds(worst) else "not passed"
        of_runs = f", the worst of {spread.n} runs" if spread.n > 1 else ""
        text = f"{outcome}: {name} is {_shown(threshold, worst)}{of_runs}; asked: {asked}"
        yield ThresholdLine(outcome, text)


def _spread(line: StepLine, threshold: Threshold) -> Spread | None:
    spreads: dict[str, Spread | None] = {
        "iops": line.iops,
        "mb_per_s": line.bytes_per_s,
        "mean": line.mean_ns,
        "p50": line.p50_ns,
        "p99": line.p99_ns,
        "p99.9": line.p99_9_ns,
        "max": line.max_ns,
    }
    return spreads[threshold.metric]


def _asked(threshold: Threshold) -> str:
    source = f" ({threshold.source})" if threshold.source else ""
    bound = "below" if threshold.bound == "<" else "above"
    return f"{bound} {_shown(threshold, threshold.limit)}{source}"


def _shown(threshold: Threshold, figure: float) -> str:
    if threshold.is_latency:
        return format_latency_ns(figure)
    if threshold.metric == "iops":
        return f"{format_iops(figure)} IOPS"
    return f"{format_mb_per_s(figure)} MB/s"
