"""What the clouds promise, by type, size and what was provisioned."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diskbench.catalog.bucket import Allowance
from diskbench.catalog.entry import catalogue, clouds
from diskbench.catalog.lookup import disk_types, limits
from diskbench.errors import InvalidValue, UnknownName
from diskbench.units import KIB, MIB


@pytest.mark.parametrize(
    ("size", "baseline", "burst"),
    [(1, 100, 3000), (20, 100, 3000), (256, 768, 3000), (999, 2997, 3000), (16384, 16000, None)],
)
def test_gp2_earns_three_iops_a_gib_between_floor_and_ceiling(size, baseline, burst):
    (pool,) = limits("aws", "gp2", size).pools
    assert pool.iops == Allowance(baseline, burst, 5_400_000 if burst else None)


@pytest.mark.parametrize(("size", "baseline"), [(171, 128.25), (200, 150), (333, 249.75)])
def test_250_mib_a_second_are_a_burst_of_a_gp2_of_171_to_333_gib(size, baseline) -> None:
    """Both buckets end at one moment: bytes are paid in I/O credits, 256 KiB each."""
    (pool,) = limits("aws", "gp2", size).pools
    assert pool.bytes_per_s == Allowance(baseline * MIB, 250 * MIB, 1_350_000 * MIB)
    rate = 250 * MIB / (256 * KIB)
    assert 5_400_000 / (rate - pool.iops.baseline) == pytest.approx(1_350_000 / (250 - baseline))


def test_io1_throughput_follows_its_iops() -> None:
    rates = [limits("aws", "io1", 2000, iops).pools[0] for iops in (400, 5000, 64000)]
    assert [r.bytes_per_s for r in rates] == [
        Allowance(100 * MIB), Allowance(500 * MIB), Allowance(1000 * MIB),
    ]  # fmt: skip


def test_an_azure_disk_performs_as_the_next_larger_tier() -> None:
    found = limits("azure", "Premium_LRS", 20)
    (pool,) = found.pools
    assert (found.tier, pool.iops) == ("P4", Allowance(120, 3500, 6_084_000))
    assert pool.bytes_per_s == Allowance(25e6, 170e6, 145e6 * 1800)


def test_google_limits_reads_and_writes_apart() -> None:
    reads, writes = limits("gcp", "pd-standard", 1000).pools
    assert (reads.covers, reads.iops) == ("read", Allowance(750))
    assert (writes.covers, writes.iops) == ("write", Allowance(1500))


def test_a_misspelt_type_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="gp2"):
        limits("aws", "pg2", 20)


@pytest.mark.parametrize(
    ("disk", "size", "iops", "throughput", "words"),
    [
        ("gp2", 0, None, None, "1 to 16,384 GiB"), ("st1", 100, None, None, "125 to 16,384 GiB"),
        ("gp2", 20, 500, None, "accept --iops"), ("gp2", 20, None, 500, "accept --throughput"),
        ("io1", 20, None, None, "needs --iops"), ("io1", 20, 99, None, "100 to 64,000"),
        ("io1", 20, 1001, None, "50 per GiB"), ("gp3", 20, 10_001, None, "500 per GiB"),
        ("gp3", 100, 3000, 751, "0.25 per IOPS"), ("instance-store", 20, 100, None, "accept --io"),
    ],
)  # fmt: skip
def test_what_is_not_sold_is_refused_with_the_range(disk, size, iops, throughput, words):
    with pytest.raises(InvalidValue) as refused:
        limits("aws", disk, size, iops, throughput)
    assert words in str(refused.value)


def test_a_limit_says_where_it_stands_and_the_free_iops_of_gp3_need_no_size() -> None:
    assert limits("aws", "gp3", 1, 3000).pools[0].iops == Allowance(3000)
    titles = [source.title for source in limits("aws", "gp2", 20).sources]
    assert any("general-purpose.md" in title for title in titles)


@pytest.mark.parametrize("cloud", clouds())
@settings(deadline=None)  # two cores that others use too
@given(share=st.floats(0, 1))
def test_every_size_that_is_sold_has_sane_limits(cloud: str, share: float) -> None:
    for name in disk_types(cloud):
        entry = catalogue(cloud).disks[name]
        if entry.size_gib is None:
            continue
        size = entry.size_gib.min + share * (entry.size_gib.max - entry.size_gib.min)
        quantities = ((entry.iops, entry.iops_ratio), (entry.throughput, entry.throughput_ratio))
        iops, throughput = (
            (ratio.range(q.min or 0, q.max or 0, size)[0] if ratio else q.min)
            if q and q.provisioned and q.default_value(size) is None
            else None
            for q, ratio in quantities
        )
        for pool in limits(cloud, name, size, iops, throughput).pools:
            for allowance in (pool.iops, pool.bytes_per_s):
                assert allowance is None or 0 < allowance.baseline <= allowance.ceiling
                assert allowance is None or (allowance.burst is None) == (
                    allowance.capacity is None
                )
