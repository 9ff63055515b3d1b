"""`diskbench report --chart NAME`: one chart of runs; what an audit doubts, on every surface."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.rigs.coursed import coursed
from tests.unit.cli.test_results_audit import place
from tests.unit.report.reported import report

from diskbench.cli import main
from diskbench.report.charts.bars import bars_chart
from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.registry import CHARTS
from diskbench.report.page.write_report import rendered
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.result_tables import warning

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stored")]


@pytest.fixture
def stored(here):  # noqa: ARG001 - the settings lead to it
    """A trial of four runs of 90 seconds that fall half-way, as the settings name it."""
    database = open_database(os.environ["DISKBENCH_DATABASE_URL"])
    evidence = open_evidence(os.environ["DISKBENCH_EVIDENCE_URL"])
    series = np.concatenate([np.full(45, 3000.0), np.full(45, 25.0)])
    coursed(database, evidence, series, again=[series] * 3)
    database.dispose()


def test_charts_are_listed_and_what_four_runs_give_is_drawn(capsys):
    assert main.main(["report", "--chart", "list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == [one.name for one in CHARTS]
    for name in ("runs", "seconds", "overview", "telling-runs"):
        assert main.main(["report", "--chart", name, "-q", "-o", f"{name}.html"]) == 0, name
        assert Path(f"{name}.html").read_text().count("<figure") >= 1
    assert main.main(["report", "--chart", "nosuch"]) == 2
    assert "--chart list" in capsys.readouterr().err


@pytest.mark.parametrize("name", [one.name for one in CHARTS])
def test_each_chart_is_drawn_alone_or_says_what_it_needs(name, capsys):
    code = main.main(["report", "--chart", name, "-o", "one.svg"])
    err = capsys.readouterr().err
    if code == 0:
        drawn = Path("one.svg").read_text()
        assert drawn.startswith("<svg")
        assert "var(--" not in drawn, "a picture has no page that could say its colours"
    else:
        needs = next(one.needs for one in CHARTS if one.name == name)
        assert (code, f"it needs {needs}" in err) == (2, True), err


def test_an_axis_is_of_one_chart(capsys):
    assert main.main(["report", "--axis", "log"]) == 2
    assert "--chart NAME" in capsys.readouterr().err
    assert main.main(["report", "--chart", "seconds", "--axis", "log", "-q", "-o", "a.svg"]) == 0
    points = [
        ChartPoint(label=name, metric="iops", value=rate) for name, rate in (("a", 9), ("b", 9e4))
    ]
    figure = bars_chart(points, name="x", heading="x")
    made = replace(report(), over=(figure,), chart="x")
    assert rendered(made, "svg", log=True) == rendered(made, "svg")
    assert rendered(made, "svg", log=False) != rendered(made, "svg")


def test_what_only_the_audit_doubts_stands_on_every_surface(tmp_path, capsys):
    """Rows of before hold no doubts of the audit; it is read beside them."""
    assert main.main(["results", "import", place(tmp_path / "in", size=8192)]) == 0
    run_id = capsys.readouterr().out.strip()
    database = open_database(os.environ["DISKBENCH_DATABASE_URL"])
    with database.begin() as connection:
        connection.execute(warning.delete())
    database.dispose()
    assert main.main(["results", "show", run_id, "-v"]) == 0
    assert "! figures-disagree" in capsys.readouterr().out
    for name in ("a.html", "a.md"):
        assert main.main(["report", run_id, "-q", "-o", name]) == 0
        assert "figures-disagree" in Path(name).read_text(), name
    assert main.main(["publish", "-q", "site"]) == 0
    pages = [page.read_text() for page in Path("site/trials").glob("*.html")]
    assert sum("<strong>figures-disagree</strong>" in one for one in pages) == 1
