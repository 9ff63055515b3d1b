"""What the emulated AWS says and what is there on this machine are the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cloud.rented import (
    UBUNTU,
    Aws,
    Keys,
    Login,
    attach,
    attachment_state,
    launch,
    make_keys,
    state,
    until,
    up,
    volume,
)

pytestmark = pytest.mark.slow

BY_ID = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"
AMAZON_LINUX = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"


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


def test_a_guest_that_switches_itself_off_is_stopped_where_nothing_else_was_said(
    aws: Aws, keys: Keys
) -> None:
    instance = launch(aws, UserData=keys.user_data)
    login(aws, instance, keys).try_run("sudo kill -TERM 1")
    until(lambda: state(aws, instance) == "stopped")
    aws.client().terminate_instances(InstanceIds=[instance])
    until(lambda: state(aws, instance) == "terminated")
    assert aws.left() == []


def test_a_disk_keeps_what_was_written_when_it_goes_to_another_machine(
    aws: Aws, keys: Keys
) -> None:
    first, second = (launch(aws, UserData=keys.user_data) for _ in range(2))
    one, other = login(aws, first, keys), login(aws, second, keys)
    disk = volume(aws)
    attach(aws, disk, first)
    device = path_of(disk)
    one.run(f"echo here | sudo dd of={device} conv=fsync status=none")
    detach(aws, disk)
    attach(aws, disk, second)
    assert other.run(f"sudo head -c 4 {device}") == "here"


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


def test_nvme_instance_store_comes_by_itself_and_before_network_disks(aws: Aws, keys: Keys) -> None:
    instance = launch(aws, "m5d.large", UserData=keys.user_data)
    guest = login(aws, instance, keys)
    disk = volume(aws)
    attach(aws, disk, instance)
    found = guest.run(
        "readlink -f /dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_AWS*-ns-1;"
        f"sudo blockdev --getsize64 /dev/nvme1n1; readlink -f {path_of(disk)}"
    )
    assert found.split() == ["/dev/nvme1n1", str(75 * 10**9), "/dev/nvme2n1"]


def test_other_instance_store_comes_where_the_launch_mapped_it(aws: Aws, keys: Keys) -> None:
    mapped = [{"DeviceName": "/dev/sdc", "VirtualName": "ephemeral0"}]
    instance = launch(aws, "m3.medium", UserData=keys.user_data, BlockDeviceMappings=mapped)
    guest = login(aws, instance, keys)
    assert guest.run("sudo blockdev --getsize64 /dev/xvdc").split() == [str(4 * 10**9)]


def test_disks_mapped_at_launch_are_there_and_as_asked_for(aws: Aws, keys: Keys) -> None:
    ebs = {"VolumeSize": 20, "VolumeType": "gp3", "Iops": 5000, "Throughput": 300}
    mapped = [{"DeviceName": "/dev/sdf", "Ebs": {**ebs, "DeleteOnTermination": True}}]
    instance = launch(aws, UserData=keys.user_data, BlockDeviceMappings=mapped)
    guest = login(aws, instance, keys)
    rows = aws.client().describe_volumes()["Volumes"]
    (disk,) = [row for row in rows if row["Size"] == 20]
    assert (disk["Iops"], disk["Throughput"]) == (5000, 300)
    assert guest.run(f"readlink -f {path_of(disk['VolumeId'])}") == "/dev/nvme1n1\n"
    aws.client().terminate_instances(InstanceIds=[instance])
    until(lambda: state(aws, instance) == "terminated")
    assert aws.left() == []


def test_the_key_pair_of_a_launch_may_log_in_as_the_images_own_user(aws: Aws, keys: Keys) -> None:
    aws.client().import_key_pair(KeyName="mine", PublicKeyMaterial=keys.user_public)
    image = aws.client("ssm").get_parameter(Name=AMAZON_LINUX)["Parameter"]["Value"]
    instance = launch(
        aws, ImageId=image, KeyName="mine", UserData=keys.user_data.replace(keys.user_public, "")
    )
    assert login(aws, instance, keys, "ec2-user").run("id -un") == "ec2-user\n"


def test_nobody_gets_in_who_expects_another_host_key(aws: Aws, keys: Keys) -> None:
    instance = launch(aws)  # no user data: the machine made its own key
    done = login(aws, instance, keys).try_run("true")
    assert done.returncode == 255
    assert "Host key verification failed" in done.stderr


def test_the_image_a_parameter_names_is_there_in_every_region(aws: Aws) -> None:
    for region in ("us-east-1", "eu-central-1"):
        image = aws.client("ssm", region=region).get_parameter(Name=UBUNTU)["Parameter"]["Value"]
        (found,) = aws.client(region=region).describe_images(ImageIds=[image])["Images"]
        assert (found["OwnerId"], found["Architecture"]) == ("099720109477", "x86_64")
