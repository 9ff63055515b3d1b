"""What can be asked of Google Cloud, and what is refused before anybody is called."""

import pytest

from diskbench.errors import UserError
from diskbench.model.options import RentSpec
from diskbench.providers.gcp.disk_request import disk_request
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
