"""Disks come to a running host and go again, limited from the first moment."""

import pytest
from tests.lab.conftest import Lab, ssh

from diskbench.errors import HostUnavailable
from diskbench.model.rental import DiskSpec
from diskbench.providers.lab import devices
from diskbench.providers.lab.hotplug import plug_in, pull_out
from diskbench.providers.lab.request import LabRequest

DISK = DiskSpec(type="gp3", size_gib=4)


def test_a_disk_comes_and_goes(lab: Lab) -> None:
    host = lab.machines.acquire("one", LabRequest())
    path = plug_in("one", "vol-0abc", DISK, index=2)
    assert plug_in("one", "vol-0abc", DISK, index=2) == path
    assert path == "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0abc"
    shown = ssh(host, f"readlink -f {path}; lsblk -ndbo SIZE")
    assert shown.split() == ["/dev/nvme3n1", str(4 * 2**30)]
    pull_out("one", "vol-0abc")
    pull_out("one", "vol-0abc")
    assert devices.find(lab.base) == ()
    shown = ssh(host, "ls /dev/disk/by-id /sys/block; ls /dev | grep -c nvme || :")
    assert shown.split() == ["/dev/disk/by-id:", "/sys/block:", "0"]


def test_a_disk_that_is_plugged_in_goes_with_its_host(lab: Lab) -> None:
    lab.machines.acquire("one", LabRequest())
    plug_in("one", "vol-0abc", DISK, index=0)
    lab.machines.release("one")
    assert lab.left() == []


def test_there_is_nothing_to_plug_into_without_a_host(lab: Lab) -> None:
    with pytest.raises(HostUnavailable, match="no lab host runs"):
        plug_in("never", "vol-0abc", DISK, index=0)
    assert lab.left() == []
