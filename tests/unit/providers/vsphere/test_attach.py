"""Which of the guest's disks is ours: by identifier, newness and size; by appearing on NVMe."""

import pytest

from diskbench.errors import RentalFailed
from diskbench.providers.guest import GuestDisk
from diskbench.providers.skeleton.handover import AttachedDisk
from diskbench.providers.vsphere.attach import NVME_MODEL, find_disks, reachable, wwn_of

UUID = "6000C29f-1111-2222-3333-444455556666"
OURS = AttachedDisk(UUID, "2000", 2**30)
WWN = "6000c29f111122223333444455556666"
ROOT = GuestDisk(node="/dev/sda", number="8:0", size_bytes=2**33, identity="naa.1")


def disk(node="/dev/sdb", number="8:16", size=2**30, **more):
    more.setdefault("links", (f"/dev/disk/by-id/wwn-0x{WWN}",))
    more.setdefault("identity", f"naa.{WWN}")
    return GuestDisk(node=node, number=number, size_bytes=size, **more)


def nvme(node="/dev/nvme0n1", number="259:0", size=2**30):
    return disk(node, number, size, links=(), identity="VMware NVME_0000", model=NVME_MODEL)


def test_disks_are_known_by_their_uuid_and_come_in_the_order_they_were_asked_for():
    assert find_disks([ROOT, disk()], [OURS], [ROOT], "pvscsi") == (disk(),)
    by_wwn = disk(links=())
    assert find_disks([ROOT, by_wwn], [OURS], [ROOT], "pvscsi") == (by_wwn,)
    other = AttachedDisk(UUID.replace("C29f", "C29e"), "2001", 2**30)
    second = disk("/dev/sdc", "8:32", links=(), identity=f"naa.{wwn_of(other)}")
    assert find_disks([disk(), second], [other, OURS], [], "lsi") == (second, disk())
    own = nvme("/dev/nvme0n1", "259:0", 2**33)
    ours = nvme("/dev/nvme1n1", "259:3")
    assert find_disks([own, ours], [OURS], [own], "nvme") == (ours,)
    assert find_disks([own], [OURS], [own], "nvme") is None


@pytest.mark.parametrize(
    ("found", "before", "told"),
    [
        ([nvme()], None, "no identifier"),
        ([nvme(), nvme("/dev/nvme1n1", "259:3")], [], "2 disks appeared"),
        ([nvme(size=2**31)], [], "has 2,147,483,648 bytes"),
    ],
)
def test_on_nvme_what_is_not_certain_is_not_taken(found, before, told):
    with pytest.raises(RentalFailed, match=told):
        find_disks(found, [OURS], before, "nvme")


def test_an_address_of_one_link_only_is_not_used():
    assert reachable(["fe80::1", "10.0.0.5"]) == "10.0.0.5"
    assert reachable(["169.254.3.4", "2001:db8::7"]) == "2001:db8::7"
    assert reachable(["2001:db8::7", "192.0.2.9", "192.0.2.10"]) == "192.0.2.9"
    assert reachable(["fe80::1%eth0", "", "soon"]) is None
