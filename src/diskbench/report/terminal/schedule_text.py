"""Schedules for a terminal: when each is due, in its own timezone and in the reader's, and what
became of its last time."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.model.schedule import OccurrenceStanding, ScheduleStanding


def schedule_lines(seen: ScheduleStanding) -> Iterator[str]:
    """A schedule: what it measures and when, then its next times and its last ones."""
    yield f"{seen.name}  {seen.source}  {seen.cron!r} {seen.timezone}{_marks(seen)}"
    for moment in seen.next:
        yield f"  next  {_both(datetime.fromisoformat(moment), seen.timezone)}"
    if not seen.next:
        yield f"  next  {'paused' if seen.paused else 'never'}"
    for one in seen.occurrences:
        at = datetime.fromisoformat(one.scheduled_for)
        yield f"  last  {_both(at, seen.timezone)}: {what_became(one)}"
    if not seen.occurrences:
        yield "  last  none yet"
    if seen.waiting > 1 or (seen.waiting and seen.occurrences[0].state != "queued"):
        yield f"  {seen.waiting} wait for a worker, or for the one that runs"


def what_became(one: OccurrenceStanding) -> str:
    """`begun, matrix 01k… is over: 3 of 4 done, 1 failed`, `skipped: matrix 01k… still ran`."""
    if one.state != "begun":
        # An error's advice is on lines of its own.
        why = " ".join((one.reason or "").split())
        return f"{one.state}: {why}" if why else one.state
    if one.campaign_state is None:
        return f"begun, matrix {one.campaign_id}"
    total = sum(one.counts.values())
    words = [f"{one.counts.get('done', 0)} of {total} done"]
    words += [f"{n} {state}" for state, n in sorted(one.counts.items()) if n and state != "done"]
    verb = {"done": "is over", "running": "runs", "cancelling": "is being cancelled"}
    return f"begun, matrix {one.campaign_id} {verb[one.campaign_state]}: {', '.join(words)}"


def _marks(seen: ScheduleStanding) -> str:
    marks = [
        *(["paused"] if seen.paused else []),
        *(["overlapping ones wait"] if seen.overlap == "queue" else []),
        *(["backfill"] if seen.backfill else []),
        *([f"budget ${seen.budget_usd:g}"] if seen.budget_usd is not None else []),
    ]
    return f"  ({', '.join(marks)})" if marks else ""


def _both(moment: datetime, zone: str) -> str:
    there, here = moment.astimezone(ZoneInfo(zone)), moment.astimezone()
    # As the hour that comes twice shows, a time is told with the name of its offset.
    clock = "%H:%M:%S" if there.second else "%H:%M"
    shown = there.strftime(f"%a %Y-%m-%d {clock} %Z")
    if there.utcoffset() == here.utcoffset():
        return shown
    return f"{shown} ({here.strftime('%a %H:%M')} here)"
