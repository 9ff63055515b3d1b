"""What a CI system reads of a trial."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from tests.unit.report.made import plan, row
from tests.unit.report.reported import trial

from diskbench.model.threshold import Threshold
from diskbench.report.assemble.subject import subject_of_plan
from diskbench.report.junit import junit_report

QD1, QD32 = "rand-read-4k-qd1", "rand-read-4k-qd32"


def view(*conditions, rows=None, state="done"):
    made = plan(runs=1)
    cell = made.cell.model_copy(update={"fail_if": tuple(map(Threshold.failing, conditions))})
    subject = replace(subject_of_plan(made.model_copy(update={"cell": cell})), state=state)
    return replace(trial(rows), subject=subject)


def report(*views):
    return ET.fromstring(junit_report([(one.subject.profile, one) for one in views]))  # noqa: S314 - our own


def counts(found):
    return tuple(int(found.get(name)) for name in ("tests", "failures", "errors"))


def test_a_step_is_a_case_with_its_figures_and_a_condition_that_holds_is_its_failure():
    rows = [row(QD1, iops=5000.0), row(QD32, iops=3000.0)]
    found = report(view(rows=rows))
    assert counts(found) == (2, 0, 0)
    assert [case.get("name") for case in found.iter("testcase")] == [QD1, QD32]
    assert "3,000 IOPS" in found.find(f".//testcase[@name='{QD32}']/system-out").text
    found = report(view("iops < 4000", rows=rows))
    assert counts(found) == (2, 1, 0)
    failure = found.find(f".//testcase[@name='{QD32}']/failure")
    assert failure.get("message") == "--fail-if 'iops < 4000'"
    assert "3,000 IOPS" in failure.text


@pytest.mark.parametrize(
    ("views", "counted"),
    [
        ([view("trim iops < 4000")], (2, 1, 0)),
        ([view(rows=[], state="failed")], (1, 0, 1)),
        ([view(), view("iops > 1")], (2, 1, 0)),
        ([view(rows=[row("a]]>&\x1b\u202e<x/>")])], (1, 0, 0)),
    ],
    ids=["no figure answers", "without its last steps", "sums of all trials", "a hostile name"],
)
def test_tests_failures_and_errors_are_counted(views, counted):
    assert counts(report(*views)) == counted


def test_a_trial_without_a_result_is_an_error_with_its_reason():
    found = ET.fromstring(junit_report([], [("gp2-20GiB", "failed", "no such zone")]))  # noqa: S314 - our own
    assert counts(found) == (1, 0, 1)
    assert found.find("testsuite").get("name") == "diskbench gp2-20GiB"
    assert found.find(".//error").text == "no such zone"
