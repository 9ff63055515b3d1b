"""Google Cloud's machine series: which disks they take, and how fast.

What machines sustain towards their disks, and what things cost.
"""

import pytest
from tests.books import SHIPPED

from diskbench.catalog.lookup import disk_types
from diskbench.catalog.machine_book import machine_book

GCE = machine_book("gcp")


@pytest.mark.parametrize(
    ("name", "vcpus"),
    [
        ("n2-standard-8", 8), ("c3-standard-88-lssd", 88), ("n1-highcpu-8", 8), ("e2-medium", None),
        ("n2-custom-4-8192", None),
    ],
)  # fmt: skip
def test_the_vcpus_of_a_type_are_in_its_name(name: str, vcpus: int | None) -> None:
    assert GCE.vcpus_of(name) == vcpus
    assert GCE.series_of(name) is GCE.series[name.partition("-")[0]]


@pytest.mark.parametrize(
    ("series", "disk"),
    [("n4", "pd-ssd"), ("c4", "pd-balanced"), ("c3", "pd-standard"), ("e2", "pd-extreme")],
)
def test_newer_series_refuse_older_disks(series: str, disk: str) -> None:
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
