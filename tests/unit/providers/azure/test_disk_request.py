"""What is refused before any call: with the value, and what is allowed."""

import pytest
from tests.books import SHIPPED

from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.options import RentSpec
from diskbench.providers.azure.disk_request import disk_request
from diskbench.providers.azure.plugin import AzureOptions
from diskbench.providers.options import EmulationOptions

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
