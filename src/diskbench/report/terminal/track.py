"""The state of each trial for the progress display. Not thread-safe by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.analysis.row_figures import changed, counted, row_figures
from diskbench.report.assemble.phase_lines import clock
from diskbench.units import format_iops, format_latency_ns, format_mb_per_s

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.model.phase import StepPhases
    from diskbench.model.result import StepResult, Tick
    from diskbench.model.spec import Plan, Step


@dataclass
class TrialProgress:
    """One trial: finished steps, the running step and its last second."""

    plan: Plan
    label: Callable[[Plan], str]
    run_index: int = 0
    step: Step | None = None
    step_started_s: float = 0.0
    done_s: float = 0.0
    tick: Tick | None = None
    finished: int = 0
    note: str = ""

    @property
    def name(self) -> str:
        """What distinguishes the trial from the others; "" where it is the only one."""
        return self.label(self.plan)

    def start(self, run_index: int, step: Step, now: float) -> None:
        """A step begins."""
        if run_index != self.run_index:
            self.finished = 0
        self.run_index, self.step, self.step_started_s, self.tick = run_index, step, now, None

    def finish(self, result: StepResult) -> None:
        """The running step is over."""
        self.done_s += self.step.expected_s if self.step else result.seconds_in_fio
        self.finished = result.step_index + 1
        self.step = self.tick = None

    def expected_s(self) -> float:
        """Expected seconds of the whole trial; above the plan once a loop needs more rounds."""
        return max(self.plan.expected_s, self.done_s + (self.step.expected_s if self.step else 0))

    def elapsed_s(self, now: float) -> float:
        """Finished work in planned seconds: the bar never runs ahead of the steps."""
        running = 0.0
        if self.step:
            running = min(now - self.step_started_s, self.step.expected_s)
        return self.done_s + running

    def fraction(self, now: float) -> float:
        """Finished share of the work, 0 to 1."""
        expected = self.expected_s()
        return min(1.0, self.elapsed_s(now) / expected) if expected > 0 else 0.0

    def place(self) -> str:
        """`step 3 of 9`, with the run if there are several, and the round of a loop."""
        words = []
        runs = len(self.plan.run_ids)
        if runs > 1:
            words.append(f"run {self.run_index + 1} of {runs}")
        loop, count = self.plan.loop, len(self.plan.steps)
        at = self.finished if self.step is None else self.step.index + 1
        if self.step and self.step.round is not None and loop:
            at = loop.first + (self.step.index - loop.first) % (count - loop.first) + 1
            words.append(f"round {self.step.round}")
        words.append(f"step {min(at, count)} of {count}")
        return ", ".join(words)


def live_figures(tick: Tick) -> str:
    """`read 3,012 IOPS 12.3 MB/s · write … · 331 µs`, without directions that have no I/O."""
    words = []
    for name, iops, rate in (
        ("read", tick.read_iops, tick.read_bytes_per_s),
        ("write", tick.write_iops, tick.write_bytes_per_s),
    ):
        if iops:
            words.append(f"{name} {format_iops(iops)} IOPS {format_mb_per_s(rate)} MB/s")
    if tick.latency_ns is not None:
        words.append(format_latency_ns(tick.latency_ns))
    return " · ".join(words) or "no I/O in this second"


def result_figures(result: StepResult, course: StepPhases | None = None) -> str:
    """A finished step in one line: its merged rows; if its seconds (`course`) show several levels,
    the figures of the level that stands for the step."""
    words = []
    rows = [row for row in result.measurements if row.scope == "step" and row.did_io]
    courses = {(row.run_id, row.step): course for row in rows} if course is not None else {}
    figures = row_figures(counted(rows), courses)
    for row, figure in zip(rows, figures, strict=True):
        shown = row if figure is None else row.model_copy(update=changed(row.model_dump(), figure))
        mean = shown.lat_mean_ns if shown.lat_mean_ns is not None else shown.clat_mean_ns
        rates = [
            f"{format_iops(shown.iops)} IOPS" if shown.iops is not None else "",
            f"{format_mb_per_s(shown.bytes_per_s)} MB/s"
            if shown.bytes_per_s is not None and row.direction != "sync"
            else "",
        ]
        rate = " ".join(filter(None, rates))
        kind = f" ({figure.kind})" if figure is not None else ""
        latency = f", mean {format_latency_ns(mean)}" if mean is not None else ""
        words.append(f"{row.direction} {rate}{kind}{latency}")
    falls = [
        f"it fell after {clock(cliff.at_s)}" for cliff in (course.cliffs if course else ())[:1]
    ]
    falls = falls if any(figure is not None for figure in figures) else []
    return " · ".join([*words, *falls]) or "no I/O"
