"""What is refused before any call: with the value, and what is allowed. Which machine, by what the
catalogue and Resource SKUs say of it."""

import pytest
from tests.books import SHIPPED

from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.options import RentSpec
from diskbench.providers.azure import machines as azure
from diskbench.providers.azure.disk_request import DiskPath, disk_request
from diskbench.providers.azure.machines import candidates, offer, too_small
from diskbench.providers.azure.plugin import AzureOptions
from diskbench.providers.options import EmulationOptions
from diskbench.providers.skeleton.offer import needs

ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft."


def asked(disk="Premium_LRS", size=256, **more):
    own = {name: more.pop(name) for name in AzureOptions.model_fields if name in more}
    return RentSpec(disk=disk, size_gib=size, azure=AzureOptions(**own), **more)


ULTRA = {"disk": "UltraSSD_LRS", "size": 64, "iops": 500, "throughput_mib_per_s": 9}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (asked(disk=None), "needs a disk"),
        (asked(size=None), "needs a size"),
        (asked(size=40_000), "40,000"),
        (asked(iops=500), "--iops"),
        (asked("Standard_LRS", throughput_mib_per_s=100), "--throughput"),
        (asked("PremiumV2_LRS", 20, iops=90_000), "90,000"),
        (asked("PremiumV2_LRS", 4, iops=4000), "4,000"),
        (asked("PremiumV2_LRS", 20, iops=3000, throughput_mib_per_s=900), "900"),
        (asked("PremiumV2_LRS", 20, iops=3000, throughput_mib_per_s=130.5), "whole MB/s"),
        (asked("UltraSSD_LRS", 4, iops=5000, throughput_mib_per_s=100), "5,000"),
        (asked("PremiumV2_LRS", 20, cache="readonly"), "PremiumV2_LRS has no host cache"),
        (asked(**ULTRA, cache="readwrite"), "no host cache"),
        (asked(size=4096, cache="readonly"), "4,096 GiB"),
        (asked("Standard_LRS", 8192, cache="readwrite"), "8,192 GiB"),
        (asked(performance_tier="P10"), "P10 is below P15"),
        (asked(performance_tier="P60"), "P60 cannot be used with 256 GiB"),
        (asked("Standard_LRS", performance_tier="P30"), "cannot be used with Standard_LRS"),
        (asked(bursting=True), "bursting cannot be used with 256 GiB"),
        (asked("StandardSSD_LRS", 1024, bursting=True), "cannot be used with StandardSSD_LRS"),
        (asked(performance_plus=True), "performance-plus cannot be used with 256 GiB"),
        (asked("PremiumV2_LRS", 1024, performance_plus=True), "plus cannot be used with Premium"),
        (asked("root", 1024, performance_plus=True), "plus cannot be used with --disk root"),
        (asked(size=1024, performance_plus=True, performance_tier="P40"), "--performance-tier"),
        (asked(**ULTRA, snapshot=f"{ID}Compute/snapshots/s"), "Azure makes them empty only"),
        (asked("root:UltraSSD_LRS"), "cannot start from UltraSSD_LRS"),
        (asked("root", count=2, stripe=True), "one root disk"),
        (asked("temp-disk"), "--size 256 cannot be used with"),
        (asked("root", None, snapshot=f"{ID}Compute/snapshots/s"), "--from-snapshot"),
        (asked("temp-disk", None, snapshot=f"{ID}Compute/snapshots/s"), "--from-snapshot"),
        (asked("instance-store", None, cache="readonly"), "--cache readonly cannot be used with"),
        (asked(stripe=True), "several disks"),
        (asked(count=65, stripe=True), "65 is too many"),
        (asked(region="West Europe"), "--region 'West Europe'"),
        (asked(zone="eastus-1"), "--zone 'eastus-1'"),
        (asked(instance_type="D4s v5"), "--instance-type 'D4s v5'"),
        (asked(account="mine"), "--subscription 'mine'"),
        (asked(subnet="default"), "--subnet 'default'"),
        (asked(security_group="mine"), "--security-group 'mine'"),
        (asked(ssh_cidr="here"), "'here' is not a network"),
        (asked(ssh_cidr="::1/128", security_group=f"{ID}Network/networkSecurityGroups/n"), "--ssh"),
        (asked(endpoint_url="http://127.0.0.1:1"), "https only"),
        (asked(lab=EmulationOptions(time_scale=60)), "lab's options"),
    ],
)
def test_what_azure_does_not_sell_is_refused_with_the_value(spec, words):
    with pytest.raises(InvalidValue, match=words) as refused:
        disk_request(spec)
    assert refused.value.advice


@pytest.mark.parametrize(
    ("spec", "near"),
    [
        (asked("Premium_LSR"), "Premium_LRS"),
        (asked(cache="read-only"), "readonly"),
        (asked(performance_tier="P31"), "P30"),
        (asked("root:Premium"), "Premium_LRS"),
    ],
)
def test_a_name_that_is_misspelt_is_answered_with_the_nearest(spec, near):
    with pytest.raises(UnknownName) as refused:
        disk_request(spec)
    assert near in refused.value.advice


def test_without_a_word_there_is_no_host_cache_and_the_largest_is_just_below_four_tib():
    assert disk_request(asked()).caching == "None"
    assert disk_request(asked("root", None)).caching == "None"
    assert disk_request(asked("temp-disk", None)).caching is None
    assert disk_request(asked(size=4095, cache="readwrite")).caching == "ReadWrite"
    found, iops, _ = limits_of(asked(size=64, performance_tier="p30"))
    assert (found.tier, found.size_gib, iops.baseline) == ("P30", 64, 5000)
    _, iops, throughput = limits_of(asked(size=1024, bursting=True))
    assert (iops.baseline, iops.ceiling, iops.capacity) == (5000, 30_000, None)
    assert throughput.ceiling == 1000e6


def limits_of(spec):
    """The limits of one disk, and its IOPS and throughput."""
    found = disk_request(spec).limits(spec.size_gib or 1)
    (pool,) = found.pools
    return found, pool.iops, pool.bytes_per_s


@pytest.mark.parametrize(
    ("disk", "limits"),
    [
        *((f"Premium_{kind}", (16_000, 600e6)) for kind in ("LRS", "ZRS")),
        *((f"Standard{kind}", (3000, 300e6)) for kind in ("SSD_LRS", "SSD_ZRS", "_LRS")),
    ],
)
def test_performance_plus_raises_the_limits_of_a_size(disk, limits):
    _, iops, throughput = limits_of(asked(disk, size=2048, performance_plus=True))
    assert (iops.ceiling, throughput.ceiling) == limits


def test_a_disk_is_priced_by_its_tier_or_by_what_is_provisioned_and_else_has_no_price():
    book = SHIPPED.of("azure").prices
    premium = book.disk_hourly_usd("Premium_LRS", 256, "eastus", tier="P15")
    ultra = book.disk_hourly_usd("UltraSSD_LRS", 100, "eastus", iops=1000, throughput=10)
    assert premium == pytest.approx(38.012142 / 730)
    assert ultra == pytest.approx((11.97 + 49.64 + 3.495) / 730)
    assert book.disk_hourly_usd("PremiumV2_LRS", 20, "eastus") is None
    assert book.disk_hourly_usd("Premium_LRS", 256, "westeurope", tier="P15") is None
    assert book.machine_hourly_usd("Standard_GS5", "eastus") is None


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
