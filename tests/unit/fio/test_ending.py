"""Why fio ended, and what a host's moved clock does to the times of a step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.fio.recorded import in_order, parse_end, why_failed


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
    told, advice = why_failed(status, files)
    assert words in told
    assert advice


def test_a_good_end_is_no_failure():
    assert why_failed(0, {"stderr.txt": b"fio: a warning\n"}) is None


@given(st.binary(max_size=300))
def test_no_end_makes_its_parser_fail(data):
    assert abs(parse_end(data).clock_moved_s) < float("inf")


def test_a_step_that_ends_before_it_begins_ends_by_its_duration():
    began = "2026-01-01T12:00:00.000000+00:00"
    before = "2026-01-01T10:00:35.000000+00:00"
    assert in_order(began, before, 35.0) == "2026-01-01T12:00:35.000000+00:00"
    assert in_order(before, began, 35.0) == began
