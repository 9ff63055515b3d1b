"""Whether a figure is believed: the heaviest of its reasons decides."""

import pytest

from diskbench.analysis.believe import believe, reasons_of, worst
from diskbench.model.processor import Processor
from diskbench.model.result import Warning  # noqa: A004 - the field's word

IDLE = Processor(busiest_core=0.3, busiest_job=0.1, all_jobs=0.1)


def reasons(code, *, limited_by="unknown", device_share=None, processor=IDLE):
    doubt = Warning(code=code, message="recorded", advice="repeat")
    return reasons_of(
        [doubt], limited_by=limited_by, device_share=device_share, processor=processor
    )


@pytest.mark.parametrize(
    ("code", "share", "expected"),
    [
        ("page-cache", 0.01, "no"),
        ("page-cache", 0.49, "no"),
        ("page-cache", 0.9, "doubtful"),
        ("page-cache", None, "doubtful"),
        ("unwritten", 0.0, "no"),
        ("unwritten", 0.94, "doubtful"),
        ("not-a-disk", None, "no"),
        ("too-short", None, "doubtful"),
        ("fio-error", None, "doubtful"),
        ("clock", None, "yes"),
        ("import", None, "yes"),
        ("of a later diskbench", None, "yes"),
    ],
)
def test_a_warning_weighs_what_it_says_of_the_disk(code, share, expected):
    assert believe(reasons(code, device_share=share)) == expected


def test_without_a_reason_a_figure_is_believed():
    found = reasons_of([], limited_by="disk-iops", device_share=None, processor=IDLE)
    assert (found, believe(found)) == ((), "yes")


@pytest.mark.parametrize(
    ("limited_by", "expected"),
    [("client", "doubtful"), ("queue-depth", "doubtful"), ("disk-iops", "yes"), ("credit", "yes")],
)
def test_a_busy_core_takes_nothing_from_a_figure_at_its_cap(limited_by, expected):
    busy = Processor(busiest_core=0.95, busiest_job=0.5, all_jobs=0.9)
    found = reasons("client-bound", limited_by=limited_by, processor=busy)
    assert [one.code for one in found] == ["client-bound"]
    assert believe(found) == expected


def test_a_core_that_others_fill_is_not_called_the_load_generator():
    busy = Processor(busiest_core=0.97, busiest_job=0.02, all_jobs=0.02)
    (found,) = reasons("client-bound", processor=busy)
    assert found.code == "machine-busy"


def test_a_busy_core_is_told_where_no_warning_did():
    busy = Processor(busiest_core=1.0)
    (found,) = reasons_of([], limited_by="client", device_share=None, processor=busy)
    assert (found.code, found.weight) == ("client-bound", "doubtful")


def test_the_worst_of_several_runs_is_that_of_all():
    assert worst(["yes", "no", "doubtful"]) == "no"
    assert worst(["yes", "doubtful"]) == "doubtful"
    assert worst([]) == "yes"
