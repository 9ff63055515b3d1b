"""The state of each trial for the progress display. Not thread-safe by itself."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from diskbench.analysis.row_figures import changed, row_figures
from diskbench.model.phase import StepPhases
from diskbench.model.result import StepResult, Tick
from diskbench.model.spec import Plan, Step
from diskbench.report.assemble.phases import clock
from diskbench.report.assemble.words import rate_words
from diskbench.units import format_duration_s, format_iops, format_latency_ns, format_mb_per_s

_LATE_S = 2.0
"""A step that runs longer than planned by this has no known rest; our choice."""


@dataclass
class Track:
    """One trial: finished steps, the running step and its last second."""

    plan: Plan
    label: Callable[[Plan], str]
    run_index: int = 0
    step: Step | None = None
    done_s: float = 0.0
    done_steps: int = 0
    tick: Tick | None = None
    finished: int = 0
    _started_s: float = 0.0
    """When the step was started."""
    _fio_began_s: float | None = None
    """When fio began to run, by the clock of the display; None before its first figures."""
    _beyond_s: list[float] = field(default_factory=list)
    """Seconds that each finished step took beyond its plan, to start and to collect."""

    @property
    def name(self) -> str:
        """What distinguishes the trial from the others; "" where it is the only one."""
        return self.label(self.plan)

    def start(self, run_index: int, step: Step, now: float) -> None:
        """A step begins."""
        if run_index != self.run_index:
            self.finished = 0
        self.run_index, self.step, self.tick = run_index, step, None
        self._started_s, self._fio_began_s = now, None

    def ticked(self, tick: Tick, now: float) -> None:
        """A second of the running step is over."""
        began = now - tick.elapsed_s
        # The earliest: fio counts from zero again after a ramp, and old seconds may be read again.
        known = self._fio_began_s
        self.tick, self._fio_began_s = tick, began if known is None else min(known, began)

    def finish(self, result: StepResult, now: float) -> None:
        """The running step is over."""
        if self.step is not None and self.step.role != "fill":
            self._beyond_s.append(now - self._started_s - self.step.expected_s)
        self.done_s += self.step.expected_s if self.step else result.seconds_in_fio
        self.done_steps += 1
        self.finished = result.step_index + 1
        self.step = self.tick = None

    def expected_s(self) -> float:
        """Expected seconds of the whole trial; above the plan once a loop needs more rounds."""
        return max(self.plan.expected_s, self.done_s + (self.step.expected_s if self.step else 0))

    def elapsed_s(self, now: float) -> float:
        """Finished work in planned seconds: the bar never runs ahead of the steps."""
        step = self.step
        return self.done_s + (min(self._in_fio_s(now), step.expected_s) if step else 0.0)

    def fraction(self, now: float) -> float:
        """Finished share of the work, 0 to 1."""
        expected = self.expected_s()
        return min(1.0, self.elapsed_s(now) / expected) if expected > 0 else 0.0

    def left_s(self, now: float) -> float:
        """Seconds until the trial ends: what is planned of it, and what a step took so far beyond
        its plan, for each step that is left."""
        beyond = max(0.0, statistics.median(self._beyond_s)) if self._beyond_s else 0.0
        steps = len(self.plan.steps) * max(1, len(self.plan.run_ids)) - self.done_steps
        return max(0.0, self.expected_s() - self.elapsed_s(now)) + beyond * max(0, steps)

    def step_left(self, now: float) -> str:
        """`starting`, `12 s left`, or by how much the running step exceeds its plan."""
        if self.step is None:
            return "collecting" if self.finished else "starting"
        if self.tick is None:
            return "starting"
        remaining_s = self.step.expected_s - self._in_fio_s(now)
        if remaining_s < -_LATE_S:
            return f"{format_duration_s(-remaining_s)} longer than planned"
        return f"{format_duration_s(remaining_s)} left" if remaining_s >= 0.5 else "ending"

    def _in_fio_s(self, now: float) -> float:
        return 0.0 if self._fio_began_s is None else now - self._fio_began_s

    def place(self) -> str:
        """`step 3 of 9`, with the run if there are several, and the round of a loop."""
        runs = len(self.plan.run_ids)
        words = [f"run {self.run_index + 1} of {runs}"] if runs > 1 else []
        loop, count = self.plan.loop, len(self.plan.steps)
        at = self.finished if self.step is None else self.step.index + 1
        if self.step and self.step.round is not None and loop:
            at = loop.first + (self.step.index - loop.first) % (count - loop.first) + 1
            words.append(f"round {self.step.round}")
        words.append(f"step {min(at, count)} of {count}")
        return ", ".join(words)


def live_figures(tick: Tick) -> str:
    """`read 3,012 IOPS 12.3 MB/s · write … · 331 µs`, without directions that have no I/O."""
    both = "{} IOPS {} MB/s"
    words = _figures(tick, lambda iops, rate: both.format(format_iops(iops), format_mb_per_s(rate)))
    return " · ".join(words) or "no I/O in this second"


def short_figures(tick: Tick) -> str:
    """`write 1,308 MB/s, 5.65 ms`: IOPS of small blocks and MB/s of large ones, for a line that
    several hosts share."""
    return ", ".join(_figures(tick, rate_words)) or "no I/O"


def _figures(tick: Tick, show: Callable[[float, float], str]) -> list[str]:
    """The rates of the directions with I/O in this second, and their latency."""
    read = ("read", tick.read_iops, tick.read_bytes_per_s)
    write = ("write", tick.write_iops, tick.write_bytes_per_s)
    words = [f"{name} {show(iops, rate)}" for name, iops, rate in (read, write) if iops]
    latency = tick.latency_ns
    return words if latency is None else [*words, format_latency_ns(latency)]


def result_figures(result: StepResult, course: StepPhases | None = None) -> str:
    """A finished step in one line: its merged rows; if its seconds (`course`) show several levels,
    the figures of the level that stands for the step."""
    words = []
    rows = [row for row in result.measurements if row.scope == "step" and row.did_io]
    courses = {(row.run_id, row.step): course for row in rows} if course is not None else {}
    figures = row_figures(rows, courses)
    for row, level in zip(rows, figures, strict=True):
        shown = row if level is None else row.model_copy(update=changed(row.model_dump(), level))
        mean = shown.lat_mean_ns if shown.lat_mean_ns is not None else shown.clat_mean_ns
        rates = [f"{format_iops(shown.iops)} IOPS"] if shown.iops is not None else []
        if shown.bytes_per_s is not None and row.direction != "sync":
            rates.append(f"{format_mb_per_s(shown.bytes_per_s)} MB/s")
        kind = f" ({level.kind})" if level is not None else ""
        latency = f", mean {format_latency_ns(mean)}" if mean is not None else ""
        words.append(f"{row.direction} {' '.join(rates)}{kind}{latency}")
    if course and course.cliffs and any(level is not None for level in figures):
        words.append(f"it fell after {clock(course.cliffs[0].at_s)}")
    return " · ".join(words) or "no I/O"
