"""What one number stands for a step, and how two of them compare."""

import math
import warnings

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.rigs.searching import examples
from tests.rigs.synthetic import Noise, flat, settling, steps, with_stalls
from tests.unit.report.made import row

from diskbench.analysis import compare
from diskbench.analysis.figure import Figure, figure_of, levels_of, middle, of_one_level, of_rounds
from diskbench.analysis.phases import step_phases
from diskbench.analysis.row_figures import step_figure
from diskbench.model.comparison import Compared, Interval, Replicated

STILL = Noise(sd=0.0)
QUIET = Noise(sd=0.03, phi=0.5)


def course(values, **more):
    return step_phases(values, values * 4096).model_copy(update=more)


def figure(values, *, share=None, **more):
    counted = [Figure(float(values.mean()), float(values.mean()) * 4096)]
    return figure_of(counted, course(values, **more), share or (1.0, 1.0))


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=12), st.booleans())
def test_the_middle_is_one_of_the_values_and_never_a_mean(values, worst_is_high):
    found = middle(values, worst_is_high=worst_is_high)
    assert found in values
    assert sum(one <= found for one in values) * 2 >= len(values)
    assert sum(one >= found for one in values) * 2 >= len(values)


def test_of_two_the_worse_one_is_told_and_of_rounds_the_last_five_count():
    assert middle([3000, 2000]) == 2000
    assert middle([3.0, 2.0], worst_is_high=True) == 3.0
    with pytest.raises(ValueError, match="no value"):
        middle([])
    assert of_rounds([1, 104, 100, 101, 102, 103]) == 102
    assert of_rounds([100, 300]) == 100


@pytest.mark.parametrize(("read_s", "iops"), [(60, 3000), (58, 3000), (10, 1750)])
def test_directions_that_ran_for_different_times_have_the_mean_over_all_of_it(read_s, iops):
    """1,500 IOPS each; together they are 3,000 only while both run."""

    def of(direction, seconds):
        done = {"ios": 1500 * seconds, "bytes": 1500 * seconds * 4096}
        rate = {"iops": 1500.0, "bytes_per_s": 1500.0 * 4096}
        return row(direction=direction, runtime_ns=seconds * 10**9, **done, **rate)

    found = step_figure([of("read", read_s), of("write", 60)], None)
    assert (found.iops, found.bytes_per_s) == (iops, iops * 4096)


def test_of_one_level_it_is_what_fio_counted_and_of_a_dip_that_recovers_the_longest_level():
    found = figure(flat(1000, 900, QUIET, seed=1))
    assert (found.level, found.iops) == (None, pytest.approx(1000, rel=0.01))
    assert figure(steps([(1000, 900), (500, 300), (1000, 600)], STILL, seed=5)).iops == 1000


def test_after_a_cliff_it_is_the_level_that_lasts_and_of_a_direction_its_share_of_that():
    found = figure(steps([(3002, 186), (100, 417)], STILL, seed=1))
    assert (found.iops, found.kind, found.crosses) == (100, "baseline", True)
    values = steps([(3000, 200), (100, 200)], STILL, seed=1)
    values[199:202] = (2100, 1500, 800)
    burst, baseline = levels_of(course(values))
    assert (burst.iops, baseline.iops) == (3000, 100), "without the second of the fall"
    found = figure(steps([(3000, 600), (100, 600)], STILL, seed=1), share=(0.7, 0.5))
    assert (found.iops, found.bytes_per_s) == (pytest.approx(70), pytest.approx(50 * 4096))


def test_stalls_count_as_the_seconds_that_they_are_at_the_level_that_lasts_too():
    values = with_stalls(flat(2997, 600, STILL, seed=1), [(250, 341)])
    (whole, only) = figure(values), figure_of([], course(values))
    assert (whole.level, whole.iops) == (None, pytest.approx(2997 * 509 / 600))
    assert only.iops == pytest.approx(2997 * 509 / 600, rel=0.003)
    values = with_stalls(steps([(3000, 600), (100, 600)], STILL, seed=1), [(800, 830)])
    assert figure(values).iops == pytest.approx(100 * 570 / 600, rel=0.01)


def test_what_a_step_settled_at_is_its_figure_and_of_rounds_past_a_cliff_the_last_five():
    found = figure(settling(2500, 1000, 200, 1800, QUIET, seed=6))
    assert found.iops == pytest.approx(1000, rel=0.06)
    assert (found.kind, found.crosses) == ("level", False)
    values = steps([(3000, 1862), (100, 900)], STILL, seed=1)
    counted = [Figure(value, value * 4096) for value in (3000.0, 98.0, 99.0, 100.0, 101.0, 102.0)]
    found = figure_of(counted, course(values, rounds=6))
    assert (found.iops, found.kind, found.crosses) == (100, "baseline", False)


def test_runs_at_the_baseline_make_the_figure_of_a_trial():
    assert of_one_level(["burst", "burst", "baseline"]) == [2]
    assert of_one_level([None, None]) == [0, 1]
    fell = [3011.0, 3013.0, 3007.0, 3011.0, 107.0, 103.0, 109.0]
    assert of_one_level([None] * 7, fell) == [4, 5, 6]


def pairs(a, b):
    return [compare.Pair(x, y, f"a{i}", f"b{i}") for i, (x, y) in enumerate(zip(a, b, strict=True))]


def found(a, b, m=1):
    ratio = compare.compare(pairs(a, b))
    return compare.judge(ratio, None if ratio.p is None else min(1.0, ratio.p * m))


A = [100, 101, 99, 102, 98, 100, 103, 97, 100, 101]


def test_ratios_are_taken_pair_by_pair_so_that_what_both_share_cancels():
    """Each round was twice as slow as the one before: B is a tenth faster in each."""
    a = [1000 / 2**i for i in range(8)]
    one = compare.compare(pairs(a, [x * 1.1 for x in a]))
    assert one.ratio == pytest.approx(1.1)
    assert (one.interval.low, one.interval.high) == pytest.approx((1.1, 1.1))


@pytest.mark.slow
def test_a_difference_under_five_percent_is_small_however_sure():
    assert found(A, [0.94 * x if i % 3 else 0.96 * x for i, x in enumerate(A)]) == "differs"
    assert found(A, [1.049 * x if i < 3 else 1.045 * x for i, x in enumerate(A)]) == "alike"
    assert found(A, [1.06 * x if i < 4 else 1.03 * x for i, x in enumerate(A)]) == "small"


def test_a_tenth_less_differs_the_same_twice_is_alike_and_both_ways_is_noise():
    assert found(A, [0.9 * x for x in A]) == "differs"
    assert found(A, A) == "alike"
    assert compare.signed_rank([1.0] * 8) == 1.0
    assert found(A, [x * (1.2 if i % 2 else 0.85) for i, x in enumerate(A)]) == "noise"


def test_one_difference_of_six_pairs_is_not_enough_among_many_and_five_are_too_few():
    """p is 1/32 at least; one such of ten is to be expected by chance once in four times."""
    assert found(A[:6], [0.8 * x for x in A[:6]]) == "differs"
    assert found(A[:6], [0.8 * x for x in A[:6]], m=10) == "noise"
    one = compare.compare(pairs([1] * 5, [2] * 5))
    assert (one.interval, one.p) == (None, None)
    assert compare.judge(one, None) == "too few"


def test_pairs_linked_by_a_machine_are_one_and_have_no_interval():
    # The third links the two before.
    linked = [(200, "m", "x"), (300, "n", "y"), (400, "m", "n"), (900, "p", "q")]
    assert compare.independent_ratios([compare.Pair(100, *one) for one in linked]) == [3.0, 9.0]
    one = compare.compare([compare.Pair(x, 1.1 * x, "here", "here") for x in A])
    assert (one.pairs, one.n, one.interval) == (10, 1, None)


@pytest.mark.parametrize(("a", "told"), [([0.0], "above"), ([-1.0], "above"), ([], "nothing to")])
def test_nothing_is_not_compared_and_figures_of_nothing_have_no_ratio(a, told):
    with pytest.raises(ValueError, match=told):
        compare.compare([compare.Pair(one, 1, "a", "b") for one in a])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_adjusted_p_are_those_of_scipy(p):
    from scipy.stats import false_discovery_control

    assert compare.adjusted(p) == pytest.approx(list(false_discovery_control(p)))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.floats(1, 1e6), st.floats(1, 1e6)), min_size=6, max_size=20, unique=True)
)
def test_turned_round_it_says_the_same(figures):
    forth = compare.compare([compare.Pair(a, b, i, ("b", i)) for i, (a, b) in enumerate(figures)])
    back = compare.compare([compare.Pair(b, a, i, ("b", i)) for i, (a, b) in enumerate(figures)])
    assert forth.interval.low == pytest.approx(1 / back.interval.high)
    assert forth.p == pytest.approx(back.p)
    if len(figures) % 2:
        assert math.log(forth.ratio) == pytest.approx(-math.log(back.ratio), abs=1e-9)


SIDE = Replicated(trials=8, machines=8, median=1, low=1, high=1)


def said(finding, ratio, low=None, high=None, metric="iops", median=None):
    interval = None if low is None else Interval(low=low, high=high, coverage=0.96)
    other = SIDE.model_copy(update={"median": ratio if median is None else median})
    one = Compared(
        block="x", step="s", direction="read", metric=metric, a=SIDE, b=other, pairs=8, n=8,
        unpaired=0, in_turn=True, ratio=ratio, interval=interval, finding=finding,
    )  # fmt: skip
    return compare.sentence(one)


@pytest.mark.parametrize(
    ("found", "words", "interval"),
    [
        (said("differs", 0.8, 0.7, 0.9), "B delivers 20 % fewer IOPS than A", "−30 % to −10 %"),
        (said("differs", 1.054, 1.01, 1.2), "B delivers 5.4 % more IOPS than A", "+1.0 % to +20 %"),
        (
            said("differs", 2, 1.5, 3, "p99_ns"),
            "the 99th percentile of latency of B is 100 % higher than that of A",
            "+50 % to +200 %",
        ),
        (said("alike", 1, 0.99, 1.01), "A and B are alike within 5 %", "−1.0 % to +1.0 %"),
        (
            said("small", 1.03, 1.01, 1.06),
            "B delivers 3.0 % more IOPS than A, below the 5 % that matter",
            "+1.0 % to +6.0 %",
        ),
        (
            said("noise", 0.9, 0.7, 1.1),
            "the difference is smaller than the noise",
            "−30 % to +10 %",
        ),
    ],
)
def test_each_finding_has_its_sentence(found, words, interval):
    assert found == f"{words} ({interval}, n = 8)"


def test_a_ratio_that_is_not_that_of_the_medians_or_has_no_interval_says_what_it_is_of():
    assert said("too few", 0.9) == (
        "B/A is 0.90; no interval (n = 8): at least six independent pairs are needed to tell a "
        "difference from noise"
    )
    assert "20 % more IOPS than A in the median pair" in said("differs", 1.2, 1.1, 1.3, median=1.4)
    assert said("too few", 1.2, median=1.4).startswith("B/A is 1.20 in the median pair; no")


EQUAL = st.lists(st.sampled_from([0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0]), min_size=14, max_size=60)
DIFFERENT = st.lists(st.floats(0.01, 100), min_size=1, max_size=60, unique=True)


@settings(deadline=None, max_examples=examples(60))
@given(EQUAL | DIFFERENT.filter(lambda ratios: 1.0 not in ratios))
@example([1.0])
@example([0.8, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0, 2.0])
@example([0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
@example([1.0, *(1.01**i for i in range(1, 13))])
@example([1.0, *(1.01**i for i in range(1, 14))])
@example([1.01**i for i in range(1, 51)])
@example([1.01**i for i in range(1, 52)])
def test_the_signed_rank_is_that_of_scipy(ratios):
    from scipy.stats import wilcoxon

    logs = [round(math.log(ratio), 12) for ratio in ratios]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = float(wilcoxon(logs).pvalue) if any(logs) else 1.0
    assert compare.signed_rank(ratios) == pytest.approx(expected, rel=1e-12, abs=0)
