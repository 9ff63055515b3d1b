"""Phases and figures of a stored run, kept, read, and forgotten with it."""

from dataclasses import astuple, replace

import numpy as np
import pytest
import sqlalchemy as sa
from tests.rigs.api_page import documented
from tests.rigs.database import statements_of, taken_in
from tests.rigs.plans import make_plan
from tests.rigs.replicates import measured
from tests.rigs.synthetic import Noise, bucket, flat, with_stalls
from tests.unit.report.assemble.test_summary import rented, told

import diskbench
from diskbench.errors import UnknownName
from diskbench.model.options import RentSpec
from diskbench.model.rental import Rental, Scope
from diskbench.model.run import Headline
from diskbench.model.spec import Step
from diskbench.providers.options import EmulationOptions
from diskbench.store import figures as kept
from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.digests import load_asked, run_digests
from diskbench.store.figures import keep_headlines, load_figures, load_headlines
from diskbench.store.manifest import StepRecord
from diskbench.store.phases import _arrays, _groups, _shortest_s, run_phases
from diskbench.store.query import ids_that_begin, known_labels
from diskbench.store.rows import delete_runs
from diskbench.store.stored_series import SeriesColumns
from diskbench.store.where import parse_filter


def test_a_figure_comes_with_what_was_rented_and_without_what_was_not(any_database):
    measured(any_database, [100.0], disk="gp2")
    measured(any_database, [200.0], disk="gp3", rented=False)
    found = load_figures(any_database, [], ["iops"])["iops"]
    rented, there = sorted(found, key=lambda row: row.iops)
    assert rented.rent["disk"] == "gp2"
    assert there.rent is None
    assert (rented.step, rented.direction) == ("read", "read")


def test_filters_choose_runs_and_figures_are_loaded_together_as_each_alone(any_database):
    measured(any_database, [100.0, 200.0], labels=[("team", "a")])
    chosen = [parse_filter("label.team=a")]
    assert len(load_figures(any_database, chosen, ["iops"])["iops"]) == 2
    assert load_figures(any_database, chosen, ["p99_ns"]) == {"p99_ns": []}
    assert load_figures(any_database, [parse_filter("label.team=b")], ["iops"]) == {"iops": []}
    measured(any_database, [100.0, 200.0])
    with statements_of(any_database) as one:
        load_figures(any_database, [], ["iops"])
    with statements_of(any_database) as three:
        figures = load_figures(any_database, [], ["iops", "p99_ns", "bytes_per_s"])
    assert len(three) == len(one)
    for metric in ("iops", "p99_ns", "bytes_per_s"):
        alone = load_figures(any_database, [], [metric])[metric]
        ours = [(row.run_id, row.step, getattr(row, metric)) for row in figures[metric]]
        assert ours == [(row.run_id, row.step, getattr(row, metric)) for row in alone]
    assert [row.bytes_per_s for row in figures["bytes_per_s"]] == [100.0 * 4096, 200.0 * 4096]


def test_labels_and_beginnings_of_ids_are_known(any_database):
    (trial,) = measured(any_database, [100.0], labels=[("team", "a"), ("disk", "x")])
    assert known_labels(any_database) == {"team", "disk"}
    found = {one.id: one.kind for one in ids_that_begin(any_database, trial[:12])}
    assert found.pop(trial) == "trial"
    assert set(found.values()) <= {"matrix", "run"}
    assert all(one.startswith(trial[:12]) for one in found)
    assert ids_that_begin(any_database, "%") == []


ONE = Headline("read", 3000.0, 3000.0 * 4096, "baseline", "with care")
OTHER = Headline("read", 100.0, None, None, "yes")


def run_ids(database: sa.Engine) -> list[str]:
    with transaction(database) as connection:
        query = sa.select(schema.run.c.run_id).order_by(schema.run.c.run_id)
        return list(connection.execute(query).scalars())


def test_what_is_kept_is_read_and_replaced_and_goes_with_its_run(any_database):
    measured(any_database, [3000.0, 3010.0])
    first, second = run_ids(any_database)
    keep_headlines(any_database, {first: ONE, second: ONE})
    keep_headlines(any_database, {second: OTHER})
    assert load_headlines(any_database, [first, second]) == {first: ONE, second: OTHER}
    delete_runs(any_database, [first])
    assert load_headlines(any_database, [first, second]) == {second: OTHER}


def test_what_another_version_judged_counts_for_nothing_and_loads_come_from_the_rows(any_database):
    measured(any_database, [3000.0])
    (run_id,) = run_ids(any_database)
    keep_headlines(any_database, {run_id: ONE})
    with transaction(any_database) as connection:
        connection.execute(sa.update(schema.headline).values(judged_by="0.0.0"))
    assert load_headlines(any_database, [run_id]) == {}
    keep_headlines(any_database, {run_id: ONE})
    assert load_headlines(any_database, [run_id]) == {run_id: ONE}
    load = Headline("read", 3000.0, 3000.0 * 4096, is_random=True, block_bytes=4096)
    (found,) = kept.step_loads(any_database, [run_id])[run_id]
    assert astuple(found) == astuple(load)


def test_trials_come_newest_first_with_their_runs_together(any_database):
    measured(any_database, [3000.0, 3010.0], disk="gp2", runs=[(1.0, 2.0, 3.0), (4.0,)])
    measured(any_database, [9000.0], disk="gp3", campaign=1)
    keep_headlines(any_database, dict.fromkeys(run_ids(any_database), ONE))
    trials, total = kept.recent_trials(any_database)
    assert total == 3
    assert [trial.newest.disk_type for trial, _ in trials] == ["gp3", "gp2", "gp2"]
    assert [trial.done for trial, _ in trials] == [1, 1, 3]
    assert [len(headlines) for _, headlines in trials] == [1, 1, 3]
    trials, total = kept.recent_trials(any_database, [parse_filter("disk=gp2")], limit=1)
    assert (len(trials), total) == (1, 2)
    assert [trial.number for trial, _ in trials] == [2], "as in the list of all"


def digests(database):
    return run_digests(database, [row.run.run_id for row in load_asked(database, [])])


def test_runs_come_newest_first_with_what_was_to_be_rented(any_database):
    measured(any_database, [1.0], disk="gp2")
    measured(any_database, [2.0], disk="gp3", campaign=1)
    measured(any_database, [3.0], disk="io1", campaign=2, rented=False)
    found = [(row.rent or {}).get("disk") for row in load_asked(any_database, [])]
    assert found == [None, "gp3", "gp2"]
    assert len(load_asked(any_database, [parse_filter("iops>1.5")])) == 2


def test_the_same_rows_written_again_have_the_same_digest_and_each_run_its_own(any_database):
    measured(any_database, [1.0, 1.0])
    first = digests(any_database)
    assert len(set(first.values())) == 2
    with transaction(any_database) as connection:
        connection.execute(sa.update(schema.run).values(state="done"))
    assert digests(any_database) == first


def test_a_change_in_any_row_of_a_run_changes_its_digest_alone(any_database):
    measured(any_database, [1.0, 2.0])
    before = digests(any_database)
    one = min(before)
    trial = sa.select(schema.run.c.trial_id).where(schema.run.c.run_id == one)
    changes = [
        sa.update(schema.run).where(schema.run.c.run_id == one).values(labels={"a": "b"}),
        sa.update(schema.step).where(schema.step.c.run_id == one).values(fio_exit=1),
        sa.update(schema.measurement).where(schema.measurement.c.run_id == one).values(iops=9.0),
        sa.insert(schema.warning).values(
            run_id=one, step_index=0, position=0, code="c", message="m", advice="a"
        ),
        sa.update(schema.trial).where(schema.trial.c.trial_id.in_(trial)).values(plan={"cell": {}}),
    ]
    seen = {before[one]}
    for change in changes:
        with transaction(any_database) as connection:
            connection.execute(change)
        now = digests(any_database)
        assert now[one] not in seen
        seen.add(now[one])
        assert {**now, one: None} == {**before, one: None}


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
