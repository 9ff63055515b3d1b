"""Replicates, where a level of a history changed, the search within a latency target."""

import math
from collections import Counter
from itertools import pairwise, product
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rigs.searching import examples
from tests.unit.report.made import result, row

from diskbench.analysis import repeats
from diskbench.analysis.drift import LEAST_HISTORY, LEVEL, _least_t, chance, drift, fall_of
from diskbench.analysis.sla import keeps, needed_ios, next_share, slas_of
from diskbench.model.doubts import doubt_of
from diskbench.model.spec import Search, Step
from diskbench.model.threshold import Threshold

FIGURES = st.lists(st.floats(1, 1e6), min_size=1, max_size=25)


def samples(values, machines=None):
    machines = machines or range(len(values))
    pairs = zip(values, machines, strict=True)
    return [repeats.Sample(f"t{i}", v, m) for i, (v, m) in enumerate(pairs)]


def test_six_machines_have_an_interval_and_trials_that_shared_one_are_one_sample():
    assert repeats.replicated(samples([1, 2, 3, 4, 5])).interval is None
    found = repeats.replicated(samples([1, 2, 3, 4, 5, 6]))
    assert (found.interval.low, found.interval.high) == (1, 6)
    found = repeats.replicated(samples([100, 200, 300, 50, 60, 70], ["m", "m", "m", "a", "b", "c"]))
    assert (found.trials, found.machines) == (6, 4)
    assert found.median == 65  # of 200, 50, 60 and 70
    assert found.interval is None


def test_an_outlier_is_named_and_counts_and_of_few_or_near_figures_there_is_none():
    found = repeats.replicated(samples([1000, 1001, 999, 1002, 998, 1000, 500]))
    assert (found.outliers, found.low, found.machines) == (("t6",), 500, 7)
    assert repeats.outliers(samples([1000] * 9 + [1030])) == ()
    assert repeats.outliers(samples([1000] * 9 + [1100])) == ("t9",)
    assert repeats.outliers(samples([1000, 1000, 1000, 1000, 1])) == ()


def test_variation_and_disagreement_are_told_where_there_are_figures():
    assert repeats.replicated(samples([90, 100, 110])).variation == pytest.approx(0.1)
    assert repeats.replicated(samples([90])).variation is None
    assert repeats.disagreement([3000, 3000, 100]) == pytest.approx(2900 / 3000)
    with pytest.raises(ValueError, match="no replicate"):
        repeats.replicated([])


def test_expected_bounds_are_the_means_over_all_samples():
    values, size = [1.0, 4.0, 9.0], 6
    drawn = [sorted(one) for one in product(values, repeat=size)]
    rank = repeats.rank_of(size)
    low = sum(one[rank - 1] for one in drawn) / len(drawn)
    high = sum(one[size - rank] for one in drawn) / len(drawn)
    assert repeats.expected_bounds(values, size) == pytest.approx((low, high))


def test_a_narrow_interval_needs_no_more_but_ten_and_some_noise_no_count_overcomes():
    assert repeats.more_needed([1000 + i for i in range(repeats.FIRST)]) == 0
    assert repeats.more_needed([1000, 1001, 1002, 1003, 1004, 1005]) == 4
    assert repeats.more_needed([1000, 3000]) == 8
    assert repeats.more_needed([1] * 5 + [1000] * 5) is None


@pytest.mark.parametrize(("cov", "least", "most"), [(0.02, 0, 0), (0.05, 0, 12), (0.15, 30, 200)])
def test_more_replicates_are_asked_for_where_there_is_more_noise(cov, least, most):
    """Of means, method.md B2 has 6, 12 and 90 for 5 %; medians need half as many more."""
    rng = np.random.default_rng(7)
    found = [repeats.more_needed(list(1000 * np.exp(cov * rng.normal(size=10)))) for _ in range(11)]
    assert least <= sorted(one if one is not None else 400 for one in found)[5] <= most


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(40))
@given(FIGURES)
def test_what_is_said_lies_within_what_was_measured(values):
    found = repeats.replicated(samples(values))
    assert found.low <= found.median <= found.high
    assert Counter(found.outliers) <= Counter(f"t{i}" for i in range(len(values)))
    if found.interval:
        assert found.low <= found.interval.low <= found.interval.high <= found.high
        assert found.interval == repeats.median_interval(values)


@settings(deadline=None, max_examples=examples(40))
@given(st.lists(st.floats(1, 1e6), min_size=6, max_size=20), st.integers(6, 60))
def test_expected_bounds_stay_within_the_figures_and_in_order(values, size):
    low, high = repeats.expected_bounds(values, size)
    assert min(values) * (1 - 1e-9) <= low <= high * (1 + 1e-9)
    assert high <= max(values) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("n", "rank", "coverage"),
    [(6, 1, 0.969), (9, 2, 0.961), (10, 2, 0.979), (12, 3, 0.961), (15, 4, 0.965), (20, 6, 0.959)],
)
def test_the_ranks_are_those_of_the_printed_table(n, rank, coverage):
    found = repeats.median_interval(range(1, n + 1))
    assert (found.low, found.high) == (rank, n + 1 - rank)
    assert found.coverage == pytest.approx(coverage, abs=0.0006)


@given(st.lists(st.floats(-1e9, 1e9), min_size=6, max_size=60))
def test_the_median_lies_within_and_order_does_not_matter(values):
    found = repeats.median_interval(values)
    assert found.low <= median(values) <= found.high
    assert found.coverage >= 0.95
    assert repeats.median_interval(sorted(values)) == found


def noisy(levels, cov=0.02, seed=0):
    return (levels * np.exp(cov * np.random.default_rng(seed).normal(size=len(levels)))).tolist()


def test_a_tenth_less_is_found_after_three_figures_and_noise_is_told_without_changes():
    (shift,) = drift(noisy([1000] * 30 + [900] * 3)).shifts
    assert (shift.at, shift.change) == (30, pytest.approx(-0.1, abs=0.03))
    assert shift.before == pytest.approx(1000, rel=0.01)
    found = drift(noisy([1000] * 40 + [500] * 40, cov=0.03))
    assert found.noise == pytest.approx(0.03, rel=0.3)
    assert found.span > 0.5


def test_neither_one_bad_night_nor_four_percent_is_a_change_and_down_and_up_are_two():
    assert drift(noisy([1000] * 15 + [400] + [1000] * 15)).shifts == ()
    assert drift([1000.0] * 20 + [960.0] * 20).shifts == ()
    assert len(drift([1000.0] * 20 + [940.0] * 20).shifts) == 1
    found = drift(noisy([1000] * 12 + [700] * 8 + [1000] * 12))
    assert [shift.at for shift in found.shifts] == [12, 20]
    assert found.shifts[0].change < 0 < found.shifts[1].change


def test_the_step_that_would_be_seen_is_found_in_95_of_100():
    cov, count, seen = 0.04, 60, 0
    steps = sorted(drift(noisy([1000] * 40, cov, seed)).visible for seed in range(15))
    assert steps[7] == pytest.approx(1 - math.exp(-4.2 * cov), abs=0.03)
    for seed in range(count):
        found = drift(noisy([1000] * 40 + [1000 * math.exp(-4.2 * cov)] * 3, cov, seed))
        seen += any(abs(shift.at - 40) <= 1 for shift in found.shifts)
    assert seen >= 0.95 * count


def test_a_short_history_says_that_it_is_short_and_a_figure_of_zero_has_no_level():
    found = drift([1000.0] * (LEAST_HISTORY - 1))
    assert (found.shifts, found.visible) == ((), None)
    assert drift([]).n == 0
    with pytest.raises(ValueError, match="above zero"):
        drift([1.0, 0.0, 1.0])


@settings(deadline=None, max_examples=examples(40))
@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=60))
def test_changes_are_in_order_and_as_large_as_they_must_be(values):
    found = drift(values)
    places = [0, *(shift.at for shift in found.shifts), len(values)]
    assert not found.shifts or all(after - before >= 3 for before, after in pairwise(places))
    assert all(abs(shift.change) >= 0.05 and shift.p <= 0.001 for shift in found.shifts)


@settings(deadline=None, max_examples=examples(40))
@given(st.lists(st.floats(1, 1e6), min_size=6, max_size=40), st.floats(0.001, 1000))
def test_the_unit_of_the_figures_changes_nothing(values, factor):
    scaled = drift([value * factor for value in values])
    assert [one.at for one in scaled.shifts] == [one.at for one in drift(values).shifts]


def test_a_fall_is_found_in_the_run_from_which_a_disk_stays_down_and_none_where_there_is_none():
    found = fall_of([300.0, 310.0, 295.0, 305.0, 80.0, 82.0, 79.0])
    assert (found.at + 1, found.before, found.after) == (5, 295.0, 82.0)
    assert fall_of([1750, 2150, 1330, 2660, 2700, 1400, 2260, 1470, 151, 135]).at + 1 == 9
    for values in ([], [300.0, 80.0], [0.0, 0.0, 0.0, 0.0], [80.0, 82.0, 300.0, 310.0]):
        assert fall_of(values) is None, values
    assert fall_of([300.0, 310.0, 305.0, 80.0]) is None, "one run may be an accident"
    assert fall_of([300.0, 310.0, 80.0, 82.0, 300.0]) is None, "it came back"
    assert fall_of([100.0, 90.0, 80.0, 70.0, 60.0, 51.0]) is None, "a slope is no fall"


@given(
    st.lists(st.floats(100, 200), min_size=2, max_size=20),
    st.lists(st.floats(0, 49), min_size=2, max_size=20),
)
def test_whatever_falls_below_half_is_found_at_its_run(high, low):
    found = fall_of([*high, *low])
    assert found.after < LEVEL * found.before
    # a deeper fall within the low part may be the sharper one
    assert found.at >= len(high)


TARGET = Threshold.parse("p99 < 2ms")


def search(precision=0.02, target=TARGET):
    steps = tuple(f"probe-{n}" for n in range(1, 10))
    return Search(capacity="capacity", steps=steps, target=target, precision=precision, beyond=100)


def probed(step, iops, p99_ms, *codes):
    """A step of one row that did so many reads a second, with doubts by their codes."""
    ns = None if p99_ms is None else p99_ms * 1e6
    doubts = tuple(doubt_of(code).warning("") for code in codes)
    made = Step(index=0, name=step, role="offered", job="", expected_s=1.0)
    return result(made, row(step, iops=iops, p99_ns=ns), warnings=doubts)


def probes(*kept, capacity=3000):
    """A run whose probes kept to the target or did not; a text is the doubt in one that did not."""
    steps = [probed("capacity", capacity, 90.0)]
    for number, did in enumerate(kept, start=1):
        doubts = (did,) if isinstance(did, str) else ()
        steps.append(probed(f"probe-{number}", 1000, 1.0 if did is True else 9.0, *doubts))
    return steps


@pytest.mark.parametrize(
    ("target", "ios"),
    [("p99 < 2ms", 10_000), ("p99.9 < 2ms", 100_000), ("p50 < 2ms", 200), ("mean < 2ms", 10_000)],
)
def test_a_probe_lasts_until_100_ios_lie_beyond_its_percentile(target, ios):
    assert needed_ios(Threshold.parse(target), 100) == ios


@pytest.mark.parametrize(
    ("kept", "share"),
    [
        ((), 0.5), ((True,), 0.75), ((True, False), 0.625), ((False, True), 0.375),
        (("steal",), 0.5), (("steal", True), 0.75), (("steal", "steal"), 0.25),
        ((True, "other-io", False), 0.625), (("too-short",), 0.25),
    ],
)  # fmt: skip
def test_the_share_is_halved_and_a_miss_of_a_disturbed_machine_is_tried_once_more(kept, share):
    assert next_share(search(), probes(*kept)) == share


@given(st.floats(0.02, 1.0), st.sampled_from([0.005, 0.02, 0.1]))
def test_it_ends_with_the_knee_in_an_interval_of_the_asked_width(knee, precision):
    kept, tried = [], []
    asked = search(precision).model_copy(
        update={"steps": tuple(f"probe-{n}" for n in range(1, 20))}
    )
    while (share := next_share(asked, probes(*kept))) is not None:
        tried.append(share)
        kept.append(share <= knee)
    low = max((s for s, did in zip(tried, kept, strict=True) if did), default=0.0)
    high = min((s for s, did in zip(tried, kept, strict=True) if not did), default=1.0)
    assert low <= knee <= high
    assert high - low <= precision * high or high <= precision
    assert len(tried) <= 14


def test_a_disk_that_never_keeps_to_it_is_given_up():
    kept = []
    while next_share(search(), probes(*kept)) is not None:
        kept.append(False)
    assert len(kept) == 6  # 1/64 of the capacity


def test_each_direction_or_the_one_that_is_named_has_to_keep_to_the_target_with_enough_ios():
    rows = [row("x", iops=700, p99_ns=1e6), row("x", iops=300, p99_ns=3e6, direction="write")]
    assert not keeps(TARGET, rows)
    assert keeps(Threshold.parse("read p99 < 2ms"), rows)
    assert not keeps(Threshold.parse("write p99 < 2ms"), rows)
    assert not keeps(TARGET, [row("x", iops=700, p99_ns=None)])
    assert not keeps(TARGET, [])


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ([("capacity", 3000, 9.0), ("probe-1", 1500, 1.0), ("probe-2", 2250, 5.0),
          ("probe-3", 1875, 1.9)], (1875, 2250, 3)),
        # 1,500 were offered, and 980 served: that is no rate that it missed the target at.
        ([("capacity", 2000, 9.0), ("probe-1", 990, 1.0), ("probe-2", 980, 1.0, "saturated")],
         (1000, 1500, 2)),
        ([("capacity", 3000, 9.0), ("probe-1", 1500, 9.0, "steal"), ("probe-2", 1500, 1.0)],
         (1500, None, 2)),
        ([("capacity", 3000, 9.0), ("probe-1", 1500, 9.0, "steal")], (0, 1500, 1)),
        ([("probe-1", 1500, 1.0)], (1500, None, 1)),
        ([("probe-1", 1500, 9.0)], (0, 1500, 1)),
    ],
    ids=["kept and missed", "saturated", "kept when repeated", "ended before it was repeated",
         "all kept", "none kept"],
)  # fmt: skip
def test_the_result_is_the_highest_that_kept_and_the_lowest_that_did_not(steps, found):
    sla = slas_of(search(), {"run": [probed(*step) for step in steps]})["run"]
    assert (sla.iops, sla.missed_iops, sla.probes) == found


def test_no_probe_offers_more_than_lasts_without_credit_and_without_a_probe_is_no_result():
    bursts = search().model_copy(update={"lasting_iops": 100.0})
    assert 0.75 < next_share(bursts, probes(*[True] * 4, capacity=125.0)) < 0.8
    assert slas_of(search(), {"run": [probed("capacity", 1500, 9.0)]}) == {}


def test_the_chance_of_a_step_is_that_of_scipy():
    from scipy.special import stdtr, stdtrit

    steps = (0.0, *np.geomspace(1e-3, 1e6, 60))
    for free in range(4, 99):
        chances = [chance(t, free) for t in steps]
        assert chances == pytest.approx(2 * stdtr(free, np.negative(steps)), rel=1e-11, abs=1e-300)
        assert _least_t(free) == pytest.approx(-stdtrit(free, 0.0005), rel=1e-12), free
