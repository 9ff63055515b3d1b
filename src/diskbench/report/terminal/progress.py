"""Progress while fio runs: bars on a terminal, plain lines elsewhere, nothing with --quiet."""

from __future__ import annotations

import logging
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

from diskbench.model.phase import StepPhases
from diskbench.model.result import StepResult, Tick
from diskbench.model.spec import Plan, Step
from diskbench.ports import Watcher
from diskbench.report.assemble.subject import namer
from diskbench.report.terminal.screen import GuardedLive, screen
from diskbench.report.terminal.track import Track, live_figures, result_figures, short_figures
from diskbench.units import format_duration_s


class Progress(Watcher):
    """A watcher whose methods never raise. By itself it shows nothing, as --quiet asks."""

    def close(self) -> None:
        """Release the terminal; repeated calls have no effect."""


LINE_EVERY_S = 5.0
LINES_PER_STEP = 60
_BAR_WIDTH = 24
_ROWS_BESIDE = 8
"""Rows of the terminal that finished steps leave to the plan above the display; our choice."""
_SHORTEST_S = 9.0
"""Shortest step in seconds that may have levels: those of lab disks with scaled-down credit."""
CourseOf = Callable[[str, int, str], StepPhases | None]
log = logging.getLogger(__name__)


def open_progress(
    plans: Sequence[Plan],
    *,
    stream: TextIO,
    clock: Callable[[], float] = time.monotonic,
    course_of: CourseOf | None = None,
) -> Progress:
    """The display for `plans` on `stream`; close it before you print anything else there.

    `course_of` returns the phases of a finished step by trial, run (from 0) and step name, so that
    no mean across a cliff is shown; it returns None for steps too short to have levels.
    """
    named = namer(plans)
    tracks = {plan.trial_id: Track(plan, named) for plan in plans}
    if stream.isatty():
        return _Bars(tracks, stream, clock, course_of)
    return _Lines(tracks, stream, clock, course_of)


def _course(track: Track, result: StepResult, of: CourseOf | None) -> StepPhases | None:
    """The phases of a finished step. A failure to read them must not stop the measurement."""
    if of is None or result.seconds_in_fio < _SHORTEST_S:
        return None
    try:
        return of(track.plan.trial_id, track.run_index, result.step)
    except Exception as error:  # noqa: BLE001 - a display never raises; the result reports it again
        log.debug("no seconds of %s: %s", result.step, error)
        return None


@dataclass
class _Display(Progress):
    """What a display of running trials holds: each trial's progress, guarded by a lock."""

    _tracks: dict[str, Track]
    _stream: TextIO
    _clock: Callable[[], float]
    _course_of: CourseOf | None
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def measuring(self, plan: Plan) -> None:
        with self._lock:
            self._tracks[plan.trial_id].plan = plan


@dataclass
class _Lines(_Display):
    """Without a terminal: a line per step, and another every few seconds while it runs."""

    _last: dict[str, float] = field(default_factory=dict)
    """When each trial last printed a line."""

    def step_started(self, trial_id: str, run_index: int, step: Step) -> None:
        with self._lock:
            track, now = self._tracks[trial_id], self._clock()
            track.start(run_index, step, now)
            self._last[trial_id] = now
            expected = format_duration_s(step.expected_s)
            self._say(track, f"{track.place()}: {step.name}, about {expected}")

    def tick(self, trial_id: str, tick: Tick) -> None:
        with self._lock:
            track, now = self._tracks[trial_id], self._clock()
            track.ticked(tick, now)
            step = track.step
            every = max(LINE_EVERY_S, (step.expected_s if step else 0) / LINES_PER_STEP)
            if step and now - self._last.get(trial_id, 0.0) >= every:
                self._last[trial_id] = now
                at = format_duration_s(tick.elapsed_s)
                time_left = f"about {format_duration_s(track.left_s(now))} left in all"
                self._say(track, f"{step.name} at {at}: {live_figures(tick)}, {time_left}")

    def step_finished(self, trial_id: str, result: StepResult) -> None:
        course = _course(self._tracks[trial_id], result, self._course_of)
        with self._lock:
            track = self._tracks[trial_id]
            track.finish(result, self._clock())
            self._say(track, f"{result.step} done: {result_figures(result, course)}")

    def note(self, trial_id: str, text: str) -> None:
        with self._lock:
            self._say(self._tracks[trial_id], text)

    def _say(self, track: Track, text: str) -> None:
        try:
            print(f"{track.name}: {text}" if track.name else text, file=self._stream, flush=True)
        except (OSError, ValueError):
            return  # stderr is closed: the measurement continues without a display


@dataclass
class _Bars(_Display):
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

    def step_finished(self, trial_id: str, result: StepResult) -> None:
        course = _course(self._tracks[trial_id], result, self._course_of)
        figures = result_figures(result, course)
        with self._lock:
            track = self._tracks[trial_id]
            track.finish(result, self._clock())
            self._done.append(_line(track, result.step, figures, "green"))
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
    """The bar with the rest of the whole, the running step with its own, and its last second."""
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
    """A line for each trial: how far it is, its step, and the last second of that."""
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
