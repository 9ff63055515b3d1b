import pytest
from tests.rigs.measured import measure
from tests.rigs.plans import RUN_IDS, make_plan, run_fio

from diskbench.cli import main
from diskbench.store import archive
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.finish import finish_run
from diskbench.store.rows import save_plan

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
def stores(tmp_path, steps, monkeypatch):
    """A trial of two runs, and the settings that lead to it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISKBENCH_DATABASE_URL", f"sqlite:///{tmp_path}/rows.db")
    monkeypatch.setenv("DISKBENCH_EVIDENCE_URL", (tmp_path / "evidence").as_uri())
    database = open_database(f"sqlite:///{tmp_path}/rows.db")
    evidence = open_evidence((tmp_path / "evidence").as_uri())
    plan = make_plan()
    save_plan(database, plan, evidence.url)
    archive.write_plan(evidence, plan)
    for index in (0, 1):
        measure(database, evidence, plan, index, steps)
        finish_run(database, evidence, plan, index, "done", None)
    yield plan, evidence
    database.dispose()


def test_a_page_shows_all_runs_of_the_trial_and_the_seconds_of_the_one_asked_for(
    stores, tmp_path, capsys
):
    plan, _ = stores
    assert main.run(["report", FIRST]) == 0
    path = tmp_path / f"diskbench-{FIRST}.html"
    assert capsys.readouterr().out.strip() == str(path)
    html = path.read_text()
    assert FIRST in html
    assert SECOND in html
    assert "n = 2 runs" in html
    assert f"Second by second, run <code>{FIRST}</code>" in html
    assert "n = 3 s" in html
    assert plan.profile.title in html


def test_pages_and_pictures_are_written_where_they_are_wanted(stores, tmp_path, capsys):  # noqa: ARG001
    wanted = [tmp_path / "a.html", tmp_path / "a.svg", tmp_path / "a.png"]
    flags = [word for path in wanted for word in ("--to", str(path))]
    assert main.run(["report", "last", "--quiet", *flags]) == 0
    assert all(path.stat().st_size for path in wanted)
    assert capsys.readouterr().out == ""


def test_without_evidence_the_page_only_lacks_its_seconds(stores, tmp_path, capsys):
    _, evidence = stores
    evidence.delete("runs")
    assert main.run(["report", SECOND, "--to", str(tmp_path / "a.html")]) == 0
    assert "no series in the page" in capsys.readouterr().err
    html = (tmp_path / "a.html").read_text()
    assert "Second by second" not in html
    assert "Latency" in html


def test_an_unknown_run_or_ending_is_exit_2_and_writes_nothing(stores, tmp_path, capsys):  # noqa: ARG001
    assert main.run(["report", "zzz"]) == 2
    assert main.run(["report", FIRST, "--to", str(tmp_path / "a.pdf")]) == 2
    assert "use .html, .svg, .png" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.html")) + list(tmp_path.glob("*.pdf"))
