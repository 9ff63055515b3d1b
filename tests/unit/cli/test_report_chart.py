"""`diskbench report --chart NAME`: one chart of runs; what an audit doubts, on every surface."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from tests.rigs.coursed import coursed
from tests.unit.cli.test_results_audit import place

from diskbench.cli import main
from diskbench.report.charts.registry import charts
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.schema import warning

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stored")]


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A trial of four runs of 90 seconds that fall half-way, as the settings name it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DISKBENCH_DATABASE_URL", f"sqlite:///{tmp_path}/rows.db")
    monkeypatch.setenv("DISKBENCH_EVIDENCE_URL", (tmp_path / "evidence").as_uri())
    database = open_database(os.environ["DISKBENCH_DATABASE_URL"])
    evidence = open_evidence(os.environ["DISKBENCH_EVIDENCE_URL"])
    series = np.concatenate([np.full(45, 3000.0), np.full(45, 10.0)])
    coursed(database, evidence, series, again=[series] * 3)
    database.dispose()


def test_charts_are_listed(capsys):
    assert main.run(["report", "--chart", "list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        one.name for one in charts()
    ]


@pytest.mark.parametrize("name", [one.name for one in charts()])
def test_each_chart_is_drawn_alone_or_says_what_it_needs(name, capsys):
    code = main.run(["report", "--chart", name, "-o", "one.svg"])
    err = capsys.readouterr().err
    if code == 0:
        assert Path("one.svg").read_text().startswith("<svg")
    else:
        needs = next(one.needs for one in charts() if one.name == name)
        assert code == 2
        assert f"it needs {needs}" in err


def test_what_four_runs_give_is_drawn(capsys):
    for name in ("runs", "seconds", "overview", "telling-runs"):
        assert main.run(["report", "--chart", name, "-q", "-o", f"{name}.html"]) == 0, name
        text = Path(f"{name}.html").read_text()
        assert text.count("<figure") >= 1
    assert main.run(["report", "--chart", "nosuch"]) == 2
    assert "--chart list" in capsys.readouterr().err


def test_an_axis_is_of_one_chart(capsys):
    assert main.run(["report", "--axis", "log"]) == 2
    assert "--chart NAME" in capsys.readouterr().err
    for axis in ("linear", "log"):
        file = f"{axis}.svg"
        assert main.run(["report", "--chart", "seconds", "--axis", axis, "-q", "-o", file]) == 0
    assert Path("linear.svg").read_text() != Path("log.svg").read_text()


def test_what_only_the_audit_doubts_stands_on_every_surface(tmp_path, capsys):
    """Rows of before hold no doubts of the audit; it is read beside them."""
    assert main.run(["results", "import", place(tmp_path / "in", size=8192)]) == 0
    database = open_database(os.environ["DISKBENCH_DATABASE_URL"])
    with database.begin() as connection:
        connection.execute(warning.delete())
    database.dispose()
    capsys.readouterr()
    assert main.run(["results", "show"]) == 0
    assert "! figures-disagree" in capsys.readouterr().out
    for name in ("a.html", "a.md"):
        assert main.run(["report", "-q", "-o", name]) == 0
        assert "figures-disagree" in Path(name).read_text(), name
    assert main.run(["publish", "-q", "site"]) == 0
    entries = json.loads(Path("site/diskbench-site.json").read_text())["files"]
    pages = [Path("site", name).read_text() for name in entries if name.startswith("runs/")]
    assert sum("<strong>figures-disagree</strong>" in one for one in pages) == 1
