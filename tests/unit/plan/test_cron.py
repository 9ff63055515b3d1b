"""When a schedule is due, through changes of the clock."""

import itertools
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from dbos import _scheduler as of_dbos
from hypothesis import given, settings
from hypothesis import strategies as st

from diskbench.engine.durable.schedules import JsonSerializer
from diskbench.errors import InvalidValue, UnknownName
from diskbench.plan.cron import check_cron, check_zone, comes_again, due, upcoming

BERLIN = "Europe/Berlin"  # forward on 2026-03-29 at 02:00, back on 2026-10-25 at 03:00
LORD_HOWE = "Australia/Lord_Howe"  # by half an hour: forward on 2026-10-04 at 02:00


def at(text: str, zone: str = BERLIN) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))


def times(cron: str, after: str, until: str, zone: str = BERLIN) -> list[str]:
    found = due(cron, zone, at(after, zone), at(until, zone), most=1000)
    return [one.isoformat() for one in found]


def begins(cron: str, after: str, count: int, zone: str = BERLIN) -> list[str]:
    return [one.isoformat() for one in upcoming(cron, zone, at(after, zone), count)]


def test_a_week_is_seven_days_by_the_clock_and_an_hour_that_is_not_there_is_due_at_its_end():
    assert begins("30 3 * * 0", "2026-03-20", 3) == [
        "2026-03-22T03:30:00+01:00", "2026-03-29T03:30:00+02:00", "2026-04-05T03:30:00+02:00",
    ]  # fmt: skip
    assert begins("30 2 * * *", "2026-03-28", 3) == [
        "2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00",
    ]  # fmt: skip
    assert begins("15 2 * * *", "2026-10-04", 1, LORD_HOWE) == ["2026-10-04T02:30:00+11:00"]


def test_an_hour_or_half_of_one_that_comes_twice_is_begun_the_first_time_alone():
    rings = times("30 2 * * *", "2026-10-25", "2026-10-26")
    assert rings == ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"]
    assert begins("30 2 * * *", "2026-10-25", 2) == [rings[0], "2026-10-26T02:30:00+01:00"]
    # Lord Howe's clocks go back from 02:00 to 01:30 on 2027-04-04.
    rings = ["2027-04-04T01:45:00+11:00", "2027-04-05T01:45:00+10:30"]
    assert begins("45 1 * * *", "2027-04-04", 2, LORD_HOWE) == rings


@pytest.mark.parametrize("cron", ["0 * * * *", "@hourly", "*/30 2 * * *", "0 0 */1 * * *"])
def test_what_runs_by_elapsed_time_runs_through_both_hours(cron):
    first, *_, last = due(cron, BERLIN, at("2026-10-25T01:59"), at("2026-10-25T03:00"), most=9)[:-1]
    assert first.utcoffset() - last.utcoffset() == timedelta(hours=1)
    assert not comes_again(cron, last)


def test_no_hour_is_lost_or_doubled_for_an_hourly_schedule():
    for day in ("2026-03-29", "2026-10-25"):
        start = at(day)
        found = due("0 * * * *", BERLIN, start, start + timedelta(days=1), most=30)
        assert {b.timestamp() - a.timestamp() for a, b in itertools.pairwise(found)} == {3600.0}


def test_a_due_time_is_over_the_end_is_a_moment_and_of_very_many_the_newest_are_told():
    found = times("30 3 * * *", "2026-11-01T03:30", "2026-11-02T03:30")
    assert found == ["2026-11-02T03:30:00+01:00"]
    # Two times of one zone compare by what the clock shows: 02:40 is after the second 02:30.
    first_0240 = datetime(2026, 10, 25, 2, 40, tzinfo=ZoneInfo(BERLIN), fold=0)
    assert len(due("30 2 * * *", BERLIN, at("2026-10-25"), first_0240, most=9)) == 1
    found = due("* * * * *", "UTC", at("2026-11-01", "UTC"), at("2026-11-02", "UTC"), most=2)
    assert [one.isoformat()[11:16] for one in found] == ["23:59", "00:00"]


RARE = ["0 0 29 2 *", "@weekly", "5 4 L * *"]
CRONS = st.sampled_from(["30 2 * * *", "0 * * * *", "30 3 * * 0", "*/20 1-3 * * *", *RARE])
NEAR_A_CHANGE = st.sampled_from(["2026-03-28", "2026-10-03", "2026-10-24", "2027-04-03"])
SPANS = st.integers(0, 36 * 3600).map(lambda seconds: timedelta(seconds=seconds))


@settings(deadline=None, max_examples=50)
@given(CRONS, st.sampled_from([BERLIN, LORD_HOWE, "UTC"]), NEAR_A_CHANGE, SPANS, SPANS)
def test_looking_in_two_parts_finds_what_looking_once_does(cron, zone, day, first, second):
    start = at(day, "UTC")
    between, end = start + first, start + first + second
    parts = [*due(cron, zone, start, between, most=999), *due(cron, zone, between, end, most=999)]
    assert parts == due(cron, zone, start, end, most=999)


class _Recorder:
    """What DBOS's backfill asks of its database, and what it would enqueue there."""

    serializer = JsonSerializer()
    app_name = "diskbench"

    def __init__(self, cron: str, zone: str) -> None:
        self.schedule = {"schedule": cron, "cron_timezone": zone, "context": '"x"'}
        self.schedule |= {"workflow_name": "occurrence", "workflow_class_name": None}
        self.enqueued: list[str] = []

    def get_schedule(self, _name):
        return self.schedule

    def get_workflow_status(self, _id):
        return None

    def get_latest_application_version(self, **_):
        return {"version_name": "1"}

    def init_workflow(self, status, **_):
        self.enqueued.append(self.serializer.deserialize(status["inputs"])["args"][0])


@pytest.mark.parametrize("cron", ["30 2 * * *", "*/20 1-3 * * *", "30 3 * * 0", "@hourly"])
@pytest.mark.parametrize(
    "days",
    [("2026-03-28", "2026-03-30T23:59"), ("2026-10-24", "2026-10-26T23:59")],
    ids=["forward", "back"],
)
def test_dbos_rings_at_the_times_that_are_told_here(cron, days):
    """Fails when DBOS counts otherwise, or hands over its times in another form."""
    rung = _Recorder(cron, BERLIN)
    of_dbos.backfill_schedule(rung, "x", at(days[0]), at(days[1]))
    assert rung.enqueued
    assert rung.enqueued == times(cron, *days)


@pytest.mark.parametrize(
    ("cron", "wrong", "hint"),
    [
        ("30 3 * *", "4 fields", "five fields"), ("", "0 fields", "five fields"),
        ("61 3 * * *", "'61' is not a valid minute", "0-59"),
        ("30 24 * * *", "'24' is not a valid hour", "0-23"),
        ("30 3 * * 8", "'8' is not a valid day of week", "0-7"),
        ("30 3 * foo *", "'foo' is not a valid month", "jan-dec"),
        ("99 0 3 * * *", "'99' is not a valid second", "0-59"),
        ("r(0-30) 3 * * *", "'r(0-30)' is not a valid minute", "0-59"),
        ("0 0 31 2 *", "never occurs", "no such day"), ("@reboot", "no such name", "@daily"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_cron_expression_is_named(cron, wrong, hint):
    with pytest.raises(InvalidValue) as caught:
        check_cron(cron)
    assert wrong in caught.value.message
    assert hint in caught.value.advice


def test_what_cron_understands_is_understood_and_an_unknown_timezone_is_refused():
    known = ("30 3 * * 0", "30 3 * * sun", "0 4 * mar,apr fri", "*/5 * * * * *", "0 0 L * *")
    for cron in (*known, "@weekly"):
        check_cron(cron)
    with pytest.raises(UnknownName, match="berlin") as caught:
        check_zone("berlin")
    assert "Europe/Berlin" in caught.value.advice
