"""Whether a figure is trusted: the heaviest of its reasons decides."""

import pytest

from diskbench.analysis.trust import reasons_of, trust
from diskbench.analysis.worst_trust import worst
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
        ("page-cache", 0.9, "with care"),
        ("page-cache", None, "with care"),
        ("unwritten", 0.0, "no"),
        ("unwritten", 0.94, "with care"),
        ("not-a-disk", None, "no"),
        ("too-short", None, "with care"),
        ("fio-error", None, "with care"),
        ("clock", None, "yes"),
        ("import", None, "yes"),
        ("of a later diskbench", None, "yes"),
    ],
)
def test_a_warning_weighs_what_it_says_of_the_disk(code, share, expected):
    assert trust(reasons(code, device_share=share)) == expected


def test_without_a_reason_a_figure_is_believed():
    found = reasons_of([], limited_by="disk-iops", device_share=None, processor=IDLE)
    assert (found, trust(found)) == ((), "yes")


@pytest.mark.parametrize(
    ("limited_by", "expected"),
    [
        ("client", "with care"),
        ("queue-depth", "with care"),
        ("disk-iops", "yes"),
        ("credit", "yes"),
    ],
)
def test_a_busy_core_takes_nothing_from_a_figure_at_its_cap(limited_by, expected):
    busy = Processor(busiest_core=0.95, busiest_job=0.5, all_jobs=0.9)
    found = reasons("client-bound", limited_by=limited_by, processor=busy)
    assert [one.code for one in found] == ["client-bound"]
    assert trust(found) == expected


def test_a_core_that_others_fill_is_not_called_the_load_generator():
    busy = Processor(busiest_core=0.97, busiest_job=0.02, all_jobs=0.02)
    (found,) = reasons("client-bound", processor=busy)
    assert found.code == "machine-busy"


def test_a_busy_core_is_told_where_no_warning_did():
    busy = Processor(busiest_core=1.0)
    (found,) = reasons_of([], limited_by="client", device_share=None, processor=busy)
    assert (found.code, found.weight) == ("client-bound", "with care")


def test_the_worst_of_several_runs_is_that_of_all():
    assert worst(["yes", "no", "with care"]) == "no"
    assert worst(["yes", "with care"]) == "with care"
    assert worst([]) == "yes"
