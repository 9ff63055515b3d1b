"""Every word of a page and of a result on the terminal, in files: tests/golden."""

import dataclasses
import io

import pytest
from rich.console import Console
from tests.rigs.golden import text_of
from tests.rigs.printed import print_result
from tests.unit.report.made import plan, row
from tests.unit.report.reported import DOUBT, PRICE, fallen, judged, report, trial, verdict

from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.report.assemble.subject import subject_of_plan
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
