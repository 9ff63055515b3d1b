"""Rows whose tool prints rates alone pass through every reader with empty counts."""

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
import sqlalchemy as sa

from diskbench.cli import main
from diskbench.store import schema
from diskbench.store.result_tables import STAMP
from diskbench.store.schema_revision import migrate

CASES = Path(__file__).parents[2] / "cases/imports"
COUNTS = ("ios", "bytes", "runtime_ns")
EMPTY = {
    "char-write": {*COUNTS, "iops"},
    "block-write": set(),
    "seeks": {*COUNTS, "bytes_per_s"},
    "dd": {"ios", "iops"},
    "sequential_write": set(COUNTS),
    "rd1": {"ios", "bytes"},
}
FILES = (
    "bonnie-1.97.txt", "dd-last-line.txt", "perfkitbenchmarker_results.json", "vdbench-50407.txt",
)  # fmt: skip


@pytest.fixture
def call(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("DISKBENCH_DATABASE_URL", f"sqlite:///{tmp_path}/rows.db")
    monkeypatch.setenv("DISKBENCH_EVIDENCE_URL", (tmp_path / "evidence").as_uri())

    def run(*arguments):
        code = main.main(list(arguments))
        out, err = capfd.readouterr()
        assert code == 0, err
        return out

    return run


@pytest.fixture
def runs(call):
    return call("results", "import", *(str(CASES / name) for name in FILES)).split()


def empty_of(rows, is_empty):
    figures = (*COUNTS, "iops", "bytes_per_s")
    return {row["step"]: {name for name in figures if is_empty(row[name])} for row in rows}


@pytest.mark.slow
@pytest.mark.usefixtures("runs")
def test_every_export_leaves_the_same_figures_empty(call, tmp_path):
    for kind in ("csv", "json", "parquet"):
        call("results", "export", "--format", kind, "--to", str(tmp_path / f"x.{kind}"))
    found = list(csv.DictReader(io.StringIO((tmp_path / "x.csv").read_text())))
    assert EMPTY.items() <= empty_of(found, lambda cell: cell == "").items()
    frame = pl.read_parquet(tmp_path / "x.parquet").to_dicts()
    assert EMPTY.items() <= empty_of(frame, lambda value: value is None).items()
    document = json.loads((tmp_path / "x.json").read_text())
    of_all = [
        {**row, "step": step["step"]}
        for run in document["runs"]
        for step in run["steps"]
        for row in step["measurements"]
    ]
    assert EMPTY.items() <= empty_of(of_all, lambda value: value is None).items()


@pytest.mark.slow
def test_a_step_without_iops_is_shown_by_its_bytes_and_one_without_bytes_by_its_iops(call, runs):
    lines = call("results", "show", runs[0]).splitlines()
    cells = {}
    for words in (line.split() for line in lines if line.strip()):
        cells.setdefault(words[0], words)  # the table of figures comes before the verdicts
    assert cells["char-write"][2:4] == ["–", "1.89"]
    assert cells["seeks"][2:4] == ["448", "–"]


@pytest.mark.slow
def test_every_reader_takes_them(call, runs, tmp_path):
    for name in ("one.html", "one.md"):
        call("report", runs[0], "--to", str(tmp_path / name))
        assert (tmp_path / name).stat().st_size > 1000
    call("report", *runs, "--to", str(tmp_path / "many.html"))
    call("compare", runs[0], runs[2])
    call("publish", str(tmp_path / "site"))
    call("results", "rebuild")
    call("regressions")


def test_figures_that_earlier_imports_made_up_are_emptied(tmp_path):
    engine = sa.create_engine(f"sqlite:///{tmp_path}/rows.db")
    made_up = {"ios": 1, "bytes": 448, "runtime_ns": 10**9, "iops": 448.0, "bytes_per_s": 3.5e6}
    with engine.begin() as connection:
        migrate(connection, to="0007")
        for provider, step in (
            ("bonnie", "char-write"), ("bonnie", "block-write"), ("bonnie", "seeks"), ("dd", "dd"),
            ("perfkit", "sequential_write"), ("vdbench", "rd1"), ("fio-json", "dd"),
        ):  # fmt: skip
            add_row(connection, f"{provider}-{step}", f"import/{provider}", step, made_up)
        migrate(connection)
        rows = connection.execute(sa.select(schema.measurement)).mappings().all()
    engine.dispose()
    found = {row["run_id"].partition("-")[2]: row for row in rows if row["run_id"] != "fio-json-dd"}
    for step, empty in EMPTY.items():
        assert {name for name in made_up if found[step][name] is None} == empty
    (ours,) = (row for row in rows if row["run_id"] == "fio-json-dd")
    assert {name: ours[name] for name in made_up} == made_up


def add_row(connection, run_id, provider, step, figures):
    connection.execute(sa.insert(schema.campaign).values(campaign_id=run_id))
    of_trial = {"trial_id": run_id, "campaign_id": run_id, "replicate": 0}
    connection.execute(sa.insert(schema.trial).values(of_trial))
    columns = [sa.column(name, of.type) for name, of in schema.run.c.items() if name != STAMP]
    run_then = sa.table(schema.run.name, *columns)  # without what later migrations add
    connection.execute(
        sa.insert(run_then).values(
            of_trial
            | dict.fromkeys(("emulated", "unverified", "imported"), True)
            | {key: {} for key in ("labels", "parameters")}
            | {
                "run_id": run_id,
                "run_index": 0,
                "state": "done",
                "created_at": "2026",
                "profile": "x",
                "provider": provider,
                "format": 1,
                "parser_version": 3,
            }
        )
    )
    connection.execute(
        sa.insert(schema.measurement).values(
            figures
            | dict.fromkeys(("step_index", "position", "clat_samples", "short_ios", "error"), 0)
            | {
                "run_id": run_id,
                "scope": "step",
                "job_index": -1,
                "job": "all",
                "direction": "read",
                "step": step,
                "role": "measure",
                "jobs": 1,
            }
        )
    )
