"""Steps during which the clock of their host was moved.

All durations are of clocks that only go forward (fio's own, the uptime), so no figure depends on
it. The times of day do: a step ends `seconds_in_fio` after its beginning, whatever the clock says.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from diskbench.fio.ending import parse_end
from diskbench.model.doubts import CLOCK_MOVED
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Step


def in_order(started_at: str, finished_at: str, seconds: float) -> str:
    """When a step ended: as it was written down, or `seconds` after its beginning where that lies
    before it (a host's clock that an older diskbench believed)."""
    started = datetime.fromisoformat(started_at)
    if datetime.fromisoformat(finished_at) >= started:
        return finished_at
    return (started + timedelta(seconds=seconds)).isoformat(timespec="microseconds")


def clock_warning(end: bytes, step: Step, started_at: str, finished_at: str) -> Warning | None:
    """What to doubt in the times of a step: `end` is the unit's end.txt."""
    moved = parse_end(end).clock_moved_s
    backwards = datetime.fromisoformat(finished_at) < datetime.fromisoformat(started_at)
    if not moved and not backwards:
        return None
    by = f"by {moved:+.1f} s" if moved else "backwards"
    return CLOCK_MOVED.warning(
        f"the host's clock was moved {by} during {step.name}; durations are of clocks that "
        "only go forward, and the step's end is its beginning and its duration",
        step=step.name,
    )
