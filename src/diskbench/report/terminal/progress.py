"""Progress while fio runs: bars on a terminal, plain lines elsewhere, nothing with --quiet."""

from __future__ import annotations

import logging
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TextIO

from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from diskbench.analysis.row_figures import changed, row_figures
from diskbench.model.phase import StepPhases
from diskbench.model.result import StepResult, Tick
from diskbench.model.spec import Plan, Step
from diskbench.ports import EvidenceStore, Watcher
from diskbench.report.assemble.phases import clock
from diskbench.report.assemble.subject import namer
from diskbench.report.assemble.words import rate_words
from diskbench.report.terminal.layout import hanging
from diskbench.report.terminal.screen import GuardedLive, screen
from diskbench.results.run_evidence import phases_of
from diskbench.units import format_duration_s, format_iops, format_latency_ns, format_mb_per_s

LINE_EVERY_S = 5.0
LINES_PER_STEP = 60
_BAR_WIDTH = 24
_ROWS_BESIDE = 8
"""Rows of the terminal that finished steps leave to the plan above the display; our choice."""
_SHORTEST_S = 9.0
"""Shortest step in seconds that may have levels: those of lab disks with scaled-down credit."""
log = logging.getLogger(__name__)


def open_progress(
    plans: Sequence[Plan],
    *,
    stream: TextIO | None,
    clock: Callable[[], float] = time.monotonic,
    evidence: EvidenceStore | None = None,
) -> Progress:
    """The display for `plans` on `stream` (None: nothing, as --quiet asks); close it before
    you print anything else there.

    A finished step is shown with its phases, as `evidence` has them, so that no mean across a cliff
    is shown.
    """
    named = namer(plans)
    tracks = {plan.trial_id: Track(plan, named) for plan in plans}
    if stream is not None and stream.isatty():
        return _Bars(tracks, stream, clock, evidence)
    return Progress(tracks, stream, clock, evidence)


@dataclass
class Progress(Watcher):
    """Receives progress from the threads of the trials; its methods never block or raise. By itself
    it prints a line per step, and another every few seconds while it runs."""

    _tracks: dict[str, Track]
    _stream: TextIO | None
    _clock: Callable[[], float]
    _evidence: EvidenceStore | None
    _lock: threading.RLock = field(default_factory=threading.RLock)

    _last: dict[str, float] = field(default_factory=dict)
    """When each trial last printed a line."""

    def measuring(self, plan: Plan) -> None:
        """A trial is about to be measured by this plan; it may have been a draft until now."""
        with self._lock:
            self._tracks[plan.trial_id].plan = plan

    def step_started(self, trial_id: str, run_index: int, step: Step) -> None:
        """A step is about to run."""
        with self._lock:
            track, now = self._tracks[trial_id], self._clock()
            track.start(run_index, step, now)
            self._last[trial_id] = now
            expected = format_duration_s(step.expected_s)
            self._say(track, f"{track.place()}: {step.name}, about {expected}")

    def tick(self, trial_id: str, tick: Tick) -> None:
        """One second of the running step."""
        with self._lock:
            track, now = self._tracks[trial_id], self._clock()
            track.ticked(tick, now)
            step = track.step
            every = max(LINE_EVERY_S, (step.expected_s if step else 0) / LINES_PER_STEP)
            if step and now - self._last.get(trial_id, 0.0) >= every:
                self._last[trial_id] = now
                at = format_duration_s(tick.elapsed_s)
                left = f"{format_duration_s(track.left_s(now))} left in all"
                self._say(track, f"{step.name} at {at}: {short_figures(tick)}; {left}")

    def step_finished(self, trial_id: str, result: StepResult) -> None:
        """A step is done."""
        track, course = self._tracks[trial_id], None
        evidence = self._evidence if result.seconds_in_fio >= _SHORTEST_S else None
        if evidence is not None and self._stream is not None:
            run_id, number = track.plan.run_ids[track.run_index], track.run_index + 1
            try:
                phases = phases_of(evidence, run_id, track.plan, number=number)
                course = next((of for of in phases if of.step == result.step), None)
            except Exception as error:  # noqa: BLE001 - a display never raises; the result tells it
                log.debug("no seconds of %s: %s", result.step, error)
        with self._lock:
            track.finish(result, self._clock())
            self._finished(track, result.step, result_figures(result, course))

    def _finished(self, track: Track, step: str, figures: str) -> None:
        self._say(track, f"{step} done: {figures}")

    def note(self, trial_id: str, text: str) -> None:
        """An event to report: a broken connection, a stop request that takes effect."""
        with self._lock:
            self._say(self._tracks[trial_id], text)

    def close(self) -> None:
        """Release the terminal; repeated calls have no effect."""

    def _say(self, track: Track, text: str) -> None:
        try:
            if self._stream is not None:
                lead = f"{track.name}: " if track.name else ""
                print(hanging(lead, text, indent=2), file=self._stream, flush=True)
        except (OSError, ValueError):
            return  # stderr is closed: the measurement continues without a display


@dataclass
class _Bars(Progress):
    """On a terminal: finished steps, a bar and the running step; of several trials a table with a
    line each. All of it is gone when the display is closed: the result says it again."""

    _live: Live | None = None
    _closed: bool = False
    _done: list[Text] = field(default_factory=list)
    """A line for each finished step."""

    def step_started(self, trial_id: str, run_index: int, step: Step) -> None:
        with self._lock:
            self._tracks[trial_id].start(run_index, step, self._clock())

    def tick(self, trial_id: str, tick: Tick) -> None:
        with self._lock:
            self._tracks[trial_id].ticked(tick, self._clock())
        self._open()

    def _finished(self, track: Track, step: str, figures: str) -> None:
        self._done.append(_line(track, step, figures, "green"))
        self._open()

    def note(self, trial_id: str, text: str) -> None:
        track = self._tracks[trial_id]
        if track.plan.is_draft and self._live is None:  # no bar moves before a machine is there
            line = f"{track.name}: {text}" if track.name else text
            self._console.print(Text(line), soft_wrap=True)
            return
        self._open()
        self._console.print(_line(track, "note", text, "yellow"))

    def close(self) -> None:
        with self._lock:
            live, self._live, self._closed = self._live, None, True
        # Outside the lock: stop() joins the drawing thread, which needs the lock.
        if live:
            live.stop()

    def _open(self) -> None:
        with self._lock:
            if self._live is None and not self._closed:
                self._live = GuardedLive(
                    console=self._console, get_renderable=self._render, refresh_per_second=4,
                    transient=True,
                )  # fmt: skip
                self._live.start(refresh=True)

    @cached_property
    def _console(self) -> Console:
        return screen(stream=self._stream)

    def _render(self) -> RenderableType:
        with self._lock:
            now = self._clock()
            tracks = list(self._tracks.values())
            parts = _one(tracks[0], now) if len(tracks) == 1 else _several(tracks, now)
            below = len(tracks) + 1 if len(tracks) > 1 else 3
            room = max(0, self._console.height - _ROWS_BESIDE - below)
            return Group(*self._done[len(self._done) - min(room, len(self._done)) :], *parts)


def _line(track: Track, label: str, text: str, style: str) -> Text:
    prefix = f"{track.name} " if track.name else ""
    return Text.assemble(prefix, (label, style), f"  {text}", overflow="ellipsis", no_wrap=True)


def _one(track: Track, now: float) -> list[RenderableType]:
    grid = Table.grid(padding=(0, 1, 0, 0))
    share = track.fraction(now)
    bar = ProgressBar(total=1.0, completed=share, width=_BAR_WIDTH, complete_style="blue")
    left = Text(f"about {format_duration_s(track.left_s(now))} left")
    grid.add_row(bar, Text(f"{share:>4.0%}"), left)
    name = f": {track.step.name}" if track.step else ""
    at, rest = (f"{track.place()}{name}", "bold"), f", {track.step_left(now)}"
    figures = live_figures(track.tick) if track.tick else ""
    return [
        grid,
        Text.assemble(at, rest, no_wrap=True, overflow="ellipsis"),
        Text(figures, "cyan", no_wrap=True, overflow="ellipsis"),
    ]


def _several(tracks: Sequence[Track], now: float) -> list[RenderableType]:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("host", "done", "left", "step", "", "last second"):
        justify: JustifyMethod = "right" if name in ("done", "left") else "left"
        table.add_column(name, no_wrap=True, overflow="ellipsis", justify=justify)
    for track in tracks:
        table.add_row(
            Text(track.name, "bold"),
            f"{track.fraction(now):.0%}",
            format_duration_s(track.left_s(now)),
            track.step.name if track.step else "",
            Text(track.step_left(now), "dim"),
            Text(short_figures(track.tick) if track.tick else "", "cyan"),
        )
    return [table]


_LATE_S = 2.0
"""A step that runs longer than planned by this has no known rest; our choice."""


@dataclass
class Track:
    """One trial: finished steps, the running step and its last second. Not safe for threads."""

    plan: Plan
    label: Callable[[Plan], str]
    run_index: int = 0
    step: Step | None = None
    done_s: float = 0.0
    done_steps: int = 0
    tick: Tick | None = None
    finished: int = 0
    _started_s: float = 0.0
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
