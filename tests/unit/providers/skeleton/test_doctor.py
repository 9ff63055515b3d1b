"""How far this machine's clock is from a cloud's."""

from datetime import UTC, datetime, timedelta

import pytest

from diskbench.providers.skeleton.doctor import http_date, skew

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


def told(off_s: float, took_s: float = 0.2) -> tuple[str, str]:
    """State and words where our clock is `off_s` ahead of the cloud's."""
    theirs = (NOW - timedelta(seconds=off_s)).replace(microsecond=0)
    found = skew("aws", theirs, NOW, NOW + timedelta(seconds=took_s))
    return found.state, found.told


@pytest.mark.parametrize(("off_s", "took_s"), [(0, 0.2), (0.9, 0.2), (-9, 0.2), (-20, 25)])
def test_some_seconds_are_borne_because_headers_count_whole_ones_and_answers_take_some(
    off_s, took_s
):
    assert told(off_s, took_s)[0] == "ok"


@pytest.mark.parametrize(
    ("off_s", "state", "words"),
    [
        (31, "warning", "30 s ahead of the cloud's"),
        (-31, "warning", "31 s behind the cloud's"),
        (-360, "problem", "360 s behind the cloud's: calls are refused as out of time"),
    ],
)
def test_half_a_minute_is_a_warning_and_six_minutes_are_a_problem(off_s, state, words):
    assert told(off_s) == (state, words)


def test_dates_are_read_as_http_writes_them_and_none_is_a_warning():
    assert http_date("Sat, 21 Nov 2026 12:00:00 GMT") == NOW
    assert http_date("yesterday") is None
    assert skew("aws", http_date(None), NOW, NOW).state == "warning"
