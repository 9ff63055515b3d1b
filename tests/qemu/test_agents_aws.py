"""EC2's udev rules (amazon-ec2-utils of Debian 12) on a machine that was told by us how to boot, as
EC2 tells it: by its instance metadata service, version 2."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.qemu.cloud_guests import BOOT_S, CloudGuest, Rig, aws_guest, prepared
from tests.qemu.image import Image
from tests.qemu.nvme_target import Controller, Namespace

from diskbench.hosts.device import check_device
from diskbench.providers.aws.attach import STORE_MODEL, Volume, find_stores, find_volume
from diskbench.providers.aws.requests import attach_name
from diskbench.providers.guest import disks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(2 * BOOT_S + 900),  # the image may have to be built, a guest to boot
]

DISK_BYTES = 64 * 2**20
AMAZON = 0x1D0F
VENDOR_BYTES = 3072
"""Where the vendor's own bytes of Identify Controller begin; ebsnvme-id reads the name under which
a volume is attached there, padded with spaces."""


def ebs(volume: str, attached_as: str) -> Controller:
    """The controller of an attached volume."""
    return Controller(
        AMAZON, volume.replace("-", ""), "Amazon Elastic Block Store",
        {1: Namespace(bytearray(DISK_BYTES))},
        {VENDOR_BYTES: attached_as.encode().ljust(32)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def aws(guest_image: Image, tmp_path_factory) -> Iterator[CloudGuest]:
    with ExitStack() as stack:
        rig = Rig(guest_image, tmp_path_factory.mktemp("aws"), stack)
        yield stack.enter_context(prepared(aws_guest(rig)))


def test_cloud_init_took_our_user_data_from_ec2_and_finds_nothing_wrong(aws: CloudGuest) -> None:
    aws.guest.root("cloud-init status --wait")
    done = json.loads(aws.guest.root("cat /run/cloud-init/result.json"))["v1"]
    assert done == {"datasource": "DataSourceEc2Local", "errors": []}


def test_the_only_host_key_is_ours(aws: CloudGuest) -> None:
    assert aws.served_keys() == [aws.guest.access.host_key]


def test_our_user_logs_in_and_may_become_root(aws: CloudGuest) -> None:
    assert aws.guest.host.run("id -un").text.strip() == aws.user
    assert aws.guest.root("id -un").strip() == "root"


def test_the_guest_proves_that_it_is_the_machine_that_was_rented(aws: CloudGuest) -> None:
    assert aws.proves_itself()


def test_a_volume_is_found_by_its_id_and_ec2s_link_names_the_same_disk(aws: CloudGuest) -> None:
    volumes = {f"vol-0123456789abcdef{index}": attach_name(index) for index in range(2)}
    before = disks(aws.guest.host)
    for volume, name in volumes.items():
        aws.plug(volume, ebs(volume, name))
    try:
        for volume, name in volumes.items():
            aws.guest.await_links(name)
            wanted = Volume(volume, name, DISK_BYTES)
            found = find_volume(disks(aws.guest.host), wanted, before, nvme=True)
            assert found is not None
            serial = volume.replace("-", "")
            assert found.path == f"/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_{serial}"
            assert aws.guest.root(f"readlink -f {name}").strip() == found.node
            proof = check_device(aws.guest.host, found.path, found.identity)
            assert (proof.number, proof.size_bytes) == (found.number, DISK_BYTES)
    finally:
        for volume in volumes:
            aws.unplug(volume)


def test_a_disk_of_the_machines_own_is_found_by_its_model(aws: CloudGuest) -> None:
    store = Controller(
        AMAZON, "AWS0123456789ABCDEF0", STORE_MODEL, {1: Namespace(mmap.mmap(-1, 10**9))}
    )
    aws.plug("store", store)
    try:
        (found,) = find_stores(disks(aws.guest.host), 1, size_gb=1)
        assert found.model == STORE_MODEL
    finally:
        aws.unplug("store")
