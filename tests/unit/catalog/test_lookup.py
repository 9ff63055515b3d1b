"""What the clouds promise, by type and size, their buckets, and that emulators sell the same."""

from itertools import product

import pytest
from emulators.aws import instance_types, volume_rules
from emulators.aws.call import Refusal as AwsRefusal
from emulators.azure import disk_rules, sizes
from emulators.azure.call import Refusal as AzureRefusal
from emulators.gcp import disk_types as gcp_disks
from emulators.gcp import machine_types as gcp_machines
from emulators.gcp.call import Refusal as GcpRefusal
from hypothesis import given, settings
from hypothesis import strategies as st
from moto.ec2.models.instance_types import INSTANCE_TYPES
from tests.books import SHIPPED

from diskbench.catalog import bucket
from diskbench.catalog.bucket import NO_RULE, Allowance, IoAccounting, balance_after, cut_at
from diskbench.catalog.expect import expect_on, path_of
from diskbench.catalog.lookup import disk_types, limits
from diskbench.catalog.machine_book import machine_book
from diskbench.catalog.shipped import catalogue, clouds
from diskbench.errors import InvalidValue, UnknownName, UserError
from diskbench.model.expectation import Load
from diskbench.model.options import RentSpec
from diskbench.providers.gcp.disk_request import GcpDiskRequest, check_series, disk_request
from diskbench.providers.gcp.requests import google_type, is_regional
from diskbench.units import KIB, MIB


def test_gp2_earns_three_iops_a_gib_between_floor_and_ceiling():
    for size, baseline in {1: 100, 20: 100, 256: 768, 999: 2997}.items():
        (pool,) = limits("aws", "gp2", size).pools
        assert pool.iops == Allowance(baseline, 3000, 5_400_000)
    (pool,) = limits("aws", "gp2", 16384).pools
    assert pool.iops == Allowance(16_000, None, None)


@pytest.mark.parametrize(("size", "baseline"), [(171, 128.25), (200, 150), (333, 249.75)])
def test_250_mib_a_second_are_a_burst_of_a_gp2_of_171_to_333_gib(size, baseline):
    """Both buckets end at one moment: bytes are paid in I/O credits, 256 KiB each."""
    (pool,) = limits("aws", "gp2", size).pools
    assert pool.bytes_per_s == Allowance(baseline * MIB, 250 * MIB, 1_350_000 * MIB)
    rate = 250 * MIB / (256 * KIB)
    assert 5_400_000 / (rate - pool.iops.baseline) == pytest.approx(1_350_000 / (250 - baseline))


def test_an_azure_disk_performs_as_its_tier_io1_by_its_iops_and_google_limits_reads_apart():
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


def test_a_limit_says_where_it_stands_free_iops_need_no_size_and_a_misspelt_type_is_named():
    assert limits("aws", "gp3", 1, 3000).pools[0].iops == Allowance(3000)
    titles = [source.title for source in limits("aws", "gp2", 20).sources]
    assert any("general-purpose.md" in title for title in titles)
    with pytest.raises(UnknownName, match="gp2"):  # the nearest
        limits("aws", "pg2", 20)


@pytest.mark.parametrize("cloud", clouds())
@settings(deadline=None)  # two cores that others use too
@given(share=st.floats(0, 1))
def test_every_size_that_is_sold_has_sane_limits(cloud, share):
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
EC2 = SHIPPED.of("aws")


def test_the_vcpus_of_a_type_are_in_its_name_and_newer_series_refuse_older_disks():
    known = {"n2-standard-8": 8, "c3-standard-88-lssd": 88, "n1-highcpu-8": 8}
    for name, vcpus in {**known, "e2-medium": None, "n2-custom-4-8192": None}.items():
        assert GCE.vcpus_of(name) == vcpus
        assert GCE.series_of(name) is GCE.series[name.partition("-")[0]]
    older = {"n4": "pd-ssd", "c4": "pd-balanced", "c3": "pd-standard", "e2": "pd-extreme"}
    for series, disk in older.items():
        assert disk not in GCE.series[series].disks


def test_caps_grow_with_the_machine_each_from_its_vcpus_on():
    fit = GCE.series["n2"].disks["pd-ssd"]
    sizes = (8, 15, 16, 31, 64, 128)
    assert [fit.cap(n).read_iops for n in sizes] == [15e3, 15e3, 25e3, 25e3, 1e5, 1e5]
    assert fit.cap(0) is None
    for series in GCE.series.values():
        for fit in series.disks.values():
            assert list(fit.caps) == sorted(fit.caps, key=lambda cap: cap.vcpus)
            for before, after in zip(fit.caps, fit.caps[1:], strict=False):
                assert after.read_iops >= before.read_iops


def test_only_disks_of_the_catalogue_are_named_and_all_but_local_ones_have_a_taker():
    named = {disk for series in GCE.series.values() for disk in series.disks}
    assert named == set(disk_types("gcp")) - {"local-ssd"}
    assert all(name.partition("-")[0] in GCE.series for name in GCE.tried)


def test_every_machine_with_a_maximum_has_a_lower_baseline_81_mb_of_an_m5_large():
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
def test_a_disk_costs_its_size_and_what_is_bought_above(disk, size, iops, mib_per_s, month_usd):
    hourly = EC2.prices.disk_hourly_usd(disk, size, "us-east-1", iops=iops, throughput=mib_per_s)
    assert hourly == pytest.approx(month_usd / 730)


def found(disk, size=4 * KIB, rate=None):
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


def test_nothing_empties_at_the_ceiling_or_below_the_baseline_at_which_a_bucket_fills():
    assert found(limits("aws", "st1", 16384), MIB).lasts_s is None
    told = found(limits("aws", "gp2", 20), rate=99)
    assert (told.begin.iops, told.lasts_s, told.begin.limited_by) == (99, None, "offered")
    gp2 = Allowance(100, 3000, 5_400_000)
    assert balance_after(gp2, 0, 0, 54_000) == 5_400_000
    assert balance_after(gp2, 0, 0, 60, refill_per_s=10) == 600
    assert balance_after(gp2, 0, 3000, 60, owed=100) == -100


def test_a_large_request_counts_as_several_a_small_one_as_the_least():
    gp2 = limits("aws", "gp2", 20).accounting
    assert (gp2.ios(MIB), gp2.bytes(MIB)) == (4, MIB)
    assert (gp2.ios(257 * KIB), gp2.ios(256 * KIB), gp2.ios(512)) == (2, 1, 1)
    st1 = limits("aws", "st1", 500).accounting
    assert (st1.ios(4 * KIB), st1.bytes(4 * KIB), st1.bytes(2 * MIB)) == (1, MIB, 2 * MIB)
    assert (NO_RULE.ios(8 * MIB), NO_RULE.bytes(512)) == (1, 512)


def test_a_device_that_cuts_counts_parts_and_halves_of_what_counts_once_cost_the_whole():
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


SIZES = (
    1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 33, 63, 64, 65, 99, 100, 124, 125, 126, 161, 320, 321, 374, 375,
    376, 499, 500, 501, 512, 513, 1000, 1024, 1025, 2047, 2048, 2049, 4096, 5000, 16_384, 16_385,
    32_767, 32_768, 32_769, 65_536, 65_537,
)  # fmt: skip
IOPS = (
    1, 99, 100, 127, 128, 129, 500, 1999, 2000, 2001, 2499, 2500, 2999, 3000, 3001, 8000, 16_000,
    64_000, 64_001, 80_000, 80_001, 100_000, 120_000, 120_001, 131_072, 160_000, 160_001, 256_000,
    256_001, 350_000, 350_001, 400_000, 400_001,
)  # fmt: skip
RATES = (
    1, 19, 20, 21, 124, 125, 126, 139, 140, 141, 180, 181, 319, 320, 500, 600, 1200, 1999, 2000,
    2001, 2400, 2401, 10_000, 10_001,
)  # fmt: skip


def refused(refusal, check, *asked, **more):
    try:
        check(*asked, **more)
    except refusal:
        return True
    return False


def aws_refuses(kind, size, iops, rate):
    asked = {"VolumeType": kind, "Size": size, "Iops": iops, "Throughput": rate}
    return refused(AwsRefusal, volume_rules.check_volume, asked)


def azure_refuses(kind, size, iops, rate):
    asked = {"diskIOPSReadWrite": iops, "diskMBpsReadWrite": rate}
    given = {name: value for name, value in asked.items() if value is not None}
    return refused(AzureRefusal, disk_rules.figures, kind, size, given)


def gcp_refuses(kind, size, iops, rate):
    asked = (google_type(kind), size, iops, rate, "")
    return refused(GcpRefusal, gcp_disks.checked, *asked, regional=is_regional(kind))


TWICE = [
    f"{name}-regional" for name, sold in gcp_disks.SOLD.items() if sold.zonal and sold.regional_gb
]
CLOUDS = {
    "aws": (aws_refuses, tuple(volume_rules.SOLD)),
    "azure": (azure_refuses, tuple(disk_rules.SKU_TIERS)),
    "gcp": (gcp_refuses, (*gcp_disks.SOLD, *TWICE)),
}
TYPES = [
    (cloud, kind)
    for cloud, (_, kinds) in CLOUDS.items()
    for kind in kinds
    if kind in catalogue(cloud).disks
]
AZURE_SIZES = {size.name: size for size in sizes.SIZES.values()}


def asked_of(cloud, kind):
    """Size, IOPS and throughput: each at, below and above a limit of some type."""
    entry = catalogue(cloud).disks[kind]
    iops = IOPS if entry.iops and entry.iops.provisioned else (None,)
    rates = RATES if entry.throughput and entry.throughput.provisioned else (None,)
    yield from product(SIZES, iops, rates)


@pytest.mark.parametrize(("cloud", "kind"), TYPES)
def test_what_the_catalogue_lets_through_an_emulator_sells_and_nothing_else(cloud, kind):
    of_emulator, _ = CLOUDS[cloud]
    apart = [
        (*asked, refuses)
        for asked in asked_of(cloud, kind)
        if (refuses := refused(UserError, limits, cloud, kind, *asked)) != of_emulator(kind, *asked)
    ]
    assert not apart, f"{kind}: size, IOPS, throughput, refused by the catalogue: {apart[:8]}"


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_type_that_a_catalogue_sells_is_sold_by_an_emulator(cloud):
    rented = {name for name, entry in catalogue(cloud).disks.items() if entry.place == "network"}
    assert rented <= set(CLOUDS[cloud][1])


@pytest.mark.parametrize("kind", disk_types("gcp"))
def test_what_is_provisioned_where_nothing_is_asked_is_sold_at_every_size(kind):
    for size in SIZES:
        try:
            asked = disk_request(RentSpec(disk=kind, size_gib=size))
        except UserError:
            continue
        assert not gcp_refuses(kind, size, asked.iops, asked.throughput_mib_per_s), size


@pytest.mark.parametrize("name", sorted(set(machine_book("gcp").series) & set(gcp_machines.SERIES)))
def test_a_series_takes_the_disks_that_its_emulated_machines_take(name):
    apart = []
    for machine in gcp_machines.SOLD.values():
        if machine.series is not gcp_machines.SERIES[name]:
            continue
        for kind in (*gcp_disks.SOLD, *TWICE):
            asked = GcpDiskRequest(
                kind="local-ssd" if kind == "local-ssd" else "disk", type=kind, interface="nvme"
            )
            takes = not refused(UserError, check_series, machine.name, machine.cpus, asked)
            if kind not in machine_book("gcp").series[name].open and takes != machine.takes(kind):
                apart.append((machine.name, kind, takes))
    assert not apart, f"machine, disk, taken by the catalogue: {apart}"


@pytest.mark.parametrize("name", sorted(set(machine_book("azure").types) & set(AZURE_SIZES)))
def test_a_size_of_azure_sustains_what_its_emulated_one_does(name):
    known, size = machine_book("azure").types[name], AZURE_SIZES[name]
    ours = (known.vcpus, known.memory_gib, known.max_disks, known.iops, known.mb_per_s)
    assert ours == (size.cores, size.memory_gib, size.disks, *(size.uncached or (None, None)))
    month, day, year = size.retires.split("/") if size.retires else ("", "", "")
    assert known.traits.get("retires", "--") == f"{year}-{month}-{day}"


@pytest.mark.parametrize("kind", ["Standard_LRS", "StandardSSD_LRS", "Premium_LRS"])
def test_a_tier_of_azure_has_its_emulated_figures(kind):
    tiers = catalogue("azure").disks[kind].tiers
    ours = [(row.name, row.gib, row.iops, row.throughput) for row in tiers.rows]
    assert ours == [(row.name, row.gib, row.iops, row.mbps) for row in disk_rules.TIERS[kind]]
    plus = [(row.iops, row.throughput) for row in tiers.expanded.rows.values()]
    assert plus == list(disk_rules.PLUS[kind])
    assert list(tiers.expanded.rows) == [row.name for row in tiers.rows[-len(plus) :]]


@pytest.mark.parametrize("name", sorted(set(machine_book("aws").types) & set(INSTANCE_TYPES)))
def test_a_machine_of_aws_sustains_what_its_emulated_one_does(name):
    known, kind = machine_book("aws").types[name], INSTANCE_TYPES[name]
    iops, rate = instance_types.caps(kind)
    assert (known.vcpus, known.iops) == (kind["VCpuInfo"]["DefaultVCpus"], iops)
    assert (known.mb_per_s and known.mb_per_s * 1e6) == rate
