"""Which machine, by what the catalogue and Resource SKUs say of it."""

import pytest
from tests.books import SHIPPED

from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.options import RentSpec
from diskbench.providers.azure import machines as azure
from diskbench.providers.azure.disk_request import DiskPath, disk_request
from diskbench.providers.azure.machines import candidates, offer, too_small
from diskbench.providers.azure.plugin import AzureOptions
from diskbench.providers.skeleton.offer import needs

BOOK = SHIPPED.of("azure")
SCSI = {
    "vCPUs": "8", "MemoryGB": "32", "MaxDataDiskCount": "16", "PremiumIO": "True",
    "UncachedDiskIOPS": "12800", "UncachedDiskBytesPerSecond": "192000000",
    "CombinedTempDiskAndCachedIOPS": "16000", "MaxResourceVolumeMB": "65536",
    "CombinedTempDiskAndCachedReadBytesPerSecond": "128000000", "CpuArchitectureType": "x64",
}  # fmt: skip


def sku(name="Standard_D8s_v3", zones=("1", "2"), **more):
    told = {**SCSI, **more.pop("told", {})}
    capabilities = [{"name": key, "value": value} for key, value in told.items()]
    info = [{"location": "eastus", "zones": list(zones)}]
    usual = {"resourceType": "virtualMachines", "name": name, "locations": ["EastUS"]}
    return {**usual, "locationInfo": info, "capabilities": capabilities, **more}


def read(told=None, name="Standard_D8s_v3"):
    return azure.machine(sku(name, told=told or {}), BOOK)


def of(disk="Premium_LRS", size=256, cache=None):
    return disk_request(RentSpec(disk=disk, size_gib=size, azure=AzureOptions(cache=cache)))


def small(asked, found):
    return too_small(found, needs(asked.limits(asked.size_gib or 1)), asked, None)


def test_a_size_is_read_with_its_limits_in_our_units_and_the_date_when_azure_retires_it():
    found = read()
    assert (found.vcpus, found.memory_bytes, found.max_disks) == (8, 32 * 2**30, 16)
    assert (found.uncached.iops, found.uncached.mb_per_s) == (12_800, 192)
    assert (found.cached.iops, found.cached.mb_per_s) == (16_000, 128)
    assert (found.local_gib, found.local_nvme, found.cacheable) == (64, False, True)
    # One with NVMe alone has no host cache, whatever figures it names.
    found = read({"DiskControllerTypes": "NVMe", "NvmeDiskSizeInMiB": "112640"})
    assert (found.interface, found.cacheable) == ("nvme", False)
    assert (found.local_gib, found.local_nvme) == (110, True)
    assert read({"RetirementDateUtc": "11/15/2028"}).retires == "2028-11-15"
    assert read(name="Standard_F4s_v2").retires == "2028-11-15"
    assert read().retires is None


def test_a_size_that_is_barred_sold_elsewhere_or_misspelt_is_refused_with_the_reason():
    assert offer("westeurope", [sku()]) == azure.Offer("westeurope", {}, {}, {})
    barred = {"type": "Location", "reasonCode": "NotAvailableForSubscription"}
    found = offer("eastus", [sku(restrictions=[barred])])
    with pytest.raises(InvalidValue, match="NotAvailableForSubscription"):
        found.machine("Standard_D8s_v3", BOOK)
    with pytest.raises(UnknownName) as refused:
        offer("eastus", [sku()]).machine("Standard_D8_v3", BOOK)
    assert "Standard_D8s_v3" in refused.value.advice


def test_a_zone_counts_where_both_machine_and_disk_are():
    barred = {"type": "Zone", "restrictionInfo": {"zones": ["2"]}}
    disks = {"PremiumV2_LRS": ("1", "2"), "Premium_LRS": ()}
    sold = [sku(name, zones, resourceType="disks") for name, zones in disks.items()]
    found = offer("eastus", [sku(zones=("3", "1", "2"), restrictions=[barred]), *sold])
    assert found.zones("Standard_D8s_v3", "PremiumV2_LRS") == ("1",)
    assert found.zones("Standard_D8s_v3", "Premium_LRS") == ("1", "3")
    assert found.all_zones() == ("1", "3")
    # Ultra disks are where the size takes them.
    takes = [{"name": ["2"], "capabilities": [{"name": "UltraSSDAvailable", "value": "True"}]}]
    info = [{"location": "eastus", "zones": ["1", "2"], "zoneDetails": takes}]
    found = offer("eastus", [sku(locationInfo=info)])
    assert found.zones("Standard_D8s_v3", "UltraSSD_LRS") == ("2",)


@pytest.mark.parametrize(
    ("asked", "told", "words"),
    [
        (of(), {"PremiumIO": "False"}, "does not support Premium_LRS"),
        (of(cache="readonly"), {"DiskControllerTypes": "NVMe"}, "no host cache"),
        (of("temp-disk", None), {"MaxResourceVolumeMB": "0"}, "no disk of its own"),
        (of("Standard_LRS"), {}, "not sold in this region"),
    ],
)
def test_a_disk_that_the_machine_cannot_carry_is_refused(asked, told, words):
    with pytest.raises(InvalidValue, match=words):
        azure.check_support(read(told), asked, ("Premium_LRS",))


def chosen(asked, **more):
    """The catalogue's machines for a disk, the best first."""
    need = needs(asked.limits(asked.size_gib or 1), asked.count)
    return candidates(BOOK, azure.of_book(BOOK), need, asked, **more)


TEN = {
    "P10": (RentSpec(disk="Premium_LRS", size_gib=128), "Standard_E4bs_v5", 4),
    "P30": (RentSpec(disk="Premium_LRS", size_gib=1024), "Standard_E4bs_v5", 4),
    "P30 bursting": (
        RentSpec(disk="Premium_LRS", size_gib=1024, azure=AzureOptions(bursting=True)),
        "Standard_E16bs_v5", 16,
    ),
    "P80": (RentSpec(disk="Premium_LRS", size_gib=32767), "Standard_E16bs_v5", 16),
    "E10": (RentSpec(disk="StandardSSD_LRS", size_gib=128), "Standard_E4bs_v5", 4),
    "S10": (RentSpec(disk="Standard_LRS", size_gib=128), "Standard_D2as_v6", 2),
    "PremiumV2 of its free rate":
        (RentSpec(disk="PremiumV2_LRS", size_gib=100), "Standard_E2bs_v5", 2),
    "PremiumV2 of 20,000": (
        RentSpec(disk="PremiumV2_LRS", size_gib=100, iops=20_000, throughput_mib_per_s=600),
        "Standard_E16bs_v5", 16,
    ),
    "Ultra of 50,000": (
        RentSpec(disk="UltraSSD_LRS", size_gib=100, iops=50_000, throughput_mib_per_s=2000),
        "Standard_E32bs_v5", 32,
    ),
    "temporary": (RentSpec(disk="temp-disk"), "Standard_D2ds_v5", 2),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "size", "vcpus"), TEN.values(), ids=TEN)
def test_the_default_is_the_smallest_machine_that_does_not_limit_the_disk(spec, size, vcpus):
    asked = disk_request(spec)
    best = chosen(asked)[0]
    assert (best.size, best.vcpus) == (size, vcpus)
    assert small(asked, best) is None


def test_a_family_with_quota_left_goes_before_a_smaller_machine_without():
    asked = disk_request(TEN["P10"][0])
    found = [one.model_copy(update={"family": one.size[9:10]}) for one in chosen(asked)]
    need = needs(asked.limits(128))
    assert found[0].size == "Standard_E4bs_v5"
    best = candidates(BOOK, found, need, asked, {"e": 3, "d": 10, "cores": 10})[0]
    assert (best.size, best.vcpus) == ("Standard_D8s_v5", 8)
    assert candidates(BOOK, found, need, asked, {"e": 1, "d": 1, "cores": 1})[0] == found[0]


@pytest.mark.parametrize(
    "size", ["NC4as_T4_v3", "DC4as_v5", "E104is_v5", "E8-2s_v5", "M64s", "HB120rs_v3", "B4ms"]
)
def test_what_is_dear_or_needs_another_image_is_never_the_default(size):
    told = {"UncachedDiskIOPS": "999999", "UncachedDiskBytesPerSecond": "9999000000"}
    machines = [read(told, f"Standard_{size}")]
    assert candidates(BOOK, machines, needs(of().limits(256)), of()) == []


def test_a_cached_disk_gets_a_machine_with_a_host_cache_whose_limit_is_known_if_any():
    asked = of("Standard_LRS", 20, cache="readwrite")
    found, types = chosen(asked), BOOK.machines.types
    assert found
    assert all({"interface", "cacheable"}.isdisjoint(types[one.size].traits) for one in found)
    known = read({"vCPUs": "4"}, "Standard_D8ds_v5")
    unknown = read({"vCPUs": "2"}, "Standard_D8s_v5").model_copy(update={"cached": DiskPath()})
    found = candidates(BOOK, [unknown, known], needs(asked.limits(20)), asked)
    assert [one.size for one in found] == [known.size, unknown.size]


def test_a_machine_too_small_is_told_with_both_figures_and_on_a_cached_disk_by_both():
    said = small(of(), read()) or ""
    assert "192 MB/s (uncached)" in said
    assert "204" in said
    plain, cached = of("Premium_LRS", 20), of("Premium_LRS", 20, cache="readonly")
    found = read({"UncachedDiskBytesPerSecond": "300000000"})
    assert small(plain, found) is None
    assert "128 MB/s (cached)" in (small(cached, found) or "")
