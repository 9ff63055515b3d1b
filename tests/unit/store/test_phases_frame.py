"""`diskbench.load_phases()` for notebooks, on logs as fio writes them."""

import pytest
from tests.rigs.api_page import documented
from tests.rigs.synthetic import Noise, bucket, flat, with_stalls
from tests.unit.store.test_phases import imported

import diskbench
from diskbench.errors import UnknownName


@pytest.fixture
def burst(evidence, tmp_path):
    series = with_stalls(bucket(900_000, 3000, 100, 900, Noise(sd=0.02), seed=1), [(50, 53)])
    return imported(evidence, tmp_path / "burst", series)


def test_the_columns_are_the_documented_ones(evidence, burst):
    frame = diskbench.load_phases(burst, evidence=evidence.url)
    assert {name: str(kind) for name, kind in frame.schema.items()} == documented("load_phases")


def test_burst_and_baseline_are_a_row_each_with_what_the_bucket_held(evidence, burst):
    first, last = diskbench.load_phases(burst, evidence=evidence.url).to_dicts()
    assert (first["kind"], last["kind"]) == ("burst", "baseline")
    assert (first["after_cliff"], last["after_cliff"]) == (False, True)
    assert first["credits"] is None
    # Three seconds of the burst were a stall, in which nothing was spent.
    assert last["credits"] == pytest.approx(900_000, rel=0.03)
    assert first["end_s"] == last["start_s"]
    assert (first["stalls"], first["stalled_s"], last["stalls"]) == (1, 3.0, 0)
    assert first["iops"] == pytest.approx(3000, rel=0.02)


def test_several_runs_stand_below_each_other(evidence, burst, tmp_path):
    other = imported(evidence, tmp_path / "flat", flat(1000, 400, Noise(), seed=2))
    frame = diskbench.load_phases([other, burst], evidence=evidence.url)
    assert frame["run_id"].to_list() == [other, burst, burst]
    assert frame["steady"][0] == "steady"
    assert len(diskbench.load_phases([], evidence=evidence.url)) == 0


def test_unknown_runs_and_steps_are_named(evidence, burst):
    assert len(diskbench.load_phases(burst, step="disk", evidence=evidence.url)) == 2
    with pytest.raises(UnknownName, match="'dsik'"):
        diskbench.load_phases(burst, step="dsik", evidence=evidence.url)
    with pytest.raises(UnknownName, match="no-such-run"):
        diskbench.load_phases("no-such-run", evidence=evidence.url)
