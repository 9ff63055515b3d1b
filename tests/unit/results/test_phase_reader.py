"""No figure that is pooled or compared spans a cliff (MR-3)."""

import pytest
from tests.rigs.coursed import coursed
from tests.rigs.figures import find_regressions, trial_figures
from tests.rigs.statements import statements_of
from tests.rigs.synthetic import Noise, bucket, flat

from diskbench.results.compare_runs import compare_metrics
from diskbench.store.evidence import open_evidence

BURST = bucket(870_000, 3000, 100, 900, Noise(sd=0.01), seed=1)
"""300 s at 3,000 and 600 s at 100 IOPS: a mean of 1,067 that no second had."""


def test_the_figure_of_a_step_with_a_cliff_is_the_level_that_lasts(database, evidence):
    coursed(database, evidence, BURST)
    (one,) = trial_figures(database, [], "iops")
    assert one.value == pytest.approx(100, rel=0.05)
    assert (one.level, one.spans_cliff) == ("baseline", False)
    assert dict(one.facts)["regime"] == "baseline"
    (speed,) = trial_figures(database, [], "bytes_per_s")
    assert speed.value == pytest.approx(100 * 4096, rel=0.05)


def test_a_level_without_a_cliff_is_the_steps_own_mean(database, evidence):
    coursed(database, evidence, flat(1000, 300, Noise(sd=0.02), seed=2))
    (one,) = trial_figures(database, [], "iops")
    assert one.value == pytest.approx(1000, rel=0.02)
    assert (one.level, one.spans_cliff) == (None, False)


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
    assert (
        "of 2 of 2 trials of A the level after the cliff counts (baseline), no mean over both"
        in one.doubts
    )


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
