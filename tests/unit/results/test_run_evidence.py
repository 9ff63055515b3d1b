"""How the evidence of several runs is read; no figure that is pooled or compared spans a cliff
(MR-3)."""

from threading import Barrier, BrokenBarrierError

import pytest
from tests.rigs.coursed import coursed
from tests.rigs.figures import find_regressions, trial_figures
from tests.rigs.runs import bare_run
from tests.rigs.statements import statements_of
from tests.rigs.synthetic import Noise, bucket, flat

from diskbench.results.compare_runs import compare_metrics
from diskbench.results.run_evidence import EvidenceOfRuns, ReadRun
from diskbench.store.evidence import open_evidence

TOGETHER = 4
LONG_S = 60.0


class Waiting:
    """A store behind a network, of which no read ends before several have begun."""

    url = "s3://bucket/evidence"

    def __init__(self):
        self._store = open_evidence("memory:///")
        self.barrier = Barrier(TOGETHER)

    def get(self, key, *, limit=2**20):
        if key.endswith("manifest.json"):
            self.barrier.wait(LONG_S)
        return self._store.get(key, limit=limit)

    def __getattr__(self, name):
        return getattr(self._store, name)


def test_runs_behind_a_network_are_read_several_at_a_time_where_one_alone_would_wait_for_ever():
    store = Waiting()
    rows = [bare_run(run_id=f"run-{n}", trial_id="t", run_index=n) for n in range(TOGETHER)]
    read = EvidenceOfRuns(lambda _: store).read(rows, {})
    assert list(read) == [row.run_id for row in rows]
    assert set(read.values()) == {ReadRun()}
    store.barrier.abort()
    with pytest.raises(BrokenBarrierError):
        EvidenceOfRuns(lambda _: store).read(rows[:1], {})


BURST = bucket(870_000, 3000, 100, 900, Noise(sd=0.01), seed=1)
"""300 s at 3,000 and 600 s at 100 IOPS: a mean of 1,067 that no second had."""


@pytest.mark.parametrize(
    ("series", "iops", "level"),
    [(BURST, 100, "baseline"), (flat(1000, 300, Noise(sd=0.02), seed=2), 1000, None)],
    ids=["a cliff", "one level"],
)
def test_the_figure_of_a_step_is_the_level_that_lasts_or_its_mean(
    database, evidence, series, iops, level
):
    coursed(database, evidence, series)
    (one,) = trial_figures(database, [], "iops")
    assert one.value == pytest.approx(iops, rel=0.05)
    assert (one.level, one.spans_cliff, dict(one.facts).get("regime")) == (level, False, level)
    (speed,) = trial_figures(database, [], "bytes_per_s")
    assert speed.value == pytest.approx(iops * 4096, rel=0.05)


@pytest.mark.slow
def test_a_latency_over_both_levels_is_no_figure_and_compare_says_so(database, evidence):
    coursed(database, evidence, BURST, labels=[("s", "a")])
    coursed(database, evidence, BURST, disk="gp3", number=1, labels=[("s", "b")])
    found = compare_metrics(database, "s=a", "s=b", metrics=["lat_mean_ns"])
    assert found.compared == ()
    assert "span a cliff" in found.not_compared[0].why
    assert find_regressions(database, [], metric="lat_mean_ns").histories == ()


@pytest.mark.slow
def test_compare_sets_level_beside_level_and_says_whose_it_is(database, evidence):
    for number in range(2):
        coursed(database, evidence, BURST, number=number, labels=[("s", "a")])
        series = flat(110, 300, Noise(sd=0.01), seed=number)
        coursed(database, evidence, series, number=number, disk="gp3", labels=[("s", "b")])
    (one,) = compare_metrics(database, "s=a", "s=b", metrics=["iops"]).compared
    assert one.ratio == pytest.approx(1.1, rel=0.05)
    doubt = "of 2 of 2 trials of A the level after the cliff counts (baseline), no mean over both"
    assert doubt in one.doubts


@pytest.mark.slow
def test_a_history_follows_the_level_that_lasts(database, evidence):
    for day in range(3):
        coursed(database, evidence, BURST, campaign=day)
    (found,) = find_regressions(database, []).histories
    assert [point.value for point in found.points] == pytest.approx([100] * 3, rel=0.05)
    assert found.after_cliff == 3


def test_the_evidence_may_lie_elsewhere_now_or_be_gone(database, evidence, tmp_path):
    coursed(database, evidence, BURST)
    (tmp_path / "evidence").rename(tmp_path / "moved")
    (gone,) = trial_figures(database, [], "iops")
    assert gone.value == pytest.approx(1067, rel=0.05)
    (moved,) = trial_figures(database, [], "iops", open_evidence((tmp_path / "moved").as_uri()))
    assert moved.value == pytest.approx(100, rel=0.05)


def test_the_plan_of_a_trial_is_read_once_whatever_the_number_of_its_runs(database, evidence):
    short = flat(1000, 60, Noise(sd=0.02), seed=1)
    sent = []
    for number, runs in enumerate((1, 9)):
        coursed(database, evidence, short, number=number, again=[short] * (runs - 1))
        coursed(database, evidence, short, number=number, disk="gp3", again=[short] * (runs - 1))
        with statements_of(database) as statements:
            trial_figures(database, [], "iops")
        sent.append(len(statements))
    assert sent[0] == sent[1]
