"""What the emulated AWS says and what is there on this machine are the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cloud.rented import (
    Aws,
    Keys,
    Login,
    attach,
    attachment_state,
    launch,
    make_keys,
    until,
    up,
    volume,
)

pytestmark = pytest.mark.slow

BY_ID = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return make_keys(tmp_path)


def login(aws: Aws, instance: str, keys: Keys, user: str = "ubuntu") -> Login:
    return Login(aws, user, up(aws, instance)["PublicIpAddress"], keys)


def path_of(name: str) -> str:
    return BY_ID + name.replace("-", "")


def detach(aws: Aws, name: str) -> None:
    aws.client().detach_volume(VolumeId=name)
    until(lambda: attachment_state(aws, name) is None)


def test_a_disk_that_is_held_is_busy_until_it_is_let_go(aws: Aws, keys: Keys) -> None:
    instance = launch(aws, UserData=keys.user_data)
    guest = login(aws, instance, keys)
    disk = volume(aws)
    attach(aws, disk, instance)
    device = path_of(disk)
    guest.run(f"sudo mkfs.ext4 -q {device} && sudo mount {device} /mnt")
    aws.client().detach_volume(VolumeId=disk)
    until(lambda: attachment_state(aws, disk) == "busy")
    guest.run("sudo umount /mnt")
    until(lambda: attachment_state(aws, disk) is None)


def test_all_disks_together_are_held_to_what_the_machine_sustains(aws: Aws, keys: Keys) -> None:
    # A t3.micro sustains 500 IOPS on EBS; the disk alone may do 3,000.
    instance = launch(aws, "t3.micro", UserData=keys.user_data)
    guest = login(aws, instance, keys)
    disk = volume(aws)
    attach(aws, disk, instance)
    assert 330 <= guest.fio(path_of(disk))["read"]["iops"] <= 800


def test_a_tag_says_how_the_lab_is_to_behave(aws: Aws, keys: Keys) -> None:
    tags = [{"Key": "diskbench-lab", "Value": "time_scale=2700.0"}]
    instance = launch(
        aws,
        UserData=keys.user_data,
        TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
    )
    guest = login(aws, instance, keys)
    disk = volume(aws, "gp2", 20)
    attach(aws, disk, instance)
    # 5,400,000 credits by 2,700 are 2,000: at 3,000 IOPS they last for 0.7 s.
    # A slower machine spends them in the two seconds before the second load is counted.
    assert guest.fio(path_of(disk))["read"]["iops"] > 500
    assert guest.fio(path_of(disk), "--ramp_time=2")["read"]["iops"] < 500


def test_xen_machines_show_disks_by_the_name_they_were_attached_by(aws: Aws, keys: Keys) -> None:
    instance = launch(aws, "c4.large", UserData=keys.user_data)
    guest = login(aws, instance, keys)
    disk = volume(aws)
    attach(aws, disk, instance, "/dev/sdh")
    assert guest.run("ls /dev | grep xvd; sudo blockdev --getsize64 /dev/xvdh").split() == [
        "xvdh",
        str(4 * 2**30),
    ]
