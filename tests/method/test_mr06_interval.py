"""MR-6: the median with [x(j), x(n+1−j)]; below six replicates there is none, and that is said."""

import pytest
from benchmarks.method_statistics import intervals

from diskbench.analysis.repeats import median_interval
from diskbench.model.comparison import Replicated
from diskbench.report.assemble.words import figure_text
from diskbench.report.terminal.compare_text import replicated_text

PRINTED = [
    (6, 1, 6, 0.969),
    (9, 2, 8, 0.961),
    (10, 2, 9, 0.979),
    (12, 3, 10, 0.961),
    (15, 4, 12, 0.965),
    (20, 6, 15, 0.959),
]
"""n, ranks and coverage of the printed tables (Le Boudec; Hoefler & Belli 2015)."""


@pytest.mark.parametrize(("n", "low", "high", "coverage"), PRINTED)
def test_ranks_and_coverage_are_those_of_the_printed_table(n, low, high, coverage):
    found = median_interval(list(range(1, n + 1)))
    assert found is not None
    assert (found.low, found.high) == (low, high)
    assert found.coverage == pytest.approx(coverage, abs=0.0006)


@pytest.mark.parametrize("n", range(1, 6))
def test_below_six_the_words_stand_in_its_place(n):
    assert median_interval(list(range(n))) is None
    told = replicated_text(
        Replicated(trials=n, machines=n, median=100, low=90, high=110, more=10 - n),
        figure_text("iops"),
    )
    assert f"no interval (n = {n})" in told


def test_it_holds_the_median_95_times_of_100_whatever_the_noise():
    rates = [row for row in intervals(20) if "holds" in row[0]]
    assert len(rates) == 6
    for name, value, least, _, _ in rates:
        assert value >= least, name
