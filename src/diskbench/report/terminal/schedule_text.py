"""Schedules for a terminal: due times in the schedule's and the local timezone, and the outcome of
past occurrences."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from diskbench.model.ids import short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.model.schedule import OccurrenceStatus, ScheduleStatus


def schedule_lines(schedule: ScheduleStatus) -> Iterator[str]:
    """A schedule: what it measures and when, then its next and its past occurrences."""
    times = f"{schedule.cron!r} {schedule.timezone}"
    yield f"{schedule.name}  {schedule.source}  {times}{_marks(schedule)}"
    for moment in schedule.next:
        yield f"  next  {_both(datetime.fromisoformat(moment), schedule.timezone)}"
    if not schedule.next:
        yield f"  next  {'paused' if schedule.paused else 'never'}"
    for occurrence in schedule.occurrences:
        at = datetime.fromisoformat(occurrence.scheduled_for)
        yield f"  last  {_both(at, schedule.timezone)}: {what_became(occurrence)}"
    if not schedule.occurrences:
        yield "  last  none yet"
    if schedule.waiting > 1 or (schedule.waiting and schedule.occurrences[0].state != "queued"):
        yield f"  {schedule.waiting} wait for a worker or for the running matrix"


def what_became(occurrence: OccurrenceStatus) -> str:
    """`matrix 9x01k3qz has ended: 3 of 4 done, 1 failed`, `skipped: matrix 9x01k3qz still ran`."""
    if occurrence.state != "begun":
        # The reason may have advice on further lines: join them.
        why = " ".join((occurrence.reason or "").split())
        return f"{occurrence.state}: {why}" if why else occurrence.state
    if occurrence.campaign_state is None:
        return f"begun, matrix {short(occurrence.campaign_id or '')}"
    total = sum(occurrence.counts.values())
    words = [f"{occurrence.counts.get('done', 0)} of {total} done"]
    words += [
        f"{n} {state}" for state, n in sorted(occurrence.counts.items()) if n and state != "done"
    ]
    verb = {"done": "has ended", "running": "runs", "cancelling": "is being cancelled"}
    became = verb[occurrence.campaign_state]
    return f"matrix {short(occurrence.campaign_id or '')} {became}: {', '.join(words)}"


def _marks(schedule: ScheduleStatus) -> str:
    marks = [
        *(["paused"] if schedule.paused else []),
        *(["overlapping ones wait"] if schedule.overlap == "queue" else []),
        *(["backfill"] if schedule.backfill else []),
        *([f"budget ${schedule.budget_usd:g}"] if schedule.budget_usd is not None else []),
    ]
    return f"  ({', '.join(marks)})" if marks else ""


def _both(moment: datetime, zone: str) -> str:
    in_zone, local = moment.astimezone(ZoneInfo(zone)), moment.astimezone()
    # The offset's name makes the hour unambiguous that occurs twice when daylight saving ends.
    clock = "%H:%M:%S" if in_zone.second else "%H:%M"
    shown = in_zone.strftime(f"%a %Y-%m-%d {clock} %Z")
    if in_zone.utcoffset() == local.utcoffset():
        return shown
    return f"{shown} ({local.strftime('%a %H:%M')} here)"
