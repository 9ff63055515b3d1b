"""Whether figures meet the thresholds of their profile and of `--fail-if`, a line per threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from diskbench.model.threshold import Threshold
from diskbench.model.verdict import Verdict
from diskbench.report.assemble.lines import Spread, StepLine
from diskbench.units import format_iops, format_latency_ns, format_mb_per_s

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
) -> tuple[ThresholdLine, ...]:
    """Every threshold with its lines of the result, judged by the worst run.

    A threshold without a line, or on a figure that too few I/Os support, is `not measured`.
    """
    return tuple(
        line
        for threshold in thresholds
        for line in (
            _ratios(threshold, verdicts)
            if threshold.metric == "ratio"
            else _judged(threshold, lines)
        )
    )


def _ratios(threshold: Threshold, verdicts: Sequence[Verdict]) -> Iterator[ThresholdLine]:
    """A threshold on measured over promised: per step, the worst of its runs."""
    by_step: dict[str, list[float]] = {}
    for verdict in verdicts:
        if threshold.step in (None, verdict.step):
            ratio = verdict.stands_for.ratio
            by_step.setdefault(verdict.step, []).extend([] if ratio is None else [ratio])
    if not by_step:
        yield _without(threshold)
    for step, ratios in by_step.items():
        if not ratios:
            finding = f"{step} ratio: this disk has no documented limit (give --promise)"
            yield ThresholdLine("not measured", finding, threshold, step)
            continue
        worst = max(ratios) if threshold.is_ceiling else min(ratios)
        yield _outcome(threshold, step, f"{step} ratio", worst, len(ratios))


def _without(threshold: Threshold) -> ThresholdLine:
    where = threshold.step or "any step"
    finding = f"{threshold.metric}: {where} has no such figure"
    return ThresholdLine("not measured", finding, threshold)


def _outcome(threshold: Threshold, step: str, name: str, worst: float, runs: int) -> ThresholdLine:
    outcome: Outcome = "passed" if threshold.holds(worst) else "not passed"
    of_runs = f", the worst of {runs} runs" if runs > 1 else ""
    finding = f"{name} is {_shown(threshold, worst)}{of_runs}"
    return ThresholdLine(outcome, finding, threshold, step)


def _judged(threshold: Threshold, lines: Sequence[StepLine]) -> Iterator[ThresholdLine]:
    matching = [
        line
        for line in lines
        if threshold.step in (None, line.step) and threshold.direction in (None, line.direction)
    ]
    if not matching:
        yield _without(threshold)
    for line in matching:
        name = f"{line.step} {line.direction} {threshold.metric}"
        spread = _spread(line, threshold)
        if spread is None:
            finding = f"{name}: too few I/Os for this figure"
            yield ThresholdLine("not measured", finding, threshold, line.step)
            continue
        worst = spread.high if threshold.is_ceiling else spread.low
        yield _outcome(threshold, line.step, name, worst, spread.n)


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
    bound = _BOUND_WORDS[threshold.bound]
    return f"{bound} {_shown(threshold, threshold.limit)}{source}"


def _shown(threshold: Threshold, figure: float) -> str:
    if threshold.is_latency:
        return format_latency_ns(figure)
    if threshold.metric == "ratio":
        return f"{figure * 100:.3g}%"  # 89.6% must not read as the 90% that it misses
    if threshold.metric == "iops":
        return f"{format_iops(figure)} IOPS"
    return f"{format_mb_per_s(figure)} MB/s"
