"""No date is no date: what no file tells was not measured today; a refused import keeps nothing."""

import csv
import io
import json
import os
import re
from pathlib import Path
from shutil import copytree

import polars as pl
import pytest
from tests.rigs.cli import a_user
from tests.rigs.plans import make_step, run_fio
from tests.rigs.replicates import measured

import diskbench
from diskbench.model.ids import short
from diskbench.store.database import open_database
from diskbench.store.query import find_runs

pytestmark = pytest.mark.slow

BONNIE = """{"version": "1.0.8", "gobonniego_directory": "/mnt", "results": [
 {%s"write_bytes": 1000000000, "write_seconds": 10.0, "read_bytes": 1000000000,
  "read_seconds": 5.0, "io_operations": 500, "io_seconds": 5.0}]}"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files of four kinds that tell no time, and two that do: what each is called."""
    place = tmp_path_factory.mktemp("theirs")
    step = make_step()
    job = step.job.replace("[write]", "write_bw_log=fio\n\n[write]")
    document = json.loads(run_fio(place / "fio", step.model_copy(update={"job": job}))["fio.json"])
    (place / "dated.json").write_text(json.dumps(document))
    for name in ("timestamp", "timestamp_ms", "time"):
        document.pop(name, None)
    for one in document["jobs"]:
        one.pop("job_start", None)
    (place / "fio-undated.json").write_text(json.dumps(document))
    (log,) = (place / "fio").glob("fio_bw*.log")
    (place / "alone_bw.1.log").write_bytes(log.read_bytes())
    (place / "bonnie-undated.json").write_text(BONNIE % "")
    (place / "bonnie-dated.json").write_text(BONNIE % '"start_time": "2018-02-14T20:14:00.5Z", ')
    return place


UNDATED = ("fio-undated.json", "alone_bw.1.log", "bonnie-undated.json")
DATED = ("dated.json", "bonnie-dated.json")


@pytest.fixture
def call(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    return call


@pytest.fixture(scope="module")
def imported(tmp_path_factory, files):
    """A folder with the rows and the evidence of each file, and the runs by the files' names."""
    user, found = a_user(tmp_path_factory.mktemp("imported")), {}
    stores = {"DATABASE_URL": f"sqlite:///{user.home}/rows.db", "EVIDENCE_URL": "evidence"}
    user.extra_env |= {f"DISKBENCH_{name}": place for name, place in stores.items()}
    for name in (*UNDATED, *DATED):
        ended = user.called("results", "import", str(files / name))
        assert ("no date in the file" in ended.stderr) == (name in UNDATED)
        found[name] = ended.stdout.split()[-1]
    return user.home, found


@pytest.fixture
def taken(here, imported):
    """The run of each file, by its name."""
    home, found = imported
    copytree(home, here, dirs_exist_ok=True)
    return found


def rows(out):
    return {row["run_id"]: row for row in csv.DictReader(io.StringIO(out))}


def test_rows_and_steps_and_exports_have_no_date(call, taken, tmp_path):
    runs = {run["run_id"]: run for run in call.json("results", "list")["runs"]}
    for name in UNDATED:
        run = runs[taken[name]]
        assert [run[key] for key in ("measured_at", "started_at", "finished_at")] == [None] * 3
    assert runs[taken["bonnie-dated.json"]]["measured_at"].startswith("2018-02-14T20:14:00.5")
    assert runs[taken["dated.json"]]["measured_at"]
    (shown,) = call.json("results", "show", taken["bonnie-undated.json"])["runs"]
    assert {step["started_at"] for step in shown["steps"]} == {None}
    _, out, _ = call("results", "export")
    assert {
        row["measured_at"] for row in rows(out).values() if row["run_id"] in undated(taken)
    } == {""}
    assert call("results", "export", "--to", "x.parquet")[0] == 0
    frame = pl.read_parquet("x.parquet").filter(pl.col("run_id").is_in(undated(taken)))
    assert frame["measured_at"].null_count() == frame.height > 0
    runs = diskbench.load_runs(database=f"sqlite:///{tmp_path}/rows.db")
    assert runs["measured_at"].to_list()[-3:] == [None] * 3
    assert runs["run_id"][0] == taken["bonnie-dated.json"]


def undated(taken):
    return [taken[name] for name in UNDATED]


def test_lists_put_them_last_and_last_is_what_was_imported_last(call, taken):
    _, out, _ = call("results", "list", "--limit", "0")
    lines = out.splitlines()[1:]
    assert all("no date" in line for line in lines[-3:])
    assert "no date" not in "".join(lines[:-3])
    for words, name in (("last", DATED[-1]), ("last~2", UNDATED[-1])):
        assert call.json("results", "show", words)["runs"][0]["run_id"] == taken[name]


@pytest.mark.parametrize(
    "bounds", [["--since", "2005-01-01"], ["--until", "2100-01-01"], ["-f", "date>2005-01-01"]]
)
def test_no_bound_of_time_meets_them(call, taken, bounds):
    _, out, _ = call("results", "list", *bounds, "--output", "json")
    assert {run["run_id"] for run in json.loads(out)["runs"]} == {taken[name] for name in DATED}


def test_what_is_kept_for_a_time_only_loses_what_is_older(call, taken):
    assert call("results", "delete", "--until", "2019-01-01", "--yes")[0] == 0
    left = {run["run_id"] for run in call.json("results", "list")["runs"]}
    assert left == set(taken.values()) - {taken["bonnie-dated.json"]}


def test_a_page_and_a_site_say_so(call, taken, tmp_path):
    run_id = taken["bonnie-undated.json"]
    assert call("report", run_id, "-o", "page.html")[0] == 0
    assert re.search(r"<dt>measured</dt><dd>no date", (tmp_path / "page.html").read_text())
    assert call("report", run_id, taken["dated.json"], "-o", "both.html")[0] == 0
    code, out, _ = call("results", "show", run_id, "-v")
    assert (code, f"run {short(run_id)} done, no date" in out) == (0, True), out
    assert call("publish", "site")[0] == 0
    index = (tmp_path / "site" / "runs.html").read_text()
    (row,) = re.findall(rf"<tr[^>]*>(?:(?!</tr>).)*{run_id}.*?</tr>", index, re.DOTALL)
    assert "no date" in row
    assert 'data-v=""' in row, "sorted behind those with a date"
    (configuration,) = {
        path
        for path in (tmp_path / "site" / "configurations").iterdir()
        if "import/gobonniego" in path.read_text()
    }
    assert f"not drawn over time, because they have no date: {run_id}" in configuration.read_text()


def test_regressions_leave_them_out_by_name(call, tmp_path):
    database = open_database(f"sqlite:///{tmp_path}/rows.db")
    for night in range(8):
        measured(database, [3000.0 + night], campaign=night)
    trial = measured(database, [10.0], campaign=8)[0]
    from diskbench.store.database import transaction
    from diskbench.store.schema import run

    with transaction(database) as connection:
        connection.execute(run.update().where(run.c.trial_id == trial).values(measured_at=None))
    assert find_runs(database)[-1].trial_id == trial
    database.dispose()
    found = call.json("regressions")
    assert (found["undated"], len(found["histories"][0]["points"])) == ([trial], 8)
    _, out, _ = call("regressions")
    assert trial in out
    assert "no date" in out
    assert call("publish", "site")[0] == 0
    (page,) = (tmp_path / "site" / "configurations").iterdir()
    assert "not drawn over time, because they have no date" in page.read_text()
    assert call("report", "disk=gp2", "-o", "all.html")[0] == 0


CASES = Path(__file__).parents[2] / "cases/imports"


DAMAGED = {
    "a cut CSV line": b"1.97,1.97,host,1,1500000000,8196M,,1\n",
    "terse with a negative figure": b"3;fio-3.33;a;0;0;-1;" + b"0;" * 200,
    "figures that disagree": (
        b"Timing cached reads:   2 MB in  2.00 seconds = 10143.33 MB/sec\n"
        b"Timing buffered disk reads: 484 MB in  3.01 seconds = 160.89 MB/sec\n"
    ),
    "JSON that ends early": b'{"fio version" : "fio-3.33", "jobs" : [',
    "text of fio without results": b"fio-2.1\nStarting 1 process\n",
    "nothing known": b"bought on Tuesday",
}


@pytest.mark.parametrize("first", [True, False], ids=["after a good file", "before it"])
@pytest.mark.parametrize("what", DAMAGED)
def test_one_bad_file_of_several_leaves_nothing_behind(call, tmp_path, what, first):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(DAMAGED[what])
    good = CASES / "bonnie-1.96.txt"
    err = call.refused("results", "import", *map(str, [good, bad] if first else [bad, good]))
    assert "bad.txt" in err
    assert "Traceback" not in err
    assert nothing_is_kept(call, tmp_path)


@pytest.mark.parametrize(
    ("name", "label"), [(b"half-\xff.txt", "a=b"), (b"whole.txt", os.fsdecode(b"a=half-\xff"))]
)
def test_a_name_that_no_database_keeps_leaves_nothing_behind(call, tmp_path, name, label):
    path = tmp_path / os.fsdecode(name)
    path.write_bytes((CASES / "bonnie-1.96.txt").read_bytes())
    assert "not valid UTF-8" in call.refused("results", "import", "--label", label, str(path))
    assert nothing_is_kept(call, tmp_path)


def nothing_is_kept(call, tmp_path):
    assert not [path for path in tmp_path.glob("evidence/**/*") if path.is_file()]
    code, out, _ = call("results", "list", "--output", "json")
    return code == 0 and json.loads(out)["runs"] == []
