"""Which machine, by what the catalogue and Resource SKUs say of it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.books import SHIPPED

from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.options import RentSpec
from diskbench.providers.azure.disk_request import AzureDiskRequest, AzureMachine, disk_request
from diskbench.providers.azure.machines import (
    Offer,
    candidates,
    check_support,
    machine,
    offer,
    too_small,
)
from diskbench.providers.azure.options import AzureOptions
from diskbench.providers.skeleton.offer import needs

SCSI = {
    "vCPUs": "8", "MemoryGB": "32", "MaxDataDiskCount": "16", "PremiumIO": "True",
    "UncachedDiskIOPS": "12800", "UncachedDiskBytesPerSecond": "192000000",
    "CombinedTempDiskAndCachedIOPS": "16000", "MaxResourceVolumeMB": "65536",
    "CombinedTempDiskAndCachedReadBytesPerSecond": "128000000", "CpuArchitectureType": "x64",
}  # fmt: skip


def sku(name: str = "Standard_D8s_v3", zones: tuple[str, ...] = ("1", "2"), **more: Any) -> dict:
    told = {**SCSI, **more.pop("told", {})}
    return {
        "resourceType": "virtualMachines",
        "name": name,
        "locations": ["EastUS"],
        "locationInfo": [{"location": "eastus", "zones": list(zones)}],
        "capabilities": [{"name": key, "value": value} for key, value in told.items()],
        **more,
    }


def disk_sku(name: str, zones: tuple[str, ...]) -> dict:
    return sku(name, zones, resourceType="disks")


def of(
    disk: str = "Premium_LRS", size: int | None = 256, cache: str | None = None
) -> AzureDiskRequest:
    return disk_request(RentSpec(disk=disk, size_gib=size, azure=AzureOptions(cache=cache)))


def small(asked: AzureDiskRequest, found: AzureMachine) -> str | None:
    need = needs(asked.limits(asked.size_gib or 1))
    return too_small(found, need, asked, None)


def test_a_size_is_read_with_its_limits_in_our_units() -> None:
    found = machine(sku(), SHIPPED.of("azure"))
    assert (found.vcpus, found.memory_bytes, found.max_disks) == (8, 32 * 2**30, 16)
    assert (found.uncached.iops, found.uncached.mb_per_s) == (12_800, 192)
    assert (found.cached.iops, found.cached.mb_per_s) == (16_000, 128)
    assert (found.local_gib, found.local_nvme, found.cacheable) == (64, False, True)


def test_a_size_with_nvme_alone_has_no_host_cache_whatever_figures_it_names() -> None:
    found = machine(
        sku(told={"DiskControllerTypes": "NVMe", "NvmeDiskSizeInMiB": "112640"}),
        SHIPPED.of("azure"),
    )
    assert (found.interface, found.cacheable) == ("nvme", False)
    assert (found.local_gib, found.local_nvme) == (110, True)


def test_what_is_sold_elsewhere_is_not_sold_here() -> None:
    found = offer("westeurope", [sku()])
    assert found == Offer("westeurope", {}, {}, {})


def test_a_size_that_is_barred_in_the_region_is_refused_with_the_reason() -> None:
    barred = {"type": "Location", "reasonCode": "NotAvailableForSubscription"}
    found = offer("eastus", [sku(restrictions=[barred])])
    with pytest.raises(InvalidValue, match="NotAvailableForSubscription"):
        found.machine("Standard_D8s_v3", SHIPPED.of("azure"))


def test_a_size_that_is_misspelt_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName) as refused:
        offer("eastus", [sku()]).machine("Standard_D8_v3", SHIPPED.of("azure"))
    assert "Standard_D8s_v3" in refused.value.advice


def test_a_zone_counts_where_both_machine_and_disk_are() -> None:
    barred = {"type": "Zone", "restrictionInfo": {"zones": ["2"]}}
    found = offer(
        "eastus",
        [
            sku(zones=("3", "1", "2"), restrictions=[barred]),
            disk_sku("PremiumV2_LRS", ("1", "2")),
            disk_sku("Premium_LRS", ()),
        ],
    )
    assert found.zones("Standard_D8s_v3", "PremiumV2_LRS") == ("1",)
    assert found.zones("Standard_D8s_v3", "Premium_LRS") == ("1", "3")
    assert found.all_zones() == ("1", "3")


def test_ultra_disks_are_where_the_size_takes_them() -> None:
    takes = [{"name": ["2"], "capabilities": [{"name": "UltraSSDAvailable", "value": "True"}]}]
    info = [{"location": "eastus", "zones": ["1", "2"], "zoneDetails": takes}]
    found = offer("eastus", [sku(locationInfo=info)])
    assert found.zones("Standard_D8s_v3", "UltraSSD_LRS") == ("2",)


@pytest.mark.parametrize(
    ("asked", "told", "words"),
    [
        (of(), {"PremiumIO": "False"}, "takes no Premium_LRS"),
        (of(cache="readonly"), {"DiskControllerTypes": "NVMe"}, "no host cache"),
        (of("temp-disk", None), {"MaxResourceVolumeMB": "0"}, "no disk of its own"),
        (of("Standard_LRS"), {}, "not sold there"),
    ],
)
def test_a_disk_that_the_machine_cannot_carry_is_refused(
    asked: AzureDiskRequest, told: dict, words: str
) -> None:
    with pytest.raises(InvalidValue, match=words):
        check_support(machine(sku(told=told), SHIPPED.of("azure")), asked, ("Premium_LRS",))


def test_the_default_sustains_more_than_the_disk_may_burst() -> None:
    need = needs(of().limits(256))
    assert (need.iops, need.mb_per_s) == (pytest.approx(4200), pytest.approx(204))
    assert candidates(SHIPPED.of("azure"), need, of())[0] == "Standard_D8s_v5"


def test_a_cached_disk_gets_a_machine_with_a_host_cache() -> None:
    need = needs(of("Standard_LRS", 20).limits(20))
    found = candidates(SHIPPED.of("azure"), need, of("Standard_LRS", 20, cache="readwrite"))
    book = SHIPPED.of("azure").machines.types
    assert found
    assert all({"interface", "cacheable"}.isdisjoint(book[name].traits) for name in found)


def test_a_machine_that_is_too_small_is_told_of_with_both_figures() -> None:
    said = small(of(), machine(sku(), SHIPPED.of("azure")))
    assert said is not None
    assert "192 MB/s (uncached)" in said
    assert "204" in said


def test_on_a_cached_disk_the_cached_limit_counts_as_well() -> None:
    plain, cached = of("Premium_LRS", 20), of("Premium_LRS", 20, cache="readonly")
    found = machine(sku(told={"UncachedDiskBytesPerSecond": "300000000"}), SHIPPED.of("azure"))
    assert small(plain, found) is None
    assert "128 MB/s (cached)" in (small(cached, found) or "")
