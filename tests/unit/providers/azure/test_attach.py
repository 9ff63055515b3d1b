"""Which of the guest's disks is ours: by LUN, by newness, by size; when in doubt none is."""

import pytest

from diskbench.errors import RentalFailed
from diskbench.providers.azure.attach import find_local, find_lun, identity, path
from diskbench.providers.guest import GuestDisk

SIZE = 20 * 2**30
SCSI = "/dev/disk/azure/scsi1/lun0"
NVME = "/dev/disk/azure/data/by-lun/0"
ROOT = GuestDisk(node="/dev/sda", number="8:0", size_bytes=2**35, identity="naa.1", wwn="naa.1")
OURS = GuestDisk(
    node="/dev/sdc", number="8:32", size_bytes=SIZE, identity="naa.2", wwn="naa.2", links=(SCSI,)
)
CONTROLLER = "SN: 000001"


def changed(disk: GuestDisk, **more: object) -> GuestDisk:
    return disk.model_copy(update=more)


def test_a_disk_is_found_under_its_lun_and_those_of_one_nvme_controller_by_their_wwn():
    assert find_lun([ROOT, OURS], 0, SIZE, [ROOT]) == OURS
    assert (path(OURS), identity(OURS)) == (SCSI, "naa.2")
    root = changed(ROOT, node="/dev/nvme0n1", number="259:0", identity=CONTROLLER, wwn="eui.1")
    ours = changed(
        OURS, node="/dev/nvme0n2", number="259:1", identity=CONTROLLER, wwn="eui.2", links=(NVME,)
    )
    assert find_lun([root, ours], 0, SIZE, [root]) == ours
    assert (path(ours), identity(ours)) == (NVME, "eui.2")
    model = "Microsoft NVMe Direct Disk v2"
    first = changed(OURS, node="/dev/nvme1n1", model=model, links=())
    second = changed(OURS, node="/dev/nvme2n1", model=model, links=())
    temporary = changed(OURS, node="/dev/sdb", links=("/dev/disk/azure/resource",))
    assert find_local([second, temporary, first], 2) == (first, second)
    assert find_local([ROOT, temporary, OURS], 1) == (temporary,)
    with pytest.raises(RentalFailed, match="0 disks of its own, not 1"):
        find_local([ROOT], 1)


def test_in_doubt_nothing_is_written():
    with pytest.raises(RentalFailed, match="could see it appear"):
        find_lun([OURS], 0, SIZE, None)
    with pytest.raises(RentalFailed, match="existed before"):
        find_lun([OURS], 0, SIZE, [changed(OURS, links=())])
