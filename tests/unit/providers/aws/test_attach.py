"""Which of the guest's disks is ours: by id, by newness, by size; when in doubt none is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.errors import RentalFailed
from diskbench.providers.aws.attach import find_stores, find_volume
from diskbench.providers.guest import GuestDisk, parse_disks
from diskbench.providers.skeleton.handover import AttachedDisk

SIZE = 20 * 2**30
VOLUME = AttachedDisk("vol-0abc", "/dev/sdf", SIZE)
EBS = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0abc"
ROOT = GuestDisk(node="/dev/nvme0n1", number="259:0", size_bytes=2**33, identity="vol0root")
OURS = GuestDisk(
    node="/dev/nvme1n1", number="259:1", size_bytes=SIZE, identity="vol0abc", serial="vol0abc"
)
XEN_ROOT = GuestDisk(node="/dev/xvda", number="202:0", size_bytes=2**33, identity="device/vbd/1")
XEN = GuestDisk(node="/dev/xvdf", number="202:80", size_bytes=SIZE, identity="device/vbd/2")


def changed(disk: GuestDisk, **more: object) -> GuestDisk:
    return disk.model_copy(update=more)


def test_a_listing_is_read_with_its_links():
    found = parse_disks(
        "written\n"
        "disk\t/dev/nvme0n1\t259:0\t16777216\tvol0root\tvol0root\tAmazon Elastic Block Store\n"
        "disk\t/dev/nvme1n1\t7:3\t41943040\t/var/tmp/image\t\t\n"
        f"link\t{EBS}-ns-1\t7:3\n"
        f"link\t{EBS}\t7:3\n"
        "disk\t/dev/sda\t8:0\tnone\t\t\t\n"
    )
    assert [disk.node for disk in found] == ["/dev/nvme0n1", "/dev/nvme1n1"]
    assert found[0].serial == "vol0root"
    assert found[1] == GuestDisk(
        node="/dev/nvme1n1", number="7:3", size_bytes=SIZE, identity="/var/tmp/image",
        links=(EBS, f"{EBS}-ns-1"),
    )  # fmt: skip
    assert found[1].path == EBS


@given(st.text())
def test_any_text_is_a_listing_of_what_it_holds(text):
    assert all(disk.size_bytes >= 0 for disk in parse_disks(text))


def test_a_volume_is_found_by_its_link_without_a_serial_and_by_its_attach_name_on_xen():
    linked = changed(OURS, serial="", identity="/image", links=(EBS, f"{EBS}-ns-1"))
    assert find_volume([ROOT, linked], VOLUME, [ROOT], nvme=True) == linked
    assert find_volume([XEN_ROOT, XEN], VOLUME, [XEN_ROOT], nvme=False) == XEN
    other = changed(OURS, serial="vol0abcd", links=(f"{EBS}d",))
    assert find_volume([ROOT, other], VOLUME, [ROOT], nvme=True) is None


def test_a_disk_that_was_there_before_is_not_ours_and_without_a_listing_only_a_serial_is_proof():
    renamed = changed(XEN, identity="other")
    with pytest.raises(RentalFailed, match="existed before"):
        find_volume([XEN_ROOT, XEN], VOLUME, [XEN_ROOT, renamed], nvme=False)
    assert find_volume([OURS], VOLUME, None, nvme=True) == OURS
    with pytest.raises(RentalFailed, match="no serial"):
        find_volume([XEN], VOLUME, None, nvme=False)


def store(index: int, size_bytes: int = 75 * 10**9) -> GuestDisk:
    return GuestDisk(
        node=f"/dev/nvme{index}n1", number=f"259:{index}", size_bytes=size_bytes,
        identity=f"AWS{index}", serial=f"AWS{index}", model="Amazon EC2 NVMe Instance Storage",
    )  # fmt: skip


def test_instance_stores_come_in_order_and_one_missing_or_of_another_size_is_refused():
    found = find_stores([store(10), ROOT, store(2), store(1)], 2, 75)
    assert [disk.node for disk in found] == ["/dev/nvme1n1", "/dev/nvme2n1"]
    with pytest.raises(RentalFailed, match="shows 1 instance store disks, not 2"):
        find_stores([store(1), ROOT], 2, 75)
    with pytest.raises(RentalFailed, match="EC2 says 75 GB"):
        find_stores([store(1, 10**9)], 1, 75)
