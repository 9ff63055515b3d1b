"""MR-13: the same canary before and after each trial; a machine that is off is flagged, never
dropped, and the figures are given with and without it."""

import random

import pytest
from tests.rigs.coursed import coursed
from tests.rigs.plans import make_plan

from diskbench.analysis.canary import Reading, off
from diskbench.analysis.compare import LEAST_DIFFERENCE
from diskbench.engine.trial.steps import unit_of
from diskbench.model.facts import CpuFacts
from diskbench.model.ids import short
from diskbench.report.terminal.compare_text import replicate_lines
from diskbench.results.compare_runs import compare_metrics
from diskbench.results.pool import off_trials
from diskbench.results.replicate_set import replicates_of
from diskbench.store.query import find_runs
from diskbench.store.where import Filter


def fleet(values, what="checksum s"):
    return [Reading(str(n), what, "before", value) for n, value in enumerate(values)]


def test_the_canary_runs_before_the_first_step_and_after_the_last():
    plan = make_plan()
    units = [unit_of(plan, 0, step) for step in plan.steps]
    assert [unit.canary_before for unit in units] == [True, False]
    assert units[-1].canary_after


def test_three_deviations_from_the_median_are_flagged_and_of_normal_noise_few():
    values = [100.0, 103, 97, 106, 94, 109, 91]  # median 100, MAD 6: 3 · 1.4826 · 6 = 26.7
    assert off(fleet([*values, 126.0])) == {}
    found = off(fleet([*values, 140.0]))
    assert list(found) == ["7"]
    assert found["7"][0].words() == "checksum s 140 before, 102 on the others"
    draw = random.Random(1)
    told = sum(len(off(fleet([draw.gauss(100, 5) for _ in range(40)]))) for _ in range(50))
    assert told / (50 * 40) < 0.01


def test_neither_less_than_nine_percent_nor_too_few_readings_nor_different_canaries_are_flagged():
    assert off(fleet([100.0] * 9 + [108.0])) == {}
    assert list(off(fleet([100.0] * 9 + [110.0]))) == ["9"]
    assert off(fleet([100.0] * 4 + [500.0])) == {}
    assert off([*fleet([0.1] * 8), *fleet([4e6] * 8, "null IOPS")]) == {}


def runs_of(database, trials):
    return {trial: find_runs(database, [Filter("trial_id", "=", trial)]) for trial in trials}


@pytest.mark.parametrize("kinds", [("Xeon 8488C", "Graviton3"), ("Xeon 8488C", "Xeon 8488C")])
def test_a_machine_is_compared_with_its_own_kind_alone(database, evidence, kinds):
    """A slower processor is not off: MR-13 looks for the odd one among machines that are alike."""
    usual, rare = kinds
    trials = []
    for number, (seconds, model) in enumerate([(0.1, usual)] * 8 + [(0.3, rare)]):
        more = {"canaries": (seconds, seconds), "facts": {"cpu": CpuFacts(model=model)}}
        trials.append(coursed(database, evidence, [100.0] * 3, number=number, **more))
    assert list(off_trials(runs_of(database, trials), evidence)) == trials[8:] * (usual == rare)


def measured(database, evidence, *, slow, **more):
    """Ten trials, of which the one numbered `slow` was on a slow machine, and slow itself."""
    draw = random.Random(2)
    trials = []
    for number in range(10):
        level, seconds = (600.0, 0.31) if number == slow else (1000.0, 0.1)
        series = [level * (1 + draw.gauss(0, 0.001)) for _ in range(20)]
        canaries = (seconds * (1 + draw.gauss(0, 0.01)), seconds)
        made = coursed(database, evidence, series, number=number, canaries=canaries, **more)
        trials.append(made)
    return trials


@pytest.mark.slow
def test_a_set_is_reported_with_and_without_what_is_flagged(database, evidence):
    trials = measured(database, evidence, slow=4)
    found = replicates_of(database, [], asked="all")
    assert [one.trial_id for one in found.flagged] == [trials[4]]
    (line,) = found.lines
    assert (line.replicated.machines, line.replicated.low) == (10, pytest.approx(600, rel=0.01))
    assert line.without is not None
    assert (line.without.machines, line.without.low) == (9, pytest.approx(1000, rel=0.01))
    out = " ".join(" ".join(replicate_lines(found)).split())
    slow = short(trials[4])
    assert f"machine of {slow} differs from the others in the CPU check: checksum of 8 MiB" in out
    assert "without trials whose machine differs in the CPU check: 1,000 IOPS" in out


@pytest.mark.slow
def test_a_comparison_is_told_without_the_flagged_and_alike_machines_have_none(database, evidence):
    slow = measured(database, evidence, slow=4, labels=[("s", "a")])[4]
    measured(database, evidence, slow=None, disk="gp3", labels=[("s", "b")])
    alike = replicates_of(database, [Filter("label.s", "=", "b")])
    assert (alike.flagged, alike.lines[0].without) == ((), None)
    (one,) = compare_metrics(database, "s=a", "s=b", metrics=["iops"]).compared
    (doubt,) = [doubt for doubt in one.doubts if "canary" in doubt]
    assert short(slow) in doubt
    assert abs(one.ratio - 1) < LEAST_DIFFERENCE, "of ten machines the slow one decides nothing"
    assert not any("without it" in doubt for doubt in one.doubts)
