"""`diskbench.load_verdicts`: what was judged of the example's runs, as a frame."""

import polars as pl
import pytest
from tests.rigs.api_page import documented

import diskbench

pytestmark = pytest.mark.slow  # unpacks the example data


@pytest.fixture(scope="module")
def burst(example):
    """The run on gp2 of 100 GiB."""
    runs = diskbench.load_runs(database=example.database)
    [run_id] = runs.filter((pl.col("disk_type") == "gp2") & (pl.col("disk_gib") == 100))["run_id"]
    return run_id


def verdicts(example, *asked, **more):
    values = {"database": example.database, "evidence": example.evidence} | more
    return diskbench.load_verdicts(*asked, **values)


def test_columns_are_those_of_the_page_also_of_nothing(example, burst):
    for asked in ([], burst):
        frame = verdicts(example, asked)
        assert {name: str(kind) for name, kind in frame.schema.items()} == documented(
            "load_verdicts"
        )
    assert verdicts(example, []).height == 0


def test_a_burst_and_what_is_left_of_it_are_two_rows_and_the_baseline_stands(example, burst):
    found = verdicts(example, burst).filter(step="burst")
    assert found["kind"].to_list() == ["burst", "baseline"]
    assert found["stands_for"].to_list() == [False, True]
    assert found["promised_iops"].to_list() == [3000, 300]
    assert found["limiter"].to_list() == ["disk-iops", "credit"]
    assert found["trust"].to_list() == ["yes", "yes"]
    assert found["ratio"].to_list() == pytest.approx([1.06, 1.08], abs=0.02)
    assert "limited by burst credit used up" in found["sentence"][0]


def test_runs_without_evidence_are_judged_by_their_rows(example, burst, tmp_path):
    found = verdicts(example, burst, evidence=(tmp_path / "none").as_uri())
    assert found["step"].to_list() == ["burst"]
    assert found["start_s"].to_list() == [None]


def test_all_runs_are_judged_oldest_first(example):
    found = verdicts(example)
    runs = diskbench.load_runs(database=example.database)["run_id"]
    assert found["run_id"].unique(maintain_order=True).to_list() == runs.to_list()
