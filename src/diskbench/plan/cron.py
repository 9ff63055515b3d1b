"""When a schedule is due: cron expressions in a timezone, what clock changes do to them, and what
happens to an occurrence that is due.

croniter does the arithmetic, as it does in DBOS's scheduler, so both know the same times. An hour
that does not exist is due at the first moment after it. In an hour that occurs twice croniter
returns two times; a job of fixed hours must run once, as cron(8) says ("will not be run twice"), so
`comes_again` identifies the second.
"""

import re
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo, available_timezones

from croniter import croniter
from croniter.croniter import CroniterBadDateError, CroniterError

from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.schedule import OccurrenceState, ScheduleRow
from diskbench.units import counted

_FIELDS = {
    5: ("minute", "hour", "day of month", "month", "day of week"),
    6: ("second", "minute", "hour", "day of month", "month", "day of week"),
}
_RANGES = {
    "second": "0-59", "minute": "0-59", "hour": "0-23", "day of month": "1-31 or L",
    "month": "1-12 or jan-dec", "day of week": "0-7 (0 and 7 are Sunday) or mon-sun",
}  # fmt: skip
_NAMED = {"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"}
_ANY_DAY = datetime(2026, 1, 1, tzinfo=UTC)
"""An expression without a year comes after any day or after none."""
_EXAMPLE = (
    "five fields: minute, hour, day of month, month, day of week; '30 3 * * 0' is Sunday 03:30"
)
LATE = timedelta(minutes=15)
"""An occurrence that is handled later than this was missed: no worker was running. A restart or a
short outage of the database does not skip a measurement; our choice."""


def check_cron(cron: str) -> None:
    """Raise InvalidValue saying what is wrong with a cron expression: five fields, six with
    seconds first, or a name such as @daily."""
    if cron.strip().startswith("@"):
        if cron.strip() not in _NAMED:
            raise InvalidValue(
                f"--cron {cron!r}: no such name", advice=f"known: {', '.join(sorted(_NAMED))}"
            )
        return
    fields = cron.split()
    names = _FIELDS.get(len(fields))
    if names is None:
        raise InvalidValue(f"--cron {cron!r} has {counted(len(fields), 'field')}", advice=_EXAMPLE)
    for position, (name, field) in enumerate(zip(names, fields, strict=True)):
        alone = ["*"] * len(fields)
        alone[position] = field
        # R is random in each process: no two processes would agree on when it is due.
        drawn = any(re.match(r"[rR](\(|/|$)", part) for part in field.split(","))
        if drawn or not croniter.is_valid(" ".join(alone), second_at_beginning=True):
            raise InvalidValue(
                f"--cron {cron!r}: {field!r} is not a valid {name}",
                advice=f"{name}: {_RANGES[name]}",
            )
    try:
        croniter(cron, _ANY_DAY, second_at_beginning=True).get_next(datetime)
    except CroniterError as error:
        raise InvalidValue(
            f"--cron {cron!r} never occurs: {error}", advice="there is no such day in any year"
        ) from error


def check_zone(name: str) -> ZoneInfo:
    """The timezone of an IANA name. Raises UnknownName."""
    if name in available_timezones():
        return ZoneInfo(name)
    raise UnknownName("timezone", name, (), advice="names are like Europe/Berlin, or UTC")


def due(cron: str, zone: str, after: datetime, until: datetime, *, most: int) -> list[datetime]:
    """Return the due times after `after` up to and including `until`, in the timezone, oldest
    first; at most the newest `most`. Times that occur twice are included twice."""
    end = until.astimezone(UTC)  # two times of one timezone compare by what the clock shows
    times = takewhile(lambda moment: moment <= end, _rings(cron, zone, after))
    return list(deque(times, maxlen=most))


def upcoming(cron: str, zone: str, after: datetime, count: int) -> list[datetime]:
    """Return the next `count` due times in the timezone, without repeats."""
    rings = _rings(cron, zone, after)
    return list(islice((moment for moment in rings if not comes_again(cron, moment)), count))


def comes_again(cron: str, moment: datetime) -> bool:
    """Whether a due time, in the schedule's timezone, is the second of two with the same time of
    day, because the clock was set back, and belongs to a schedule of fixed hours.

    As cron(8): where minute or hour begin with `*` it runs by elapsed time, through both hours.
    """
    if moment.fold == 0:
        return False
    fields = cron.split()
    if len(fields) == 1:
        return cron.strip() != "@hourly"
    minute, hour = fields[-5:-3]
    return not minute.startswith("*") and not hour.startswith("*")


def _rings(cron: str, zone: str, after: datetime) -> Iterator[datetime]:
    cursor = croniter(cron, after.astimezone(ZoneInfo(zone)), second_at_beginning=True)
    while True:
        try:
            yield cursor.get_next(datetime)
        except CroniterBadDateError:
            return


def becomes(
    schedule: ScheduleRow,
    cron: str,
    zone: str,
    due: datetime,
    *,
    now: datetime,
    paused: bool,
    busy: str | None,
) -> tuple[OccurrenceState, str | None]:
    """Return `queued` for an occurrence that is handled `now`, to start as soon as possible, or
    `skipped` with the reason. `busy` says with which earlier occurrence the schedule is busy."""
    shown = due.astimezone(ZoneInfo(zone))
    if paused:
        return "skipped", "the schedule was paused"
    if comes_again(cron, shown):
        return "skipped", f"the clock was set back, so {shown:%H:%M} occurred again"
    if now - due > LATE:
        return "queued" if schedule.backfill else "skipped", "no worker was running then"
    return "skipped" if busy and schedule.overlap == "skip" else "queued", busy
