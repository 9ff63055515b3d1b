"""Which of the guest's disks is ours: by the name we chose, by newness, by size."""

import pytest

from diskbench.errors import RentalFailed
from diskbench.providers.gcp import attach
from diskbench.providers.gcp.attach import find_disk, find_local, without_link
from diskbench.providers.gcp.errors import refused
from diskbench.providers.guest import GuestDisk, parse_disks

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
