"""Rows whose tool prints rates alone pass through every reader with empty counts."""

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest

CASES = Path(__file__).parents[2] / "cases/imports"
COUNTS = ("ios", "bytes", "runtime_ns")
EMPTY = {
    "char-write": {*COUNTS, "iops"}, "block-write": set(), "seeks": {*COUNTS, "bytes_per_s"},
    "dd": {"ios", "iops"}, "sequential_write": set(COUNTS), "rd1": {"ios", "bytes"},
}  # fmt: skip
FILES = (
    "bonnie-1.97.txt", "dd-last-line.txt", "perfkitbenchmarker_results.json", "vdbench-50407.txt",
)  # fmt: skip


@pytest.fixture
def call(diskbench, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    return diskbench


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
    of_all = [
        {**row, "step": step["step"]}
        for run in json.loads((tmp_path / "x.json").read_text())["runs"]
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
    assert (cells["char-write"][2:4], cells["seeks"][2:4]) == (["–", "1.89"], ["448", "–"])
