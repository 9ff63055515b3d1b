"""Steps during which the clock of their host was set to another time.

All durations come from clocks that only go forward (fio's own, the uptime), so no figure depends on
the host's clock. Times of day do: the end of a step is its start plus `seconds_in_fio`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from diskbench.fio.ending import parse_end
from diskbench.model.doubts import CLOCK_MOVED
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Step


def in_order(started_at: str, finished_at: str, seconds: float) -> str:
    """When a step ended (ISO 8601): `finished_at`, or `started_at` plus `seconds` where the stored
    end is before the start (older versions of diskbench stored what the host's clock showed)."""
    started = datetime.fromisoformat(started_at)
    if datetime.fromisoformat(finished_at) >= started:
        return finished_at
    return (started + timedelta(seconds=seconds)).isoformat(timespec="microseconds")


def clock_warning(end: bytes, step: Step, started_at: str, finished_at: str) -> Warning | None:
    """The doubt in the times of day of a step; None without one. `end` is the unit's end.txt."""
    moved = parse_end(end).clock_moved_s
    backwards = datetime.fromisoformat(finished_at) < datetime.fromisoformat(started_at)
    if not moved and not backwards:
        return None
    by = f"by {moved:+.1f} s" if moved else "backwards"
    return CLOCK_MOVED.warning(
        f"the host's clock was set {by} during {step.name}; durations come from a clock that "
        "only goes forward and are right",
        step=step.name,
    )
