"""What the clouds promise, by type, size and what was provisioned; Google Cloud's machine series:
which disks they take, and how fast."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.books import SHIPPED

from diskbench.catalog.bucket import Allowance
from diskbench.catalog.entry import catalogue, clouds
from diskbench.catalog.lookup import disk_types, limits
from diskbench.catalog.machine_book import machine_book
from diskbench.errors import InvalidValue, UnknownName
from diskbench.units import KIB, MIB


def test_gp2_earns_three_iops_a_gib_between_floor_and_ceiling():
    for size, baseline in {1: 100, 20: 100, 256: 768, 999: 2997}.items():
        (pool,) = limits("aws", "gp2", size).pools
        assert pool.iops == Allowance(baseline, 3000, 5_400_000)
    (pool,) = limits("aws", "gp2", 16384).pools
    assert pool.iops == Allowance(16_000, None, None)


@pytest.mark.parametrize(("size", "baseline"), [(171, 128.25), (200, 150), (333, 249.75)])
def test_250_mib_a_second_are_a_burst_of_a_gp2_of_171_to_333_gib(size, baseline) -> None:
    """Both buckets end at one moment: bytes are paid in I/O credits, 256 KiB each."""
    (pool,) = limits("aws", "gp2", size).pools
    assert pool.bytes_per_s == Allowance(baseline * MIB, 250 * MIB, 1_350_000 * MIB)
    rate = 250 * MIB / (256 * KIB)
    assert 5_400_000 / (rate - pool.iops.baseline) == pytest.approx(1_350_000 / (250 - baseline))


def test_an_azure_disk_performs_as_its_tier_io1_by_its_iops_and_google_limits_reads_apart() -> None:
    found = limits("azure", "Premium_LRS", 20)
    (pool,) = found.pools
    assert (found.tier, pool.iops) == ("P4", Allowance(120, 3500, 6_084_000))
    assert pool.bytes_per_s == Allowance(25e6, 170e6, 145e6 * 1800)
    rates = [limits("aws", "io1", 2000, iops).pools[0] for iops in (400, 5000, 64000)]
    assert [r.bytes_per_s for r in rates] == [Allowance(mib * MIB) for mib in (100, 500, 1000)]
    reads, writes = limits("gcp", "pd-standard", 1000).pools
    assert (reads.covers, reads.iops) == ("read", Allowance(750))
    assert (writes.covers, writes.iops) == ("write", Allowance(1500))


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


def test_a_limit_says_where_it_stands_free_iops_need_no_size_and_a_misspelt_type_is_named() -> None:
    assert limits("aws", "gp3", 1, 3000).pools[0].iops == Allowance(3000)
    titles = [source.title for source in limits("aws", "gp2", 20).sources]
    assert any("general-purpose.md" in title for title in titles)
    with pytest.raises(UnknownName, match="gp2"):  # the nearest
        limits("aws", "pg2", 20)


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


GCE = machine_book("gcp")


def test_the_vcpus_of_a_type_are_in_its_name_and_newer_series_refuse_older_disks() -> None:
    known = {"n2-standard-8": 8, "c3-standard-88-lssd": 88, "n1-highcpu-8": 8}
    for name, vcpus in {**known, "e2-medium": None, "n2-custom-4-8192": None}.items():
        assert GCE.vcpus_of(name) == vcpus
        assert GCE.series_of(name) is GCE.series[name.partition("-")[0]]
    older = {"n4": "pd-ssd", "c4": "pd-balanced", "c3": "pd-standard", "e2": "pd-extreme"}
    for series, disk in older.items():
        assert disk not in GCE.series[series].disks


def test_caps_grow_with_the_machine_each_from_its_vcpus_on() -> None:
    fit = GCE.series["n2"].disks["pd-ssd"]
    sizes = (8, 15, 16, 31, 64, 128)
    assert [fit.cap(n).read_iops for n in sizes] == [15e3, 15e3, 25e3, 25e3, 1e5, 1e5]
    assert fit.cap(0) is None
    for series in GCE.series.values():
        for fit in series.disks.values():
            assert list(fit.caps) == sorted(fit.caps, key=lambda cap: cap.vcpus)
            for before, after in zip(fit.caps, fit.caps[1:], strict=False):
                assert after.read_iops >= before.read_iops


def test_only_disks_of_the_catalogue_are_named_and_all_but_local_ones_have_a_taker() -> None:
    named = {disk for series in GCE.series.values() for disk in series.disks}
    assert named == set(disk_types("gcp")) - {"local-ssd"}
    assert all(name.partition("-")[0] in GCE.series for name in GCE.tried)


EC2 = SHIPPED.of("aws")


def test_every_machine_with_a_maximum_has_a_lower_baseline_81_mb_of_an_m5_large() -> None:
    m5 = EC2.machines.types["m5.large"]
    assert (m5.iops, m5.mb_per_s, m5.burst_mb_per_s) == (3600, 81.25, 593.75)
    assert not m5.current
    for name, entry in EC2.machines.types.items():
        if entry.burst_iops is not None:
            assert entry.iops is not None, name
            assert entry.iops <= entry.burst_iops, name


@pytest.mark.parametrize(
    ("disk", "size", "iops", "mib_per_s", "month_usd"),
    [
        ("gp2", 20, None, None, 2.0),
        ("gp3", 100, 3000, 125, 8.0),  # what comes with the size is free
        ("gp3", 100, 4000, 225, 8.0 + 5.0 + 4.0),
        ("io1", 100, 5000, None, 12.5 + 325),
        ("io2", 100, 70000, None, 12.5 + 32000 * 0.065 + 32000 * 0.046 + 6000 * 0.032),
    ],
)
def test_a_disk_costs_its_size_and_what_is_provisioned_above_it(
    disk: str, size: int, iops: int | None, mib_per_s: float | None, month_usd: float
) -> None:
    hourly = EC2.prices.disk_hourly_usd(disk, size, "us-east-1", iops=iops, throughput=mib_per_s)
    assert hourly == pytest.approx(month_usd / 730)
