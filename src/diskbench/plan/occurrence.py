"""What happens to an occurrence of a schedule when it is due: pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from diskbench.plan.cron import comes_again

if TYPE_CHECKING:
    from diskbench.model.schedule import OccurrenceState, ScheduleRow

LATE = timedelta(minutes=15)
"""An occurrence that is handled later than this was missed: no worker was running. A restart or a
short outage of the database does not skip a measurement; our choice."""


@dataclass(frozen=True)
class OccurrenceMoment:
    """When an occurrence is handled, and what prevents its start: the schedule is paused, or
    `busy` (a text) with an earlier occurrence."""

    now: datetime
    paused: bool = False
    busy: str | None = None


def becomes(
    schedule: ScheduleRow, cron: str, zone: str, due: datetime, at: OccurrenceMoment
) -> tuple[OccurrenceState, str | None]:
    """Return `queued` for an occurrence to start as soon as possible, or `skipped` with the
    reason."""
    shown = due.astimezone(ZoneInfo(zone))
    late = at.now - due > LATE
    if at.paused:
        return "skipped", "the schedule was paused"
    if comes_again(cron, shown):
        return "skipped", f"the clock was set back, so {shown:%H:%M} occurred again"
    if late and not schedule.backfill:
        return "skipped", "no worker was running then"
    if late:
        return "queued", "no worker was running then"
    if at.busy and schedule.overlap == "skip":
        return "skipped", at.busy
    return "queued", at.busy
