"""The report's table and `results show` count samples alike and give one interval (MR-5, MR-6)."""

from pathlib import Path

import pytest
from tests.books import SHIPPED
from tests.rigs.replicates import measured

from diskbench.report.assemble.result_rows import result_rows
from diskbench.report.assemble.stored_report import ReportReader
from diskbench.results.step_verdicts import step_verdicts
from diskbench.store.evidence import open_evidence
from diskbench.store.query import find_runs
from diskbench.units import format_iops

pytestmark = pytest.mark.slow
MANY = [2900.0 + 7 * n for n in range(40)]


def both(database, place: Path):
    """The row of the report's table on all trials, and the verdict of `results show` on them."""
    url = (place / "evidence").as_uri()
    runs = find_runs(database)[::-1]
    [found] = step_verdicts(database, open_evidence(url), runs, books=SHIPPED)
    groups, _, _ = ReportReader(database, open_evidence, url).read(runs)
    [row] = result_rows([view for group in groups for view in group.trials])
    return row, found


@pytest.mark.parametrize(
    ("own", "shared", "machines"),
    [(MANY[:6], [], 6), (MANY, [], 40), (MANY[:5], MANY[5:9], 6), (MANY[:4], MANY[4:9], 5)],
)
def test_the_interval_is_that_of_the_verdict(database, tmp_path, own, shared, machines):
    measured(database, own)
    measured(database, shared, machine="01shared", first=len(own))
    row, found = both(database, tmp_path)
    assert found.replicated.machines == machines
    assert row.iops.text == format_iops(found.replicated.median)
    interval = found.replicated.interval
    assert (interval is not None) == (machines >= 6)
    figures = own + shared if interval is None else (interval.low, interval.high)
    coverage = "" if interval is None else f"{interval.coverage:.0%}: "
    span = f"{format_iops(min(figures))}–{format_iops(max(figures))}"
    assert row.iops.small == f"{coverage}{span}"


def test_runs_on_a_machine_that_was_there_are_one_sample_for_both(database, tmp_path):
    measured(database, MANY[:8], rented=False, labels=(("machine", "mine"),))
    row, found = both(database, tmp_path)
    assert (found.replicated.machines, found.replicated.interval) == (1, None)
    assert row.iops.small == "2,900–2,949"
