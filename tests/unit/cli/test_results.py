"""`diskbench results`: list, show, export, delete, rebuild and import; what a trial cost."""

import csv
import io
import json
import os
import pty
import re
from shutil import copytree

import jsonschema
import polars as pl
import pytest
from tests.books import SHIPPED
from tests.rigs.database import dump
from tests.rigs.measured import measure, stores_in
from tests.rigs.plans import RUN_IDS, TRIAL_ID, make_plan, make_step, run_fio, save_plan

from diskbench.catalog.cost import disk_part, machine_part
from diskbench.cli import main
from diskbench.model.ids import short
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.store import archive
from diskbench.store.document import results_schema
from diskbench.store.finish import finish_run
from diskbench.store.leases import Lease, create_lease, release_lease
from diskbench.store.rows import begin_run

pytestmark = pytest.mark.slow

FIRST, SECOND = RUN_IDS


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    place = tmp_path_factory.mktemp("fio")
    plan = make_plan()
    return [(step, run_fio(place / str(step.index), step)) for step in plan.steps]


@pytest.fixture
def stores(here, finished, monkeypatch):
    """A database with two finished runs, and the settings that lead to it."""
    monkeypatch.setenv("COLUMNS", "200")
    copytree(finished, here, dirs_exist_ok=True)
    with stores_in(here) as both:
        yield both


@pytest.fixture
def call(call, stores):  # noqa: ARG001 - the settings lead to its stores
    return call


def test_list_shows_the_newest_first_and_says_when_there_is_more_or_nothing(call, stores):
    code, out, _ = call("results", "list")
    assert (code, len(out.splitlines())) == (0, 2)  # the runs of a trial are one line
    assert " root@db1:" in out
    assert " quick ×2 " in out
    _, out, _ = call("results", "list", "--wide")
    assert out.index(SECOND) < out.index(FIRST)
    save_plan(stores[0], make_plan(("01ks8z6rj0aaaaaaaaaaaaaaa9",)), stores[1].url)
    _, out, err = call("results", "list", "--limit", "1")
    assert len(out.splitlines()) == 2
    assert "the newest 1 of 2" in err
    _, out, err = call("results", "list", "--filter", "profile=none")
    assert (out, "no run" in err) == ("", True)


@pytest.mark.parametrize(
    "command",
    [
        ("list", "--output", "json"), ("list", "--output", "json", "--filter", "profile=none"),
        ("show", "--output", "json"), ("show", FIRST, "--alone", "--output", "json"),
        ("export", "--format", "json"),
    ],
)  # fmt: skip
def test_json_meets_its_published_schema(call, command):
    out = call.done("results", *command)
    _, schema, _ = call("schema", "results")
    jsonschema.Draft202012Validator(json.loads(schema)).validate(json.loads(out))


def test_the_schema_is_a_schema_and_bears_later_fields(call):
    schema = jsonschema.Draft202012Validator(results_schema())
    schema.check_schema(schema.schema)
    document = call.json("results", "show")
    document["runs"][0]["steps"][0]["measurements"][0]["later"] = 1
    document["runs"][0]["later"] = 1
    schema.validate(document)
    document["runs"][0]["steps"][0]["measurements"][0]["iops"] = "fast"
    with pytest.raises(jsonschema.ValidationError):
        schema.validate(document)


def test_show_tells_what_was_measured_and_where_it_lies_and_alone_of_one_run(call):
    out = call.done("results", "show", FIRST, "-v")
    for told in (FIRST, SECOND, "quick", "done", "write", "read", f"runs/{FIRST}/"):
        assert told.lower() in out.lower()
    _, out, _ = call("results", "show", FIRST, "--alone", "-v")
    assert FIRST in out
    assert SECOND not in out


def test_csv_has_a_row_for_each_measurement_or_run_and_parquet_is_typed(call, tmp_path):
    for command in (("show", "last", "--alone"), ("export", "-f", f"run_id={SECOND}")):
        extra = ("--output", "csv") if command[0] == "show" else ()
        _, out, _ = call("results", *command, *extra)
        rows = list(csv.DictReader(io.StringIO(out)))
        assert [(r["step"], r["scope"], r["ios"]) for r in rows] == [
            ("write", "job", "64"), ("write", "step", "64"),
            ("read", "job", "64"), ("read", "step", "64"),
        ]  # fmt: skip
        assert {r["run_id"] for r in rows} == {SECOND}
        assert json.loads(rows[0]["labels"]) == {"team": "storage"}
    _, out, _ = call("results", "list", "--output", "csv", "--since", "2026-01-01")
    assert [row["run_id"] for row in csv.DictReader(io.StringIO(out))] == [SECOND, FIRST]
    assert call("results", "export", "--format", "parquet", "-o", "rows.parquet")[0] == 0
    frame = pl.read_parquet(tmp_path / "rows.parquet")
    assert (frame.schema["iops"], frame.schema["round"]) == (pl.Float64, pl.Int64)
    assert (frame.schema["imported"], frame.height) == (pl.Boolean, 8)
    _, out, _ = call("results", "export")
    assert out.splitlines()[0].split(",") == frame.columns


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("list", "--filter", "iops>fast"), "is not a number"),
        (("list", "--since", "soon"), "is not a time"),
        (("list", "--database-url", "sqlite:////dev/null/x/y"), "Not a directory"),
        (("show", "nothing"), "unknown run, trial or matrix 'nothing'"),
        (("delete",), "no run is selected"),
        (("delete", FIRST), "add --yes"),
        (("import", "none.json"), "No such file"),
        (("rebuild", "--evidence-url", "ftp://x"), "not supported"),
    ],
)
def test_what_cannot_be_meant_ends_with_2_and_changes_nothing(call, stores, arguments, told):
    before = dump(stores[0])
    assert told in call.refused("results", *arguments)
    assert dump(stores[0]) == before


@pytest.mark.parametrize(
    ("named", "gone", "left"), [(f"run_id={FIRST}", "1 run", [SECOND]), (FIRST, "2 runs", [])]
)
def test_delete_takes_rows_and_evidence_of_a_run_or_its_trial(call, stores, named, gone, left):
    told = f"deleted {gone} and the evidence in {stores[1].url}\n"
    assert call.done("results", "delete", named, "--yes") == told
    assert [row["run_id"] for row in dump(stores[0])["diskbench_run"]] == left
    assert archive.list_runs(stores[1]) == left


def test_a_list_has_the_figure_and_the_trust_of_the_verdict(call):
    _, out, err = call("results", "list")
    assert out.splitlines()[1].split()[-2] == "?"
    assert "not judged yet" in err
    every = [one for run in call.json("results", "show", FIRST)["runs"] for one in run["verdicts"]]
    verdicts = [one for one in every if one["step"] == "read"]
    _, out, err = call("results", "list")
    line = out.splitlines()[1]
    figures = {f"{round(one['stretches'][one['main']]['iops']):,} IOPS" for one in verdicts}
    assert any(figure in line for figure in figures), (line, figures)
    assert {one["trust"] for one in verdicts} & {"no", "with care", "yes"}
    assert any(f"  {trust}  " in line for trust in ("no", "with care", "yes"))
    assert "not judged yet" not in err


def test_a_run_without_a_process_is_suspended_everywhere(call, stores):
    plan = make_plan(("01ks8z6rj0aaaaaaaaaaaaaaa9",))
    save_plan(stores[0], plan, stores[1].url, owner="a process that died")
    begin_run(stores[0], plan.run_ids[0])
    _, out, err = call("results", "list", plan.trial_id)
    assert "  suspended  " in out
    assert "diskbench resume" in err
    for output in ("json", "csv"):
        _, out, _ = call("results", "list", plan.trial_id, "--output", output)
        assert "suspended" in out
        assert "running" not in out
    assert [cell["state"] for cell in call.json("status", plan.trial_id)["cells"]] == ["suspended"]
    _, _, err = call("gc", "--dry-run")
    assert " suspended, not expired" in err
    assert plan.trial_id[-8:] in err


def test_rows_deleted_alone_come_back_with_rebuild(call, stores):
    before = dump(stores[0])
    code, _, _ = call("results", "delete", "--filter", "profile=quick", "--yes", "--keep-evidence")
    assert (code, dump(stores[0])["diskbench_run"]) == (0, [])
    code, out, _ = call("results", "rebuild")
    assert (code, out, dump(stores[0])) == (0, "rebuilt 2 runs\n", before)


def test_a_run_that_goes_on_or_left_something_on_its_host_is_not_deleted(call, stores):
    plan = make_plan(("01ks8z6rj0aaaaaaaaaaaaaaa9",))
    save_plan(stores[0], plan, stores[1].url)
    begin_run(stores[0], plan.run_ids[0])
    assert "is running" in call.refused("results", "delete", plan.run_ids[0], "--yes")
    create_lease(stores[0], Lease(lease_id=FIRST, provider="ssh", run_ids=RUN_IDS))
    assert f"diskbench gc {short(FIRST)}" in call.refused("results", "delete", SECOND, "--yes")
    release_lease(stores[0], FIRST)
    assert call("results", "delete", SECOND, "--yes")[0] == 0


@pytest.mark.parametrize(("answer", "left"), [(b"n\n", 2), (b"y\n", 0)])
def test_a_person_is_asked_before_anything_is_deleted(call, stores, monkeypatch, answer, left):
    ours, theirs = pty.openpty()
    os.write(ours, answer)
    with os.fdopen(theirs, "r") as terminal:
        monkeypatch.setattr("sys.stdin", terminal)
        call("results", "delete", FIRST)
    os.close(ours)
    assert len(dump(stores[0])["diskbench_run"]) == left


def test_rebuild_ends_with_1_when_evidence_is_damaged(call, tmp_path):
    (tmp_path / "evidence" / "runs" / FIRST / "plan.json").write_text("{}")
    code, out, err = call("results", "rebuild")
    assert (code, out) == (1, "rebuilt 1 run\n")
    assert FIRST in err
    assert "plan.json" in err


def test_import_prints_the_id_of_the_run(call, tmp_path, steps):
    (tmp_path / "theirs.json").write_bytes(steps[0][1]["fio.json"])
    out = call.done("results", "import", "theirs.json", "--label", "from=a friend")
    _, shown, _ = call("results", "show", out.strip(), "--output", "json")
    [run] = json.loads(shown)["runs"]
    assert (run["imported"], run["labels"]) == (True, {"from": "a friend"})


def test_import_keeps_a_log_with_a_damaged_time_and_tells_of_it(call, tmp_path):
    times = (1000, 2000, 99999999999999)
    (tmp_path / "disk_iops.1.log").write_text("".join(f"{at}, 3000, 0, 0, 0\n" for at in times))
    code, out, err = call("results", "import", "disk_iops.1.log")
    run_id = out.strip()
    assert code == 1
    assert f"run {short(run_id)} is kept, but its logs cannot be read: " in err
    assert "span 1,157,407 days" in err
    assert f"results delete {short(run_id)}" in err
    assert call("results", "delete", run_id, "--yes")[0] == 0


def test_import_of_a_failed_fio_is_told(call, tmp_path):
    files = run_fio(tmp_path / "bad", make_step(rw="sideways"))
    (tmp_path / "bad.json").write_bytes(files["fio.json"])
    assert call("results", "import", "bad.json")[0] == 2


DISK = DiskSpec(type="standard", size_gib=20)
MACHINE = machine_part(SHIPPED, "aws", "m5.large", "us-east-1")
PRICES = (MACHINE, disk_part(SHIPPED, "aws", DISK, "us-east-1"))
SOLD = {"offer": "an m5.large", "disk": DISK, "hourly_usd": 0.1, "prices": PRICES}
RENTAL = Rental(scope=Scope(provider="aws", region="us-east-1"), spec=RentSpec(), **SOLD)


@pytest.fixture
def rented(here, database, evidence, monkeypatch):
    """A database in which one run of a rented disk was measured."""
    monkeypatch.setenv("COLUMNS", "200")
    plan = make_plan(RUN_IDS[:1], rental=RENTAL)
    steps = [(step, run_fio(here / str(step.index), step)) for step in plan.steps]
    save_plan(database, plan, evidence.url)
    measure(database, evidence, plan, 0, steps)
    finish_run(database, evidence, plan, 0, "done", None)
    return database


def rent(database, *, given_back: bool) -> None:
    lease = Lease(lease_id=TRIAL_ID, provider="aws", created_at="2026-11-21T10:00:00+00:00")
    create_lease(database, lease)
    if given_back:
        release_lease(database, TRIAL_ID)


def shown_cost(capfd) -> str | None:
    assert main.main(["results", "show", "last"]) == 0
    found = re.search(r"^cost  (.*)$", capfd.readouterr().out, re.MULTILINE)
    return found[1] if found else None


def test_a_trial_that_was_given_back_says_what_it_cost_in_words_and_data(rented, capfd):
    rent(rented, given_back=True)
    told = shown_cost(capfd)
    # 64 writes and 64 reads of 4 KiB: the two steps of the plan
    words = r"\$[\d.,]+ \(.* at \$0\.0974/h, \$0\.0000 for 128 transactions\); emulated: nothing "
    assert re.fullmatch(f"{words}was paid", told or ""), told
    assert main.main(["results", "show", "last", "--output", "json"]) == 0
    document = json.loads(capfd.readouterr().out)
    jsonschema.validate(document, results_schema())
    (cost,) = document["costs"]
    assert (cost["trial_id"], cost["ended"], cost["emulated"]) == (TRIAL_ID, True, True)
    assert cost["transactions"] == 128
    assert cost["total_usd"] == cost["known_usd"] > 0


def test_without_a_lease_nothing_is_said_and_of_one_that_is_still_rented_so_far(rented, capfd):
    assert shown_cost(capfd) is None
    rent(rented, given_back=False)
    assert " so far (" in (shown_cost(capfd) or "")
