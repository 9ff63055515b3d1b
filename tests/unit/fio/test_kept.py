"""What the unit keeps beside fio's output: canaries and the page cache's state."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.fio.recorded import CacheDrop, Canary, cache_warning, parse_cache_drop, parse_canary
from diskbench.model.spec import Step


def test_a_canary_has_seconds_and_iops():
    data = b'cpu_s 0.123\n{"jobs": [{"read": {"iops": 4000000.5}}]}\n'
    assert parse_canary(data) == Canary(cpu_s=0.123, null_iops=4000000.5)


@pytest.mark.parametrize("data", [b"", b"cpu_s nan\n{}", b"cpu_s -1\n[1]", b"cpu_s\n{]}", b"x"])
def test_a_canary_that_cannot_be_read_is_empty(data):
    assert parse_canary(data) == Canary()


@given(st.binary(max_size=200))
def test_no_bytes_make_the_parsers_fail(data):
    parse_canary(data)
    parse_cache_drop(data)
    parse_cache_drop(b"method none\n" + data)


@pytest.mark.parametrize(
    ("drop", "verified"),
    [
        (CacheDrop(method="drop_caches", before_bytes=2**30, after_bytes=0), True),
        (CacheDrop(method="drop_caches", before_bytes=2**30, after_bytes=2**20), True),
        (CacheDrop(method="fadvise", before_bytes=2**30, after_bytes=2**29), False),
        (CacheDrop(method="drop_caches"), None),
        (CacheDrop(method="none", before_bytes=0, after_bytes=0), False),
        (CacheDrop(method="kept"), None),
    ],
)
def test_a_drop_is_verified_only_when_next_to_nothing_is_left(drop, verified):
    assert drop.verified is verified


def a_step(job):
    return Step(index=0, name="read", job=job, expected_s=1)


STAYED = b"method drop_caches\nwhat files\nbefore_bytes 104857600\nafter_bytes 52428800\n"


def test_a_cache_that_stayed_is_told_where_it_matters():
    told = cache_warning(STAYED, a_step("[read]\nrw=read\n"))
    assert told is not None
    assert (told.code, told.step) == ("cache-kept", "read")
    assert "50 MiB" in told.message
    assert cache_warning(STAYED, a_step("[read]\nrw=read\ndirect=1\n")) is None


@pytest.mark.parametrize(
    "data",
    [
        b"method drop_caches\nwhat files\nbefore_bytes 104857600\nafter_bytes 0\n",
        b"method kept\n",
        b"",
    ],
)
def test_a_cache_that_went_or_was_kept_on_purpose_is_not_told(data):
    assert cache_warning(data, a_step("[read]\nrw=read\n")) is None
