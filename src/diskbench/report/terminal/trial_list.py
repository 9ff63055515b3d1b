"""Trials as a list, one line each that fits the terminal: when, disk, profile, figure, trust and
short id. Plain text, because rich takes nine seconds for ten thousand lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from diskbench.model.ids import short
from diskbench.model.result import FINAL_STATES
from diskbench.report.assemble.dates import NO_DATE, local_time
from diskbench.report.terminal.run_list import cut, disk, headline_words, target, where

if TYPE_CHECKING:
    from diskbench.model.run import ListedTrial, Run

_GAP = "  "
_HEADER = ("when", "disk", "profile", "figure", "trust", "id")
_DISK, _PROFILE = 1, 2
_LEAST = {_DISK: 16, _PROFILE: 8}
"""The columns that are cut where lines are too long, with the characters that each keeps."""
_YEAR = len("2026-")
NOT_JUDGED = "?"
EMULATED = "*"
IMPORTED = "†"
_SUSPENDED = "suspended"
_IMPORT = "import/"
"""What the provider of an imported run begins with; the tool's name follows."""
_RUNS = re.compile(r" (?:×\d+|\d+ of \d+)$")
"""The number of runs after a profile: it is not cut."""


def trial_lines(trials: Sequence[ListedTrial], *, width: int | None = None) -> Iterator[str]:
    """A header, then a line for each trial, with times in the local timezone. No line is longer
    than `width` (None: any length): the middle of disks and profiles is left out first."""
    rows = [_HEADER, *(_cells(trial) for trial in trials)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADER))]
    for at, least in _LEAST.items():
        over = 0 if width is None else sum(widths) + len(_GAP) * (len(widths) - 1) - width
        widths[at] = max(min(widths[at], least), widths[at] - max(over, 0))
    for row in rows:
        cells = (_fit(cell, wide).ljust(wide) for cell, wide in zip(row, widths, strict=True))
        line = _GAP.join(cells).rstrip()
        yield line if width is None or len(line) <= width else f"{line[: width - 1]}…"


def legend(trials: Sequence[ListedTrial]) -> list[str]:
    """What a reader of the lines has to know: of emulated disks, of runs that nothing judged, and
    of those whose process is gone."""
    lines = []
    if any(trial.newest.emulated for trial in trials):
        lines.append(f"{EMULATED} emulated: a disk made of this machine, not the cloud's")
    if any(trial.newest.imported for trial in trials):
        lines.append(f"{IMPORTED} imported: measured by another tool")
    bare = [trial for trial in trials if _trust(trial) == NOT_JUDGED]
    if bare:
        lines.append(
            f"{NOT_JUDGED} not judged yet, the figure is the mean of the newest run: "
            f"diskbench results show {_id(bare[0])}"
        )
    gone = [trial for trial in trials if trial.suspended]
    if gone:
        lines.append(
            f"{_SUSPENDED}: its process is gone; continue it: diskbench resume {_id(gone[0])}"
        )
    return lines


def state_words(trial: ListedTrial) -> str:
    """`suspended`, `running`, `failed`: the state of a trial of which no run is done, or of which
    some have not ended; empty where all that can be said is its figure."""
    open_ones = [state for state in trial.states if state not in FINAL_STATES]
    if open_ones:
        running = "running" if "running" in open_ones or "done" in trial.states else "planned"
        return _SUSPENDED if trial.suspended else running
    if "done" in trial.states:
        return ""
    return next(state for state in FINAL_STATES if state in trial.states)


def bought(run: Run) -> str:
    """`gp2 20 GiB eu-central-1`, or the host and path of a disk that was there, or the tool and the
    host of a run that was imported."""
    by = f"{run.provider} " if run.emulated and not run.imported else ""
    if run.disk_type:
        return " ".join(word for word in (f"{by}{disk(run)}", run.region) if word)
    if run.imported:
        return f"{run.provider.removeprefix(_IMPORT)} {run.place}".strip()
    return ":".join(word for word in (where(run), target(run)) if word)


def _cells(trial: ListedTrial) -> tuple[str, ...]:
    run = trial.newest
    when = local_time(run.when)
    done = trial.states.get("done", 0)
    count = f" ×{trial.runs}" if trial.runs > 1 else ""
    if trial.runs > 1 and done not in (0, trial.runs):
        count = f" {done} of {trial.runs}"
    headline = trial.headline
    cells = (
        when if when == NO_DATE else when[_YEAR:],
        bought(run),
        f"{run.profile}{count}",
        state_words(trial) or _marked(headline_words(headline) if headline else "–", run),
        _trust(trial),
        _id(trial),
    )
    return tuple(" ".join(cell.split()) for cell in cells)


def _fit(cell: str, width: int) -> str:
    """The cell in `width` characters, with the number of its runs."""
    runs = _RUNS.search(cell)
    tail = runs[0] if runs and len(cell) > width else ""
    return cut(cell.removesuffix(tail), width - len(tail)) + tail


def _id(trial: ListedTrial) -> str:
    """The short id of a trial; of its run where it has only one."""
    return short(trial.newest.trial_id if trial.runs > 1 else trial.newest.run_id)


def _marked(figure: str, run: Run) -> str:
    marks = (EMULATED * run.emulated, IMPORTED * run.imported)
    return " ".join(word for word in (figure, *marks) if word)


def _trust(trial: ListedTrial) -> str:
    if state_words(trial):
        return ""
    return (trial.headline.trust if trial.headline else None) or NOT_JUDGED
