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


def schedule_lines(seen: ScheduleStatus) -> Iterator[str]:
    """A schedule: what it measures and when, then its next and its past occurrences."""
    yield f"{seen.name}  {seen.source}  {seen.cron!r} {seen.timezone}{_marks(seen)}"
    for moment in seen.next:
        yield f"  next  {_both(datetime.fromisoformat(moment), seen.timezone)}"
    if not seen.next:
        yield f"  next  {'paused' if seen.paused else 'never'}"
    for occurrence in seen.occurrences:
        at = datetime.fromisoformat(occurrence.scheduled_for)
        yield f"  last  {_both(at, seen.timezone)}: {what_became(occurrence)}"
    if not seen.occurrences:
        yield "  last  none yet"
    if seen.waiting > 1 or (seen.waiting and seen.occurrences[0].state != "queued"):
        yield f"  {seen.waiting} wait for a worker or for the running matrix"


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


def _marks(seen: ScheduleStatus) -> str:
    marks = [
        *(["paused"] if seen.paused else []),
        *(["overlapping ones wait"] if seen.overlap == "queue" else []),
        *(["backfill"] if seen.backfill else []),
        *([f"budget ${seen.budget_usd:g}"] if seen.budget_usd is not None else []),
    ]
    return f"  ({', '.join(marks)})" if marks else ""


def _both(moment: datetime, zone: str) -> str:
    there, here = moment.astimezone(ZoneInfo(zone)), moment.astimezone()
    # The offset's name makes the hour unambiguous that occurs twice when daylight saving ends.
    clock = "%H:%M:%S" if there.second else "%H:%M"
    shown = there.strftime(f"%a %Y-%m-%d {clock} %Z")
    if there.utcoffset() == here.utcoffset():
        return shown
    return f"{shown} ({here.strftime('%a %H:%M')} here)"
