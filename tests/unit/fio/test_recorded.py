"""What a step's unit records: fio's end, the clock, the page cache, canaries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.fio import recorded
from diskbench.fio.declared import Case
from diskbench.fio.reported import FioOutput
from diskbench.model.facts import HostFacts
from diskbench.model.spec import Step


@pytest.mark.parametrize(
    ("status", "files", "words"),
    [
        (137, {}, "fio was ended by signal 9 on the host"),
        (137, {"end.txt": b"oom_kills 2\n"}, "out of memory, the kernel killed 2 processes"),
        (1, {"fio.json": b"fio: pid=7, got signal=9\n"}, "fio was ended by signal 9"),
        (1, {"stderr.txt": b"fio: pid=7, got signal=11\n"}, "fio crashed: signal 11, SIGSEGV"),
        (128, {}, "SIGTERM or SIGINT"),
        (134, {}, "fio crashed: signal 6, SIGABRT"),
        (127, {}, "could not be run"),
        (1, {}, "fio ended with status 1"),
        (0, {"stderr.txt": b"fio: job startup hung? exiting.\n"}, "did not start in time"),
    ],
)
def test_each_end_has_words_of_its_own(status, files, words):
    told, advice = recorded.why_failed(status, files)
    assert words in told
    assert advice


def test_a_good_end_is_no_failure():
    assert recorded.why_failed(0, {"stderr.txt": b"fio: a warning\n"}) is None


@given(st.binary(max_size=300))
def test_no_end_makes_its_parser_fail(data):
    assert abs(recorded.parse_end(data).clock_moved_s) < float("inf")


def test_a_canary_has_seconds_and_iops():
    data = b'checksum_8mib_s 0.123\n{"jobs": [{"read": {"iops": 4000000.5}}]}\n'
    assert recorded.parse_canary(data) == recorded.Canary(cpu_s=0.123, null_iops=4000000.5)


@pytest.mark.parametrize(
    "data", [b"", b"checksum_8mib_s nan\n{}", b"checksum_8mib_s -1\n[1]", b"cpu_s 1", b"x"]
)
def test_a_canary_that_cannot_be_read_is_empty(data):
    assert recorded.parse_canary(data) == recorded.Canary()


@given(st.binary(max_size=200))
def test_no_bytes_make_the_parsers_fail(data):
    recorded.parse_canary(data)
    recorded.parse_cache_drop(data)
    recorded.parse_cache_drop(b"method none\n" + data)


@pytest.mark.parametrize(
    ("drop", "verified"),
    [
        (recorded.CacheDrop(method="drop_caches", before_bytes=2**30, after_bytes=0), True),
        (recorded.CacheDrop(method="drop_caches", before_bytes=2**30, after_bytes=2**20), True),
        (recorded.CacheDrop(method="fadvise", before_bytes=2**30, after_bytes=2**29), False),
        (recorded.CacheDrop(method="drop_caches"), None),
        (recorded.CacheDrop(method="none", before_bytes=0, after_bytes=0), False),
        (recorded.CacheDrop(method="kept"), None),
    ],
)
def test_a_drop_is_verified_only_when_next_to_nothing_is_left(drop, verified):
    assert drop.verified is verified


def kept(data, job="[read]\nrw=read\n"):
    """The doubt in a step with this cache.txt."""
    output = FioOutput(where="x", version="fio-3.33", jobs=(), options={})
    step = Step(index=0, name="read", job=job, expected_s=1)
    case = Case(step, (), output, HostFacts(), files={"cache.txt": data})
    return next(iter(recorded.kept_cache_doubts(case)), None)


STAYED = b"method drop_caches\nwhat files\nbefore_bytes 104857600\nafter_bytes 52428800\n"


def test_a_cache_that_stayed_is_told_where_it_matters():
    told = kept(STAYED)
    assert told.code == "cache-kept"
    assert "50 MiB" in told.message
    assert kept(STAYED, "[read]\nrw=read\ndirect=1\n") is None


@pytest.mark.parametrize(
    "data",
    [
        b"method drop_caches\nwhat files\nbefore_bytes 104857600\nafter_bytes 0\n",
        b"method kept\n",
        b"",
    ],
)
def test_a_cache_that_went_or_was_kept_on_purpose_is_not_told(data):
    assert kept(data) is None
