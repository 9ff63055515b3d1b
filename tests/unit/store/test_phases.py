"""Phases of a stored run and `diskbench.load_phases()`, from logs as fio writes them."""

from dataclasses import replace

import numpy as np
import pytest
from tests.rigs.api_page import documented
from tests.rigs.plans import make_plan
from tests.rigs.synthetic import Noise, bucket, flat, with_stalls
from tests.rigs.taken_in import taken_in
from tests.unit.report.assemble.test_summary import rented, told

import diskbench
from diskbench.errors import UnknownName
from diskbench.model.options import RentSpec
from diskbench.model.rental import Rental, Scope
from diskbench.model.spec import Step
from diskbench.providers.options import EmulationOptions
from diskbench.store.manifest import StepRecord
from diskbench.store.phases import _arrays, _groups, _shortest_s, run_phases
from diskbench.store.stored_series import SeriesColumns


def imported(evidence, place, series, name="disk"):
    """A run whose averaged logs hold `series`, reads and writes a half each."""
    place.mkdir()
    for kind, factor in (("iops", 1), ("bw", 4)):
        rows = [
            f"{second * 1000}, {round(value * factor / 2)}, {direction}, 0, 0, 0\n"
            for second, value in enumerate(series, 1)
            for direction in (0, 1)
        ]
        (place / f"{name}_{kind}.1.log").write_text("".join(rows))
    [run_id] = taken_in(evidence, place)
    return run_id


def test_reads_and_writes_together_are_cut_into_phases(evidence, tmp_path):
    series = bucket(900_000, 3000, 100, 900, Noise(sd=0.02), seed=1)
    run_id = imported(evidence, tmp_path / "logs", series)
    [found] = run_phases(evidence, run_id)
    assert (found.run_id, found.step) == (run_id, "disk")
    assert [phase.kind for phase in found.phases] == ["burst", "baseline"]
    assert found.cliffs[0].at_s == pytest.approx(900_000 / 2900, abs=3)
    assert found.phases[0].iops == pytest.approx(3000, rel=0.02)


def test_the_second_reading_needs_neither_logs_nor_series(evidence, tmp_path):
    run_id = imported(evidence, tmp_path / "logs", flat(1000, 200, Noise(), seed=2))
    first = run_phases(evidence, run_id)
    for key in list(evidence.list("runs")):
        if "series-" in key or key.endswith(".log.zst"):
            (tmp_path / "evidence" / key).unlink()
    assert run_phases(evidence, run_id) == first


def test_a_damaged_copy_is_read_anew(evidence, tmp_path):
    run_id = imported(evidence, tmp_path / "logs", flat(1000, 200, Noise(), seed=3))
    first = run_phases(evidence, run_id)
    [kept] = [key for key in evidence.list("runs") if ".phases-" in key]
    (tmp_path / "evidence" / kept).write_bytes(b"{")
    assert run_phases(evidence, run_id) == first


def test_a_run_without_evidence_is_said_to_be_unknown(evidence):
    with pytest.raises(UnknownName):
        run_phases(evidence, "01hzzzzzzzzzzzzzzzzzzzzzzz")


def test_the_headline_tells_the_cliff_and_what_was_promised(evidence, tmp_path):
    series = bucket(900_000, 3000, 100, 900, Noise(sd=0.0), seed=1)
    found = run_phases(evidence, imported(evidence, tmp_path / "logs", np.asarray(series)))
    assert replace(told(promised=rented()), phases=tuple(found)).headline == (
        "burst of 3,000 IOPS for 5:10 in disk, then a baseline of 100 IOPS (promised: 100 IOPS)"
    )


def closed(index, name, round_=None, role="measure"):
    step = Step(index=index, name=name, round=round_, role=role, job="[x]\n", expected_s=1.0)
    when = "2026-11-21T20:00:00+00:00"
    record = StepRecord(run_id="r", step=step, started_at=when, finished_at=when, files={})
    return f"steps/{index:03}", record


def test_the_rounds_of_a_step_are_one_series_and_what_fills_is_none():
    rounds = [closed(2, "a", 1), closed(3, "b", 1), closed(4, "a", 2), closed(5, "b", 2)]
    steps = [closed(0, "fill", role="fill"), closed(1, "drain"), *rounds]
    names = [[record.step.index for _, record in group] for group in _groups(steps)]
    assert names == [[1], [2, 4], [3, 5]]


def test_a_second_that_is_not_whole_is_left_out_between_rounds_only():
    series = SeriesColumns(
        second=np.array([0, 0, 1, 3]),
        direction=np.array(["read", "write", "read", "read"]),
        iops=np.array([10.0, 5.0, 20.0, 7.0]),
        bytes_per_s=np.array([1.0, np.nan, 2.0, 3.0]),
    )
    iops, size = _arrays(series, with_last=True)
    assert iops.tolist() == [15, 20, 0, 7]
    assert size.tolist() == [1, 2, 0, 3]
    assert _arrays(series, with_last=False)[0].tolist() == [15, 20, 0]


def test_a_scaled_credit_has_scaled_phases_down_to_ten_seconds():
    def plan(scale):
        spec = RentSpec(lab=EmulationOptions(time_scale=scale))
        return make_plan(rental=Rental(scope=Scope(provider="lab"), spec=spec, offer="x"))

    assert [_shortest_s(plan(scale)) for scale in (1, 2, 100)] == [60, 30, 10]
    assert _shortest_s(None) == 60


@pytest.fixture
def burst(evidence, tmp_path):
    series = with_stalls(bucket(900_000, 3000, 100, 900, Noise(sd=0.02), seed=1), [(50, 53)])
    return imported(evidence, tmp_path / "burst", series)


def test_burst_and_baseline_are_a_row_each_of_runs_below_each_other(evidence, burst, tmp_path):
    frame = diskbench.load_phases(burst, evidence=evidence.url)
    assert {name: str(kind) for name, kind in frame.schema.items()} == documented("load_phases")
    first, last = diskbench.load_phases(burst, evidence=evidence.url).to_dicts()
    assert (first["kind"], last["kind"]) == ("burst", "baseline")
    assert (first["after_cliff"], last["after_cliff"]) == (False, True)
    assert first["credits"] is None
    # Three seconds of the burst were a stall, in which nothing was spent.
    assert last["credits"] == pytest.approx(900_000, rel=0.03)
    assert first["end_s"] == last["start_s"]
    assert (first["stalls"], first["stalled_s"], last["stalls"]) == (1, 3.0, 0)
    assert first["iops"] == pytest.approx(3000, rel=0.02)
    other = imported(evidence, tmp_path / "flat", flat(1000, 400, Noise(), seed=2))
    frame = diskbench.load_phases([other, burst], evidence=evidence.url)
    assert frame["run_id"].to_list() == [other, burst, burst]
    assert frame["steady"][0] == "steady"
    assert len(diskbench.load_phases([], evidence=evidence.url)) == 0
    assert len(diskbench.load_phases(burst, step="disk", evidence=evidence.url)) == 2
    with pytest.raises(UnknownName, match="'dsik'"):
        diskbench.load_phases(burst, step="dsik", evidence=evidence.url)
    with pytest.raises(UnknownName, match="no-such-run"):
        diskbench.load_phases("no-such-run", evidence=evidence.url)
