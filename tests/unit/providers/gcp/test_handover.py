"""What Google made is what was asked for, in every value it tells; else nothing is measured."""

import copy
from typing import Any

import pytest

from diskbench.errors import RentalFailed
from diskbench.providers.gcp import disk_request as wanted
from diskbench.providers.gcp import handover

ZONE = "us-central1-a"
URL = f"https://www.googleapis.com/compute/v1/projects/p/zones/{ZONE}"
DETAILS = wanted.GcpResolved(
    project="p", region="us-central1", size_gib=100, boot_type="hyperdisk-balanced",
    requested=wanted.GcpDiskRequest(
        kind="disk", type="hyperdisk-balanced", iops=4000, throughput_mib_per_s=250.0
    ),
    machine=wanted.GcpMachine(
        type="n4-standard-4", arch="x86_64", vcpus=4, memory_bytes=2**34, max_disks=16
    ),
    image=wanted.GcpImage(
        link="projects/u/global/images/i", name="i", arch="x86_64", root_gib=10, user="u"
    ),
    network=wanted.GcpNetwork(network="projects/p/global/networks/default"),
    zones=(ZONE,), ssh_cidr="203.0.113.7/32", emulated=False,
)  # fmt: skip
INSTANCE: dict[str, Any] = {
    "id": "123", "name": "m", "zone": URL, "machineType": f"{URL}/machineTypes/n4-standard-4",
    "creationTimestamp": "2026-11-21T00:00:00Z",
    "scheduling": {"instanceTerminationAction": "DELETE", "maxRunDuration": {"seconds": "60"}},
    "metadata": {"items": [{"key": "enable-oslogin", "value": "FALSE"}]},
    "disks": [
        {"boot": True, "autoDelete": True, "deviceName": "persistent-disk-0"},
        {
            "autoDelete": True, "deviceName": "diskbench-0", "interface": "NVME",
            "source": f"{URL}/disks/d",
        },
    ],
}  # fmt: skip
DISK: dict[str, Any] = {
    "id": "9", "name": "d", "zone": URL, "type": f"{URL}/diskTypes/hyperdisk-balanced",
    "sizeGb": "100", "provisionedIops": "4000", "provisionedThroughput": "250",
    "physicalBlockSizeBytes": "4096",
}  # fmt: skip


def test_what_is_as_asked_or_not_told_passes_and_its_record_says_what_was_measured():
    handover.check(DETAILS, ZONE, INSTANCE, [DISK])
    handover.check(DETAILS, ZONE, INSTANCE, [{key: DISK[key] for key in ("name", "zone")}])
    found = handover.facts(DETAILS, ZONE, INSTANCE, [DISK], [])
    assert found["instance_id"] == "123"
    (volume,) = found["volumes"]
    told = [volume[name] for name in ("type", "iops", "attached_as", "ends_with_machine")]
    assert told == ["hyperdisk-balanced", 4000, "diskbench-0", True]
    assert "metadata" not in found
    own = wanted.GcpDiskRequest(kind="local-ssd", type="local-ssd", size_gib=375, count=2)
    details = DETAILS.model_copy(update={"requested": own, "size_gib": 375})
    instance = copy.deepcopy(INSTANCE)
    instance["disks"] += [{"type": "SCRATCH", "interface": "SCSI", "autoDelete": True}]
    with pytest.raises(RentalFailed) as refused:
        handover.check(details, ZONE, instance, [])
    for says in ("is SCSI, but NVME was requested", "has 1 local SSD, not the 2 requested"):
        assert says in refused.value.message


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("type", f"{URL}/diskTypes/pd-ssd", "type of disk us-central1-a/d is pd-ssd"),
        ("sizeGb", "101", "size in GiB"),
        ("provisionedIops", "3999", "IOPS"),
        ("provisionedThroughput", "140", "throughput in MiB/s"),
        ("zone", URL.replace("-a", "-b"), "zone"),
        ("sourceImage", "projects/p/global/images/old", "empty"),
    ],
)
def test_a_disk_that_is_another_is_refused_with_both_values(path, value, says):
    with pytest.raises(RentalFailed, match="something other than") as refused:
        handover.check(DETAILS, ZONE, INSTANCE, [{**DISK, path: value}])
    assert says in refused.value.message


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda i: i.update(machineType=f"{URL}/machineTypes/n4-standard-2"), "machine type"),
        (lambda i: i["scheduling"].update(instanceTerminationAction="STOP"), "is STOP"),
        (lambda i: i["scheduling"].pop("maxRunDuration"), "has no end"),
        (lambda i: i["metadata"]["items"][0].update(value="TRUE"), "OS Login"),
        (lambda i: i["disks"][1].pop("autoDelete"), "deletion of diskbench-0 with it"),
    ],
)
def test_a_machine_that_is_another_is_refused(change, says):
    instance = copy.deepcopy(INSTANCE)
    change(instance)
    with pytest.raises(RentalFailed) as refused:
        handover.check(DETAILS, ZONE, instance, [DISK])
    assert says in refused.value.message
