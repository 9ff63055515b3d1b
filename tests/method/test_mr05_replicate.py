"""MR-5: a replicate is a new machine with a new disk: one number, and no samples inside.

MR-6: the median with [x(j), x(n+1−j)]; below six replicates there is none, and that is said."""

import random

import pytest
from benchmarks.method import intervals

from diskbench.analysis.figure import middle
from diskbench.analysis.repeats import Sample, median_interval, replicated
from diskbench.model.comparison import Replicated
from diskbench.report.assemble.words import figure_text
from diskbench.report.terminal.compare_text import replicated_text


def seconds_of(machine, draw, count=60):
    return [machine * (1 + draw.gauss(0, 0.02)) for _ in range(count)]


@pytest.mark.slow
def test_seconds_taken_for_samples_give_an_interval_that_seldom_holds_the_truth():
    """8 machines that differ by 8 %, 60 seconds on each: method.md saw 25 % in place of 95 %."""
    pooled = apart = 0
    cases = 150
    for seed in range(cases):
        draw = random.Random(seed)
        machines = [1000 * (1 + draw.gauss(0, 0.08)) for _ in range(8)]
        seconds = [seconds_of(machine, draw) for machine in machines]
        wrong = median_interval([value for each in seconds for value in each])
        right = replicated([Sample(str(i), middle(s), i) for i, s in enumerate(seconds)]).interval
        assert wrong is not None
        assert right is not None
        pooled += wrong.low <= 1000 <= wrong.high
        apart += right.low <= 1000 <= right.high
    assert pooled / cases < 0.4
    assert apart / cases >= 0.95


@pytest.mark.parametrize("n", range(1, 6))
def test_below_six_the_words_stand_in_its_place(n):
    assert median_interval(list(range(n))) is None
    assert f"no interval (n = {n})" in replicated_text(
        Replicated(trials=n, machines=n, median=100, low=90, high=110, more=10 - n),
        figure_text("iops"),
    )


def test_it_holds_the_median_95_times_of_100_whatever_the_noise():
    rates = [rate for rate in intervals(20) if "holds" in rate.name]
    assert len(rates) == 6
    assert [rate.line() for rate in rates if not rate.holds] == []
