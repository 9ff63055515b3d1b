"""What can be asked of Google Cloud, what is refused before anybody is called, and which machine
measures a disk without being the limit itself."""

import pytest

from diskbench.errors import UserError
from diskbench.model.options import RentSpec
from diskbench.providers.gcp import offer
from diskbench.providers.gcp.disk_request import GcpDiskRequest, disk_request
from diskbench.providers.gcp.offer import candidates, needs, too_small
from diskbench.providers.options import EmulationOptions


def of(**more: object) -> RentSpec:
    return RentSpec.model_validate({"disk": "pd-ssd", "size_gib": 20, **more})


@pytest.mark.parametrize(
    ("disk", "size_gib", "iops", "sold"),
    [
        ("pd-ssd", 20, None, (None, None)),
        ("hyperdisk-balanced", 100, None, (3600, 290)),
        ("hyperdisk-throughput", 2048, None, (None, 180)),
        ("hyperdisk-balanced", 4, None, (2000, 146)),  # no more than its size sells
        ("hyperdisk-balanced", 500, 3000, (3000, 750)),
    ],
)
def test_what_is_provisioned_is_never_left_to_a_default_of_googles(disk, size_gib, iops, sold):
    asked = disk_request(RentSpec(disk=disk, size_gib=size_gib, iops=iops))
    assert (asked.kind, asked.type, asked.size_gib) == ("disk", disk, size_gib)
    assert (asked.iops, asked.throughput_mib_per_s) == sold


def test_a_local_ssd_has_size_and_interface_and_a_root_disk_may_be_of_the_machines_type():
    assert disk_request(RentSpec(disk="local-ssd")).interface == "nvme"
    scsi = disk_request(RentSpec(disk="local-ssd:scsi"))
    assert (scsi.interface, scsi.size_gib) == ("scsi", 375)
    assert scsi.limits(375) is None, "the catalogue's figures are those over NVMe"
    assert disk_request(RentSpec(disk="root")).type == ""
    assert disk_request(RentSpec(disk="root:pd-ssd", size_gib=50)).type == "pd-ssd"
    assert disk_request(of(endpoint_url="http://127.0.0.1:1", lab=EmulationOptions(noise=0.1)))
    # Google is left to say whether a machine takes the disk.
    for machine in ("n2-standard-64", "n2-custom-64-262144", "x9-standard-4"):
        assert disk_request(of(disk="pd-extreme", size_gib=500, iops=4000, instance_type=machine))


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (None, "needs a disk"),
        (RentSpec(disk="pd-sdd", size_gib=20), "pd-ssd"),
        (RentSpec(disk="pd-ssd"), "needs a size"),
        (of(size_gib=5), "10"),
        (of(iops=5000), "does not accept --iops"),
        (of(throughput_mib_per_s=100), "does not accept --throughput"),
        (RentSpec(disk="pd-extreme", size_gib=500), "needs --iops"),
        (RentSpec(disk="hyperdisk-balanced", size_gib=10, iops=6000), "500"),
        (RentSpec(disk="hyperdisk-balanced", size_gib=10, throughput_mib_per_s=2000), "per IOPS"),
        (of(stripe=True), "--count"),
        (RentSpec(disk="local-ssd", size_gib=100), "375"),
        (RentSpec(disk="local-ssd", iops=5), "local-ssd"),
        (RentSpec(disk="local-ssd", count=25, stripe=True), "24"),
        (RentSpec(disk="local-ssd:sata"), "nvme"),
        (RentSpec(disk="root:pd-extreme"), "pd-balanced"),
        (RentSpec(disk="root", count=2, stripe=True), "one root disk"),
        (RentSpec(disk="root", iops=3000), "type and size"),
        (of(region="us-east"), "--region"),
        (of(zone="us-central1"), "--zone"),
        (of(region="us-east1", zone="us-central1-a"), "not in --region"),
        (of(instance_type="m5.large"), "--instance-type"),
        (of(account="My Project"), "--project"),
        (of(ssh_cidr="10.0.0.0/99"), "network"),
        (of(ssh_cidr="10.0.0.0/8", security_group="mine"), "--security-group"),
        (of(endpoint_url="ftp://x"), "URL"),
        (of(endpoint_url="http://example.com"), "in the clear"),
        (of(endpoint_url="https://example.com/compute"), "path"),
        (of(lab=EmulationOptions(noise=0.1)), "lab"),
    ],
)
def test_what_nobody_sells_is_refused_with_what_is_allowed(spec, says):
    with pytest.raises(UserError) as refused:
        disk_request(spec)
    assert says in f"{refused.value.message} {refused.value.advice}"
    assert refused.value.advice


@pytest.mark.parametrize(
    ("disk", "machine", "says"),
    [
        ("pd-ssd", "n4-standard-4", "does not take pd-ssd"),
        ("pd-standard", "c3-standard-8", "does not take pd-standard"),
        ("hyperdisk-balanced", "n2-standard-8", "C3"),
        ("pd-extreme", "n2-standard-32", "64 vCPUs"),
        ("hyperdisk-extreme", "c3-standard-44", "88 vCPUs"),
        ("local-ssd", "e2-standard-4", "no local SSD"),
        ("local-ssd", "c3-standard-4", "c3-standard-4-lssd"),
        ("local-ssd:scsi", "c3-standard-4-lssd", "NVMe"),
    ],
)
def test_a_machine_that_refuses_the_disk_is_told_before_anybody_is_called(disk, machine, says):
    local = disk.startswith("local-ssd")
    iops = {"pd-extreme": 4000, "hyperdisk-extreme": 40_000}.get(disk)
    spec = RentSpec(disk=disk, size_gib=None if local else 500, iops=iops, instance_type=machine)
    with pytest.raises(UserError) as refused:
        disk_request(spec)
    assert says in f"{refused.value.message} {refused.value.advice}"


def request(disk: str, size_gib: int | None = None, **more: object) -> GcpDiskRequest:
    return disk_request(RentSpec.model_validate({"disk": disk, "size_gib": size_gib, **more}))


@pytest.mark.parametrize(
    ("disk", "size_gib", "chosen"),
    [
        ("pd-standard", 20, "n2-standard-2"),
        ("pd-standard", 256, "n2-standard-2"),
        ("pd-ssd", 20, "n2-standard-8"),  # 250 MiB/s, and two vCPUs let 240 through
        ("pd-ssd", 256, "n2-standard-8"),
        ("hyperdisk-balanced", 20, "n4-standard-2"),
        ("hyperdisk-throughput", 2048, "n4-standard-8"),
    ],
)
def test_the_smallest_machine_that_does_not_limit_the_disk_comes_first(disk, size_gib, chosen):
    assert candidates(request(disk, size_gib), size_gib)[0] == chosen


def test_disks_together_need_a_larger_machine_and_persistent_ones_have_some_once():
    each = {"iops": 20_000, "throughput_mib_per_s": 200}
    asked = request("hyperdisk-balanced", 100, **each, count=3, stripe=True)
    assert needs(asked, 100).read_iops == 60_000
    assert candidates(asked, 100)[0] == "n4-standard-16"
    asked = request("pd-ssd", 256, count=3, stripe=True)
    assert needs(asked, 256).read_iops == 6000 + 30 * 3 * 256
    assert candidates(asked, 256)[0] == "n2-standard-32"


def test_a_disk_as_fast_as_every_machine_or_faster_is_measured_all_the_same():
    assert candidates(request("pd-extreme", 500, iops=4000), 500) == ("n2-standard-64",)
    asked = request("hyperdisk-balanced", 1000, iops=160_000, count=2, stripe=True)
    assert not set(candidates(asked, 1000)) & {"n4-standard-16", "n4-standard-32"}
    asked = request("local-ssd")  # goes by no cap
    assert candidates(asked, 375)[0] == "n2-standard-2"
    assert needs(asked, 375).read_iops == 0
    assert too_small("n2-standard-2", 2, asked, 375) is None
    warning = str(too_small("n2-standard-2", 2, request("pd-ssd", 256), 256))
    assert "240 / 240 MiB/s" in warning
    assert "n2-standard-8 is large enough" in warning
    assert too_small("n2-standard-8", 8, request("pd-ssd", 256), 256) is None
    unknown = too_small("n4-standard-4", 4, request("hyperdisk-throughput", 2048), 2048)
    assert "no limit" in str(unknown)


def test_the_root_disk_is_not_of_the_measured_type_if_there_is_a_choice():
    assert offer.boot_type("n2-standard-4", request("pd-ssd", 20)) == "pd-balanced"
    assert offer.boot_type("n2-standard-4", request("pd-balanced", 20)) == "pd-ssd"
    only = "hyperdisk-balanced"
    assert offer.boot_type("n4-standard-4", request(only, 20)) == only
    assert offer.boot_type("x9-standard-4", request("pd-ssd", 20)) == ""


@pytest.mark.parametrize(
    ("described", "spot", "placed", "needed"),
    [
        ({"name": "n2-standard-8"}, False, False, None),
        ({"name": "n2-standard-8"}, True, False, "TERMINATE"),
        ({"name": "n2-standard-8"}, False, True, "TERMINATE"),
        ({"name": "e2-standard-8"}, False, True, "MIGRATE"),
        ({"name": "e2-standard-8"}, True, False, "TERMINATE"),
        ({"name": "h4d-highmem-192-lssd"}, False, False, "TERMINATE"),
        ({"name": "c4-standard-288-metal"}, False, False, "TERMINATE"),
        ({"name": "z3-highmem-14-standardlssd", "bundledLocalSsds": {"partitionCount": 1}},
         False, True, "MIGRATE"),
        ({"name": "z3-highmem-44-highlssd", "bundledLocalSsds": {"partitionCount": 6}},
         False, False, "MIGRATE"),
        ({"name": "z3-highmem-88-highlssd", "bundledLocalSsds": {"partitionCount": 12}},
         False, False, "TERMINATE"),
        ({"name": "a3-highgpu-8g", "accelerators": [{"guestAcceleratorCount": 8}]},
         False, False, "TERMINATE"),
    ],
)  # fmt: skip
def test_what_becomes_of_a_machine_at_maintenance_follows_from_its_series_and_size(
    described, spot, placed, needed
):
    found = offer.machine({"guestCpus": 8, "memoryMb": 32768, **described})
    assert offer.maintenance(found, spot=spot, placed=placed) == needed
