"""Rows for other programs: which of them a cliff lies in; what was judged, as a frame."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from tests.rigs.api_page import documented
from tests.rigs.runs import bare_run

import diskbench
from diskbench.model.phase import Cliff, Phase, Steadiness, StepPhases
from diskbench.model.result import FINAL_STATES
from diskbench.model.run import AFTER_CLIFF, RUN_FIELDS, MeasuredRow, Run, own_columns
from diskbench.results import exported_rows
from diskbench.results.exported_rows import cliff_safe_rows
from diskbench.results.pruning import is_due

FELL = (
    Phase(kind="burst", start_s=0, end_s=90, iops=3000.0, bytes_per_s=3000.0 * 4096),
    Phase(kind="baseline", start_s=90, end_s=180, iops=100.0, bytes_per_s=100.0 * 4096),
)


def course(*, rounds, phases=FELL):
    return StepPhases(
        run_id="r", step="read", rounds=rounds, seconds=180, shortest_s=60, phases=phases,
        cliffs=(Cliff(at_s=90, before=3000, after=100, credits=1),),
        steady=Steadiness(state="too short"),
    )  # fmt: skip


def row(ios, *, direction="read", round_=None, seconds=180, scope="step"):
    known = {
        "run": bare_run(run_id="r"), "step": "read", "step_index": 0, "round": round_,
        "scope": scope, "direction": direction, "ios": ios, "bytes": ios * 4096,
        "runtime_ns": seconds * 10**9, "iops": ios / seconds, "bytes_per_s": ios * 4096 / seconds,
        "lat_mean_ns": 5.0, "p99_ns": 9, "quantiles_of": "lat",
    }  # fmt: skip
    return MeasuredRow(**known, role="measure", rw=None, block_bytes=None, iodepth=None)


@pytest.fixture
def read(monkeypatch):
    def of(rows, found):
        monkeypatch.setattr(exported_rows, "courses_of", lambda *_: {("r", "read"): found})
        return [{**own_columns(row), **changes} for row, changes in cliff_safe_rows(None, rows)]

    return of


def test_directions_and_jobs_have_their_share_of_the_level(read):
    rows = [row(700), row(300, direction="write"), row(350, scope="job"), row(30, direction="sync")]
    reads, writes, job, sync = read(rows, course(rounds=None))
    assert (reads["iops"], writes["iops"], job["iops"]) == pytest.approx((70, 30, 35))
    assert reads["bytes_per_s"] == pytest.approx(70 * 4096)
    assert {reads[AFTER_CLIFF], writes[AFTER_CLIFF], job[AFTER_CLIFF]} == {"baseline"}
    assert (reads["lat_mean_ns"], reads["p99_ns"], reads["quantiles_of"]) == (None, None, None)
    assert reads["ios"] == 700
    # So many syncs there were for each I/O; their latencies are of both levels, too.
    assert (sync["iops"], sync[AFTER_CLIFF]) == (pytest.approx(3), "baseline")
    assert sync["lat_mean_ns"] is None


def test_of_rounds_only_the_one_that_the_cliff_lies_in_is_changed_and_no_step_without_phases(read):
    rows = [row(n, round_=index, seconds=60) for index, n in enumerate((180_000, 93_000, 6000), 1)]
    first, second, third = read(rows, course(rounds=3))
    assert (first[AFTER_CLIFF], third[AFTER_CLIFF]) == (None, None)
    assert (first["iops"], third["iops"]) == (3000, 100)
    assert (second[AFTER_CLIFF], second["iops"]) == ("baseline", 100)
    (other,) = read([replace(row(1000), step="other")], course(rounds=None))
    assert (other["iops"], other[AFTER_CLIFF]) == (pytest.approx(1000 / 180), None), "no phases"


@pytest.fixture(scope="module")
def burst(example):
    """The run on gp2 of 100 GiB."""
    runs = diskbench.load_runs(database=example.database)
    [run_id] = runs.filter((pl.col("disk_type") == "gp2") & (pl.col("disk_gib") == 100))["run_id"]
    return run_id


def verdicts(example, *asked, **more):
    values = {"database": example.database, "evidence": example.evidence} | more
    return diskbench.load_verdicts(*asked, **values)


@pytest.mark.slow  # unpacks the example data
def test_columns_are_those_of_the_page_also_of_nothing(example, burst):
    for asked in ([], burst):
        schema = verdicts(example, asked).schema
        assert {name: str(kind) for name, kind in schema.items()} == documented("load_verdicts")
    assert verdicts(example, []).height == 0


@pytest.mark.slow  # unpacks the example data
def test_a_burst_and_what_is_left_are_two_rows_where_there_is_evidence(example, burst, tmp_path):
    found = verdicts(example, burst).filter(step="burst")
    assert found.select("kind", "stands_for", "promised_iops", "limiter", "trust").rows() == [
        ("burst", False, 3000, "disk-iops", "yes"), ("baseline", True, 300, "credit", "yes"),
    ]  # fmt: skip
    assert found["ratio"].to_list() == pytest.approx([1.06, 1.08], abs=0.02)
    assert "limited by burst credit used up" in found["sentence"][0]
    alone = verdicts(example, burst, evidence=(tmp_path / "none").as_uri())  # by its rows
    assert (alone["step"].to_list(), alone["start_s"].to_list()) == (["burst"], [None])


@pytest.mark.slow  # unpacks the example data
def test_all_runs_are_judged_oldest_first(example):
    found = verdicts(example)
    runs = diskbench.load_runs(database=example.database)["run_id"]
    assert found["run_id"].unique(maintain_order=True).to_list() == runs.to_list()


# Which runs are old enough to lose their raw logs.


AT = datetime(2026, 11, 23, 12, tzinfo=UTC)
DAY_S = 86_400.0
RUN = Run(
    **dict.fromkeys(RUN_FIELDS)
    | {
        "run_id": "r", "trial_id": "t", "state": "done", "imported": False,
        "created_at": "2020-01-01T00:00:00.000000+00:00",
    }
)  # fmt: skip


def ended(days, **changes):
    return replace(RUN, finished_at=(AT - timedelta(days=days)).isoformat(), **changes)


UNDATED = replace(RUN, finished_at=None)
IMPORT = replace(UNDATED, imported=True)


@pytest.mark.parametrize(
    ("run", "goes_on", "due"),
    [
        (ended(29.9), (), False), (ended(30), (), False), (ended(30.1), (), True),
        (ended(-1), (), False),
        *((ended(400, state=state), (), True) for state in FINAL_STATES),
        *((ended(400, state=state), (), False) for state in ("planned", "running", "suspended")),
        (ended(400), {"t"}, False), (ended(400), {"another"}, True),
        (UNDATED, (), False),
        (IMPORT, (), True), (replace(IMPORT, created_at=AT.isoformat()), (), False),
    ],
)  # fmt: skip
def test_a_run_is_due_when_it_or_its_undated_import_is_older_than_is_kept(run, goes_on, due):
    assert is_due(run, goes_on, 30 * DAY_S, AT) is due
