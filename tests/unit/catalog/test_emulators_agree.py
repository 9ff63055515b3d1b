"""The catalogue and the emulators' own tables are two readings of the same documents: where they
disagree on what is sold, one of them is wrong."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from emulators.aws import instance_types, volume_rules
from emulators.aws.call import Refusal as AwsRefusal
from emulators.azure import disk_rules, sizes
from emulators.azure.call import Refusal as AzureRefusal
from emulators.gcp import disk_types as gcp_disks
from emulators.gcp import machine_types as gcp_machines
from emulators.gcp.call import Refusal as GcpRefusal
from moto.ec2.models.instance_types import INSTANCE_TYPES

from diskbench.catalog.entry import catalogue
from diskbench.catalog.lookup import disk_types, limits
from diskbench.catalog.machine_book import machine_book
from diskbench.errors import UserError
from diskbench.model.options import RentSpec
from diskbench.providers.gcp.disk_request import GcpDiskRequest, check_series, disk_request
from diskbench.providers.gcp.requests import google_type, is_regional

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


def refused(refusal: type[Exception], check: Callable[..., Any], *asked: Any, **more: Any) -> bool:
    try:
        check(*asked, **more)
    except refusal:
        return True
    return False


def aws_refuses(kind: str, size: int, iops: int | None, rate: int | None) -> bool:
    asked: dict[str, Any] = {"VolumeType": kind, "Size": size, "Iops": iops, "Throughput": rate}
    return refused(AwsRefusal, volume_rules.check_volume, asked)


def azure_refuses(kind: str, size: int, iops: int | None, rate: int | None) -> bool:
    asked = {"diskIOPSReadWrite": iops, "diskMBpsReadWrite": rate}
    given = {name: value for name, value in asked.items() if value is not None}
    return refused(AzureRefusal, disk_rules.figures, kind, size, given)


def gcp_refuses(kind: str, size: int, iops: int | None, rate: int | None) -> bool:
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


def asked_of(cloud: str, kind: str) -> Iterator[tuple[int, int | None, int | None]]:
    """Size, IOPS and throughput: each at, below and above a limit of some type."""
    entry = catalogue(cloud).disks[kind]
    iops = IOPS if entry.iops and entry.iops.provisioned else (None,)
    rates = RATES if entry.throughput and entry.throughput.provisioned else (None,)
    yield from product(SIZES, iops, rates)


def refuses(cloud: str, kind: str, size: int, iops: int | None, rate: int | None) -> bool:
    """Whether the catalogue says that this is not sold."""
    return refused(UserError, limits, cloud, kind, size, iops, rate)


@pytest.mark.parametrize(("cloud", "kind"), TYPES)
def test_what_the_catalogue_lets_through_an_emulator_sells_and_nothing_else(cloud, kind):
    of_emulator, _ = CLOUDS[cloud]
    apart = [
        (size, iops, rate, refuses(cloud, kind, size, iops, rate))
        for size, iops, rate in asked_of(cloud, kind)
        if refuses(cloud, kind, size, iops, rate) != of_emulator(kind, size, iops, rate)
    ]
    assert not apart, f"{kind}: size, IOPS, throughput, refused by the catalogue: {apart[:8]}"


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_type_that_a_catalogue_sells_is_sold_by_an_emulator(cloud: str) -> None:
    rented = {name for name, entry in catalogue(cloud).disks.items() if entry.place == "network"}
    assert rented <= set(CLOUDS[cloud][1])


@pytest.mark.parametrize("kind", disk_types("gcp"))
def test_what_is_provisioned_where_nothing_is_asked_is_sold_at_every_size(kind: str) -> None:
    for size in SIZES:
        try:
            asked = disk_request(RentSpec(disk=kind, size_gib=size))
        except UserError:
            continue
        assert not gcp_refuses(kind, size, asked.iops, asked.throughput_mib_per_s), size


@pytest.mark.parametrize("name", sorted(set(machine_book("gcp").series) & set(gcp_machines.SERIES)))
def test_a_series_takes_the_disks_that_its_emulated_machines_take(name: str) -> None:
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
def test_a_size_of_azure_sustains_what_its_emulated_one_does(name: str) -> None:
    known, size = machine_book("azure").types[name], AZURE_SIZES[name]
    ours = (known.vcpus, known.memory_gib, known.max_disks, known.iops, known.mb_per_s)
    assert ours == (size.cores, size.memory_gib, size.disks, *(size.uncached or (None, None)))
    month, day, year = size.retires.split("/") if size.retires else ("", "", "")
    assert known.traits.get("retires", "--") == f"{year}-{month}-{day}"


@pytest.mark.parametrize("kind", ["Standard_LRS", "StandardSSD_LRS", "Premium_LRS"])
def test_a_tier_of_azure_has_its_emulated_figures(kind: str) -> None:
    tiers = catalogue("azure").disks[kind].tiers
    ours = [(row.name, row.gib, row.iops, row.throughput) for row in tiers.rows]
    assert ours == [(row.name, row.gib, row.iops, row.mbps) for row in disk_rules.TIERS[kind]]
    plus = [(row.iops, row.throughput) for row in tiers.expanded.rows.values()]
    assert plus == list(disk_rules.PLUS[kind])
    assert list(tiers.expanded.rows) == [row.name for row in tiers.rows[-len(plus) :]]


@pytest.mark.parametrize("name", sorted(set(machine_book("aws").types) & set(INSTANCE_TYPES)))
def test_a_machine_of_aws_sustains_what_its_emulated_one_does(name: str) -> None:
    known, kind = machine_book("aws").types[name], INSTANCE_TYPES[name]
    iops, rate = instance_types.caps(kind)
    assert (known.vcpus, known.iops) == (kind["VCpuInfo"]["DefaultVCpus"], iops)
    assert (known.mb_per_s and known.mb_per_s * 1e6) == rate
