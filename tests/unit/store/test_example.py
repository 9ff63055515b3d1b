"""The example data: shipped evidence, unpacked once, with rows like those of any run."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

import diskbench
from diskbench.errors import StoreUnavailable
from diskbench.store import example as shipped

pytestmark = pytest.mark.slow  # unpacks the example data


def study(runs):
    return runs["labels"].str.json_path_match("$.study")


def test_its_runs_are_finished_emulated_lead_to_their_evidence_and_name_no_machine(example):
    runs = diskbench.load_runs(database=example.database)
    assert set(study(runs)) == {"first-look", "burst", "iaas", "caching", "places"}
    assert runs["emulated"].all()
    assert set(runs["state"]) == {"done"}
    assert set(runs["evidence_url"]) == {example.evidence}
    burst = runs.filter(study(runs) == "burst")["run_id"][0]
    assert diskbench.load_series(burst, step="burst", evidence=example.evidence).height > 200
    for plan in Path(example.evidence.removeprefix("file://")).glob("runs/*/plan.json"):
        assert json.loads(plan.read_text())["facts"]["hostname"].startswith("lab-")
        assert "/home/" not in plan.read_text()
        assert "/root/" not in plan.read_text()
    assert (Path(shipped.__file__).parents[1] / "data" / "example.tar.zst").stat().st_size < 3e6


def test_cliffs_are_where_the_buckets_of_their_disks_end(example):
    runs = diskbench.load_runs(database=example.database)
    ids = runs.filter((study(runs) == "burst") & (pl.col("disk_type") == "gp2"))["run_id"].to_list()
    expected = diskbench.load_expected(ids, database=example.database).filter(step="burst")
    phases = diskbench.load_phases(ids, step="burst", evidence=example.evidence)
    found = expected.join(phases.filter(pl.col("after_cliff")), on="run_id")
    assert found.height == 3
    capacity = (found["begin_iops"] - found["lasting_iops"]) * found["lasts_s"]
    assert ((found["credits"] / capacity - 1).abs() < 0.05).all()


def test_it_is_unpacked_once_however_many_ask_at_once(tmp_path):
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: diskbench.example_data(tmp_path), range(4)))
    assert len(found) == 1
    [place] = tmp_path.iterdir()
    assert sorted(path.name for path in place.iterdir()) == ["evidence", "runs.db"]
    before = (place / "runs.db").stat().st_mtime_ns
    diskbench.example_data(tmp_path)
    assert (place / "runs.db").stat().st_mtime_ns == before


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    taken = tmp_path / "file"
    taken.write_text("")
    with pytest.raises(StoreUnavailable, match="example data") as told:
        diskbench.example_data(taken)
    assert "example_data(" in told.value.advice
