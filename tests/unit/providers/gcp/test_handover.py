"""What Google made is what was asked for, in every value it tells; else nothing is measured.
Which of the guest's disks is ours: by the name we chose, by newness, by size."""

import copy

import pytest

from diskbench.errors import RentalFailed
from diskbench.providers.gcp import attach, handover
from diskbench.providers.gcp import disk_request as wanted
from diskbench.providers.gcp.attach import find_disk, find_local, without_link
from diskbench.providers.gcp.errors import refused
from diskbench.providers.guest import GuestDisk, parse_disks

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
INSTANCE = {
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
DISK = {
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


SIZE = 20 * 2**30
LINK = "/dev/disk/by-id/google-diskbench-0"
ROOT = GuestDisk(node="/dev/sda", number="8:0", size_bytes=2**33, identity="root")
OURS = GuestDisk(
    node="/dev/sdb", number="8:16", size_bytes=SIZE, identity="t10.Google", links=(LINK,)
)
NVME = """disk\t/dev/nvme0n1\t259:0\t20971520\tnvme_card-pd\tnvme_card-pd\tnvme_card-pd\tnvme.01
disk\t/dev/nvme0n2\t259:1\t41943040\tnvme_card-pd\tnvme_card-pd\tnvme_card-pd\tnvme.02
link\t/dev/disk/by-id/google-persistent-disk-0\t259:0
link\t/dev/disk/by-id/google-diskbench-0\t259:1
"""


def test_a_disk_is_found_by_its_attached_name_and_namespaces_of_one_controller_by_their_wwn():
    assert OURS.path == LINK
    assert find_disk([ROOT, OURS], "diskbench-0", SIZE, [ROOT]) == OURS
    assert find_disk([ROOT, OURS], "diskbench-1", SIZE, [ROOT]) is None
    early = OURS.model_copy(update={"identity": ""})
    assert find_disk([early], "diskbench-0", SIZE, ()) is None, "udev has not stored it yet"
    other = "/dev/disk/by-id/google-a"
    found = find_disk([OURS.model_copy(update={"links": (other, LINK)})], "diskbench-0", SIZE, [])
    assert found.links == (LINK, other), "our link goes before others"
    disks = parse_disks(NVME)
    assert disks[0].identity == disks[1].identity
    found = find_disk(disks, "diskbench-0", SIZE, attach.with_unique_identity(disks[:1]))
    assert (found.node, found.identity) == ("/dev/nvme0n2", "nvme.02")


def test_a_new_disk_without_googles_link_is_told_with_what_to_do():
    bare = OURS.model_copy(update={"links": ("/dev/disk/by-id/wwn-0x1",)})
    found = without_link([ROOT, bare], SIZE, [ROOT])
    error = refused("disk without a link", disk=found, link=LINK, limit_s=attach.LINK_S)
    for says in (f"/dev/sdb ({SIZE:,} bytes) appeared", LINK):
        assert says in error.message
    assert "choose an --image with Google's guest environment" in error.advice
    assert without_link([ROOT, OURS], SIZE, [ROOT]) is None, "it has its link"
    assert without_link([ROOT, bare], SIZE + 512, [ROOT]) is None, "it is another disk"
    assert without_link([ROOT, bare], SIZE, [ROOT, bare]) is None, "it was there before"


def local(index: int, interface: str = "nvme", size: int = 375 * 2**30) -> GuestDisk:
    name = {"nvme": "local-nvme-ssd", "scsi": "local-ssd"}[interface]
    return GuestDisk(
        node=f"/dev/nvme1n{index + 1}", number=f"259:{index}", size_bytes=size,
        identity="nvme_card", wwn=f"nvme.{index}",
        links=(f"/dev/disk/by-id/google-{name}-{index}",),
    )  # fmt: skip


def test_the_machines_own_disks_come_in_order():
    found = find_local([local(1), ROOT, local(0)], 2, "nvme")
    assert [disk.identity for disk in found] == ["nvme.0", "nvme.1"]
    assert find_local([local(0, "scsi")], 1, "scsi")


@pytest.mark.parametrize(
    ("disks", "says"),
    [([], "0 of 1 local SSDs"), ([local(1)], "0 of 1 local SSDs"),
     ([local(0, "scsi")], "0 of 1 local SSDs"), ([local(0, size=2**30)], "bytes")],
)  # fmt: skip
def test_a_machine_without_the_disks_it_should_have_is_refused(disks, says):
    with pytest.raises(RentalFailed, match=says):
        find_local(disks, 1, "nvme")
