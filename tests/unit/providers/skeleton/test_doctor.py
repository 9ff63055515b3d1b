"""How far this machine's clock is from a cloud's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from diskbench.providers.skeleton.doctor import http_date, skew

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


def told(off_s: float, took_s: float = 0.2) -> tuple[str, str]:
    """State and words where our clock is `off_s` ahead of the cloud's."""
    theirs = (NOW - timedelta(seconds=off_s)).replace(microsecond=0)
    found = skew("aws", theirs, NOW, NOW + timedelta(seconds=took_s))
    return found.state, found.told


@pytest.mark.parametrize("off_s", [0, 0.9, -0.9, 9, -9])
def test_some_seconds_are_borne_because_headers_count_whole_ones(off_s):
    assert told(off_s)[0] == "ok"


def test_a_slow_answer_is_not_taken_for_a_wrong_clock():
    assert told(-20, took_s=25)[0] == "ok"


def test_half_a_minute_is_a_warning_with_its_direction():
    assert told(31) == ("warning", "30 s ahead of the cloud's")
    assert told(-31)[1] == "31 s behind the cloud's"


def test_six_minutes_are_a_problem():
    state, words = told(-360)
    assert state == "problem"
    assert words == "360 s behind the cloud's: calls are refused as out of time"


def test_a_cloud_that_does_not_tell_is_a_warning():
    assert skew("aws", http_date(None), NOW, NOW).state == "warning"


def test_dates_are_read_as_http_writes_them():
    assert http_date("Sat, 21 Nov 2026 12:00:00 GMT") == NOW
    assert http_date("yesterday") is None
