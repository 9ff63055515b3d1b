"""One page of a trial, and the seconds of many runs on one page."""

import os
import re
import shutil
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from tests.books import SHIPPED
from tests.rigs.coursed import coursed
from tests.rigs.measured import stores_in
from tests.rigs.plans import RUN_IDS, make_plan, run_fio
from tests.rigs.replicates import measured
from tests.unit.cli.test_results_verdict import place
from tests.unit.report.reported import report

from diskbench.cli import main
from diskbench.model.ids import short
from diskbench.report.assemble.result_rows import result_rows
from diskbench.report.assemble.stored_report import ReportReader
from diskbench.report.charts.bars import bars_chart
from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.registry import CHARTS
from diskbench.report.page.write_report import rendered
from diskbench.results.step_verdicts import step_verdicts
from diskbench.store.archive import list_runs
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.phases import phases_frame
from diskbench.store.query import find_runs, runs_by_id
from diskbench.store.result_tables import warning
from diskbench.units import format_iops

pytestmark = pytest.mark.slow
FIRST, SECOND = RUN_IDS


LOGS = """write_iops_log=fio
write_bw_log=fio
write_lat_log=fio
log_avg_msec=1000
time_based
runtime=3
rate_iops=200
"""


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """Three seconds with logs a second, as the engine asks fio for them."""
    place = tmp_path_factory.mktemp("fio")
    (one,) = make_plan().steps[1:]
    step = one.model_copy(update={"index": 0, "job": one.job + LOGS})
    files = run_fio(place, step)
    return [(step, files | {log.name: log.read_bytes() for log in place.glob("*.log")})]


@pytest.fixture
def stores(here, finished):
    """A trial of two runs, and the settings that lead to it."""
    shutil.copytree(finished, here, dirs_exist_ok=True)
    with stores_in(here) as (_, evidence):
        yield make_plan(), evidence


def test_a_page_shows_all_runs_of_the_trial_and_the_seconds_of_one(stores, tmp_path, capsys):
    plan, _ = stores
    assert main.main(["report", FIRST]) == 0
    path = tmp_path / f"diskbench-{FIRST}.html"
    assert capsys.readouterr().out.strip() == str(path)
    html = path.read_text()
    assert FIRST in html
    assert SECOND in html
    assert "n = 2 runs" in html
    assert f"Inside run <code>{FIRST}</code>" in html
    # Three, and fio's windows are late on a busy machine.
    assert re.search(r"n\s=\s[2-4] s\b", html)
    assert plan.profile.title in html


def test_what_was_measured_when_and_by_which_versions_and_how_to_repeat_it(stores, tmp_path):
    plan, evidence = stores
    assert main.main(["report", "-q", "-o", str(tmp_path / "a.html")]) == 0
    html = (tmp_path / "a.html").read_text()
    assert f"{evidence.url}/runs/{FIRST}/" in html
    began = runs_by_id(open_database(f"sqlite:///{tmp_path}/rows.db"), [FIRST])[FIRST].started_at
    assert f"{datetime.fromisoformat(began).astimezone():%Y-%m-%d %H:%M}" in html
    assert "fio 3.33" in html
    assert f"profile {plan.profile.name} (d1)" in html
    assert "team = storage" in html
    assert "diskbench run --provider ssh --host root@db1" in html
    assert "rate_iops=200" not in html  # the job as planned, not what this test gave fio
    assert "rw=randread" in html


def test_files_are_of_the_kind_that_their_endings_say(stores, tmp_path, capsys):  # noqa: ARG001
    kinds = {"html": b"<!doctype", "svg": b"<svg", "png": b"\x89PNG", "md": b"# ", "pdf": b"%PDF"}
    wanted = {tmp_path / f"a.{kind}": magic for kind, magic in kinds.items()}
    flags = [word for path in wanted for word in ("--to", str(path))]
    assert main.main(["report", "last", "--quiet", *flags]) == 0
    for path, magic in wanted.items():
        assert path.read_bytes().startswith(magic), path
    assert capsys.readouterr().out == ""


def test_a_format_may_be_named_whatever_the_file_is_called(stores, tmp_path, capsys):  # noqa: ARG001
    assert main.main(["report", "--format", "md", "-o", str(tmp_path / "README")]) == 0
    assert (tmp_path / "README").read_text().startswith("# ")
    assert main.main(["report", "--format", "md"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith(f"diskbench-{SECOND}.md")


def test_without_evidence_the_page_only_lacks_its_seconds(stores, tmp_path, capsys):
    _, evidence = stores
    evidence.delete("runs")
    assert main.main(["report", SECOND, "--to", str(tmp_path / "a.html")]) == 0
    assert "no series" in capsys.readouterr().err
    html = (tmp_path / "a.html").read_text()
    assert "Inside" not in html
    assert "Latency" in html


def test_an_unknown_run_or_ending_is_exit_2_and_writes_nothing(stores, tmp_path, capsys):  # noqa: ARG001
    assert main.main(["report", "zzz"]) == 2
    assert main.main(["report", FIRST, "--to", str(tmp_path / "a.docx")]) == 2
    assert "use .html, .svg, .png, .md, .pdf" in capsys.readouterr().err
    assert main.main(["report", FIRST, "--to", str(tmp_path / "missing" / "a.html")]) == 2
    assert not list(tmp_path.glob("*.html")) + list(tmp_path.glob("*.docx"))


@pytest.fixture
def imported(here, capsys):
    """Five runs of two minutes, the last of which falls and stalls; their ids, oldest first."""
    ids = []
    for number in range(5):
        place = here / f"run-{number}"
        place.mkdir()
        rates = [1000 + 100 * number] * 150
        if number == 4:
            rates = [3000] * 80 + [100] * 40 + [0] * 3 + [100] * 57
        rows = [
            f"{1000 * second}, {rate}, 0, 0, 0, 0\n" for second, rate in enumerate(rates, 1) if rate
        ]
        log = place / "disk_iops.1.log"
        log.write_text("".join(rows))
        assert main.main(["results", "import", str(log), "--label", "of=many"]) == 0
        ids += capsys.readouterr().out.split()
    return ids


def test_all_runs_are_one_picture_and_the_telling_ones_are_drawn_in_full(imported, tmp_path):
    path = tmp_path / "many.html"
    assert main.main(["report", "of=many", "-q", "-o", str(path)]) == 0
    page = path.read_text()
    titles = re.findall(r"<strong>([^<]*)</strong>", page)
    assert "disk: all runs second by second" in titles
    for why in ("the middle", "the lowest", "the highest"):
        assert f"disk: {why} of 5 runs" in titles
    told = re.findall(r'aria-label="(run [^"]* · \d: disk · [^"]*)"', page)
    assert sorted(re.search(r"run (\w+)", one)[1] for one in told) == sorted(map(short, imported))
    [fallen] = [one for one in told if short(imported[4]) in one]
    assert re.search(r"fell at 1:(19|20|21)", fallen)
    assert "stalled for 3 s" in fallen


def test_series_are_made_on_import_and_a_lost_one_costs_only_its_row(imported, tmp_path):
    for run_id in imported:
        kept = {one.name for one in (tmp_path / "evidence/runs" / run_id / "derived").iterdir()}
        assert any("series" in name for name in kept), kept
        assert any("phases" in name for name in kept), kept
    shutil.rmtree(tmp_path / "evidence" / "runs" / imported[0])
    path = tmp_path / "many.html"
    assert main.main(["report", "of=many", "-q", "-o", str(path)]) == 0
    assert "n\xa0=\xa04 runs" in path.read_text()


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


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    """A folder with a trial of four runs of 90 seconds that fall half-way."""
    place = tmp_path_factory.mktemp("four")
    series = np.concatenate([np.full(45, 3000.0), np.full(45, 25.0)])
    with stores_in(place) as (database, evidence):
        coursed(database, evidence, series, again=[series] * 3)
        phases_frame(evidence, list_runs(evidence))  # kept for all that read them
    return place


@pytest.fixture
def fallen(here, four):
    """The four runs, as the settings name them."""
    shutil.copytree(four, here, dirs_exist_ok=True)


@pytest.mark.usefixtures("fallen")
def test_charts_are_listed_and_what_four_runs_give_is_drawn(capsys):
    assert main.main(["report", "--chart", "list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == [one.name for one in CHARTS]
    for name in ("runs", "seconds", "overview", "telling-runs"):
        assert main.main(["report", "--chart", name, "-q", "-o", f"{name}.html"]) == 0, name
        assert Path(f"{name}.html").read_text().count("<figure") >= 1
    assert main.main(["report", "--chart", "nosuch"]) == 2
    assert "--chart list" in capsys.readouterr().err


@pytest.mark.usefixtures("fallen")
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
        assert (code, f"it needs {needs}" in " ".join(err.split())) == (2, True), err


@pytest.mark.usefixtures("fallen")
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


def test_what_only_the_audit_doubts_stands_on_every_surface(here, four, tmp_path, capsys):
    """Rows of before hold no doubts of the audit; it is read beside them."""
    shutil.copytree(four, here, dirs_exist_ok=True)
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
