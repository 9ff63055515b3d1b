"""Every word below and above a result on the terminal, in files: tests/golden/terminal."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import pytest
from rich.console import Console
from tests.rigs.golden import Golden
from tests.rigs.printed import print_result
from tests.unit.report.made import plan, row

from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.report.assemble.subject import subject_of_plan

DOUBT = Warning(code="client-bound", message="97 % busy", advice="use fewer jobs", step="s1")
RUNS = [row(run_id=f"r{n}", iops=iops) for n, iops in enumerate((3000.0, 3000.0, 100.0))]
MARKED = dataclasses.replace(subject_of_plan(plan()), marks=("emulated",))
TABLES: dict[str, tuple[Any, ...]] = {
    "one-run.txt": (subject_of_plan(plan()), [row(p99_9_ns=None)], ()),
    "three-runs.txt": (subject_of_plan(plan(runs=3)), RUNS, ()),
    "doubted.txt": (MARKED, [row()], [DOUBT]),
    "no-rows.txt": (subject_of_plan(plan()), [], ()),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_table_says_what_its_file_says(golden: Golden, name: str) -> None:
    stream = io.StringIO()
    print_result(*TABLES[name], console=Console(file=stream, width=100))
    golden.check(f"terminal/{name}", stream.getvalue())
