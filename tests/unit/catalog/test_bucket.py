"""The arithmetic of buckets and requests: published worked examples, and laws that always hold."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diskbench.catalog import bucket
from diskbench.catalog.bucket import NO_RULE, Allowance, IoAccounting, balance_after, cut_at
from diskbench.catalog.expect import expect_on, path_of
from diskbench.catalog.lookup import DiskLimits, limits
from diskbench.model.expectation import Expectation, Load
from diskbench.units import KIB, MIB


def found(disk: DiskLimits, size: int = 4 * KIB, rate: float | None = None) -> Expectation:
    told = expect_on(path_of(disk), Load(block_bytes=size, max_per_s=rate))
    assert told is not None
    return told


LASTS = {
    "gp2": [(20, 1862), (100, 2000), (334, 2703), (500, 3600), (750, 7200)],
    "st1": [(1024, 4993), (5 * 1024, 17476)],
    "sc1": [(1024, 15420)],
}


@pytest.mark.parametrize("disk", LASTS)
def test_a_bucket_empties_at_the_second_its_guide_says_small_requests_of_an_hdd_as_large(disk):
    for size, seconds in LASTS[disk]:
        for block in (4 * KIB,) if disk == "gp2" else (4 * KIB, MIB):
            told = found(limits("aws", disk, size), block)
            assert round(told.lasts_s or 0) == seconds, (size, block)


def test_nothing_empties_at_the_ceiling_or_below_the_baseline_at_which_a_bucket_fills() -> None:
    assert found(limits("aws", "st1", 16384), MIB).lasts_s is None
    told = found(limits("aws", "gp2", 20), rate=99)
    assert (told.begin.iops, told.lasts_s, told.begin.limited_by) == (99, None, "offered")
    gp2 = Allowance(100, 3000, 5_400_000)
    assert balance_after(gp2, 0, 0, 54_000) == 5_400_000
    assert balance_after(gp2, 0, 0, 60, refill_per_s=10) == 600
    assert balance_after(gp2, 0, 3000, 60, owed=100) == -100


def test_a_large_request_counts_as_several_a_small_one_as_the_least() -> None:
    gp2 = limits("aws", "gp2", 20).accounting
    assert (gp2.ios(MIB), gp2.bytes(MIB)) == (4, MIB)
    assert (gp2.ios(257 * KIB), gp2.ios(256 * KIB), gp2.ios(512)) == (2, 1, 1)
    st1 = limits("aws", "st1", 500).accounting
    assert (st1.ios(4 * KIB), st1.bytes(4 * KIB), st1.bytes(2 * MIB)) == (1, MIB, 2 * MIB)
    assert (NO_RULE.ios(8 * MIB), NO_RULE.bytes(512)) == (1, 512)


def test_a_device_that_cuts_counts_parts_and_halves_of_what_counts_once_cost_the_whole() -> None:
    cut = cut_at(NO_RULE, 512 * KIB)
    assert (cut.ios(512 * KIB), cut.ios(MIB)) == (1, 2)
    assert cut_at(IoAccounting(256 * KIB), 512 * KIB) == IoAccounting(256 * KIB)
    cut = cut_at(IoAccounting(MIB, MIB), 512 * KIB)
    assert 2 * cut.bytes(512 * KIB) == cut.bytes(MIB) == MIB
    assert 2 * cut.ios(512 * KIB) == cut.ios(MIB) == 1
    assert (cut.ios(4 * KIB), cut.bytes(4 * KIB)) == (1, MIB)


ALLOWANCES = st.builds(
    bucket.of_duration, st.floats(1, 1e6), st.floats(1, 1e7), st.floats(0, 1e5)
) | st.builds(Allowance, st.floats(1, 1e6))


@settings(deadline=None)  # two cores that others use too
@given(ALLOWANCES, st.floats(0, 1), st.floats(0, 1e7), st.floats(0, 1e5))
def test_a_balance_stays_within_its_bucket(allowance, share, used, seconds):
    full = bucket.capacity(allowance)
    left = balance_after(allowance, share * full, used, seconds)
    assert 0 <= left <= full
    if used <= allowance.baseline:
        assert left >= share * full - full * 1e-9


@settings(deadline=None)
@given(ALLOWANCES, st.floats(1, 1000))
def test_a_time_scale_divides_how_long_a_burst_lasts_and_no_rate(allowance, scale):
    small, lasting = bucket.scaled(allowance, time_scale=scale), bucket.lasts_s(allowance)
    for held in (True, False):
        assert bucket.rate(small, has_credit=held) == bucket.rate(allowance, has_credit=held)
    assert bucket.lasts_s(small) == (None if lasting is None else pytest.approx(lasting / scale))
