"""Every word of a page and of a result on the terminal, in files: tests/golden."""

import dataclasses
import io
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from rich.console import Console
from tests.rigs.golden import text_of
from tests.rigs.printed import print_result
from tests.unit.report.made import plan, row
from tests.unit.report.reported import DOUBT, PRICE, fallen, judged, report, trial, verdict

from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.threshold import Threshold
from diskbench.report.assemble.subject import subject_of_plan
from diskbench.report.junit import junit_report
from diskbench.report.page.page import page

DOUBTED = verdict(judged(90000.0), trust="no", reasons=(DOUBT,))
PAGES = {
    "fallen.txt": trial(verdicts=(fallen(),), price=PRICE),
    "doubted.txt": trial(verdicts=(DOUBTED,)),
    "bare.txt": trial(verdicts=(verdict(judged(1.0)),)),
    "one-row.txt": trial([row()]),
    "no-rows.txt": trial([]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_the_page_says_what_its_file_says(golden, name):
    golden.check(f"page/{name}", text_of(page(report(PAGES[name]))))


BUSY = Warning(code="client-bound", message="97 % busy", advice="use fewer jobs", step="s1")
RUNS = [row(run_id=f"r{n}", iops=iops) for n, iops in enumerate((3000.0, 3000.0, 100.0))]
MARKED = dataclasses.replace(subject_of_plan(plan()), marks=("emulated",))
TABLES = {
    "one-run.txt": (subject_of_plan(plan()), [row(p99_9_ns=None)], ()),
    "three-runs.txt": (subject_of_plan(plan(runs=3)), RUNS, ()),
    "doubted.txt": (MARKED, [row()], [BUSY]),
    "no-rows.txt": (subject_of_plan(plan()), [], ()),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_table_says_what_its_file_says(golden, name):
    stream = io.StringIO()
    print_result(*TABLES[name], console=Console(file=stream, width=100))
    golden.check(f"terminal/{name}", stream.getvalue())


QD1, QD32 = "rand-read-4k-qd1", "rand-read-4k-qd32"


def view(*conditions, rows=None, state="done"):
    made = plan(runs=1)
    fail_if = tuple(Threshold.failing(text, "--fail-if") for text in conditions)
    cell = made.cell.model_copy(update={"fail_if": fail_if})
    subject = replace(subject_of_plan(made.model_copy(update={"cell": cell})), state=state)
    return replace(trial(rows), subject=subject)


def junit_of(*views):
    return ET.fromstring(junit_report([(one.subject.profile, one) for one in views]))  # noqa: S314 - our own


def counts(found):
    return tuple(int(found.get(name)) for name in ("tests", "failures", "errors"))


def test_a_step_is_a_case_with_its_figures_and_a_condition_that_holds_is_its_failure():
    rows = [row(QD1, iops=5000.0), row(QD32, iops=3000.0)]
    found = junit_of(view(rows=rows))
    assert counts(found) == (2, 0, 0)
    assert [case.get("name") for case in found.iter("testcase")] == [QD1, QD32]
    assert "3,000 IOPS" in found.find(f".//testcase[@name='{QD32}']/system-out").text
    found = junit_of(view("iops < 4000", rows=rows))
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
    assert counts(junit_of(*views)) == counted


def test_a_trial_without_a_result_is_an_error_with_its_reason():
    found = ET.fromstring(junit_report([], [("gp2-20GiB", "failed", "no such zone")]))  # noqa: S314 - our own
    assert counts(found) == (1, 0, 1)
    assert found.find("testsuite").get("name") == "diskbench gp2-20GiB"
    assert found.find(".//error").text == "no such zone"
