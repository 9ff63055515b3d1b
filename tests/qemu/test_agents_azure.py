"""WALinuxAgent of Debian 12 on a machine that was told by us how to boot, as Azure tells it:
provisioning disk, instance metadata, wire server."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from emulators.azure.wire_server import Health
from tests.qemu.cloud_guests import BOOT_S, CloudGuest, Rig, azure_guest, prepared
from tests.qemu.image import Image
from tests.qemu.nvme_target import Controller, Namespace

from diskbench.hosts.device import check_device
from diskbench.providers.azure.attach import find_local, find_lun, identity, path
from diskbench.providers.guest import disks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(2 * BOOT_S + 900),  # the image may have to be built, a guest to boot
]

DISK_BYTES = 64 * 2**20
MICROSOFT = 0x1414
READY = Health("Ready")
STARTING = Health("NotReady", "Provisioning", "Starting")


@pytest.fixture(scope="module")
def azure(guest_image: Image, tmp_path_factory) -> Iterator[CloudGuest]:
    with ExitStack() as stack:
        rig = Rig(guest_image, tmp_path_factory.mktemp("azure"), stack)
        yield stack.enter_context(prepared(azure_guest(rig)))


def test_cloud_init_took_our_user_data_from_azure_and_finds_nothing_wrong(
    azure: CloudGuest,
) -> None:
    azure.guest.root("cloud-init status --wait")
    done = json.loads(azure.guest.root("cat /run/cloud-init/result.json"))["v1"]
    assert done == {"datasource": "DataSourceAzure [seed=/dev/sr0]", "errors": []}


def test_the_agent_ends_ready(azure: CloudGuest) -> None:
    wire = azure.wire
    assert wire is not None
    # cloud-init reports first, then the agent when it has found the host key of its type.
    ended = wire.wait(lambda: wire.health == [READY, STARTING, READY], BOOT_S)
    assert ended, f"{wire.health}\n{azure.guest.root('tail -n 40 /var/log/waagent.log')}"
    assert wire.wait(lambda: bool(wire.statuses), BOOT_S)
    told = json.loads(base64.b64decode(wire.statuses[-1]["content"]))
    agent = told["aggregateStatus"]["guestAgentStatus"]
    assert (agent["status"], agent["formattedMessage"]["message"]) == (
        "Ready",
        "Guest Agent is running",
    )


def test_the_agent_looks_for_the_host_key_that_we_gave(azure: CloudGuest) -> None:
    log = azure.guest.root("cat /var/log/waagent.log")
    assert "ssh host key found at: /etc/ssh/ssh_host_ed25519_key.pub" in log
    assert " ERROR " not in log


def test_the_only_host_key_is_ours_after_the_agent_has_run(azure: CloudGuest) -> None:
    assert azure.served_keys() == [azure.guest.access.host_key]


def test_our_user_logs_in_and_may_become_root(azure: CloudGuest) -> None:
    assert azure.guest.host.run("id -un").text.strip() == azure.user == "diskbench"
    assert azure.guest.root("id -un").strip() == "root"


def test_the_guest_proves_that_it_is_the_machine_that_was_rented(azure: CloudGuest) -> None:
    assert azure.proves_itself()


def test_disks_on_nvme_are_found_by_their_namespace(azure: CloudGuest) -> None:
    # One controller has the OS disk as namespace 1 and LUN N as namespace N + 2; Debian 12 has no
    # udev rule for them.
    before = disks(azure.guest.host)
    sizes = {lun: DISK_BYTES * (lun + 1) for lun in (0, 3)}
    namespaces = {lun + 2: Namespace(bytearray(size)) for lun, size in sizes.items()}
    remote = Controller(
        MICROSOFT, "0000000000000001", "MSFT NVMe Accelerator v1.0",
        {1: Namespace(bytearray(DISK_BYTES)), **namespaces},
    )  # fmt: skip
    azure.plug("remote", remote)
    try:
        found = disks(azure.guest.host)
        for lun, size in sizes.items():
            disk = find_lun(found, lun, size, before)
            assert disk is not None
            proof = check_device(azure.guest.host, path(disk), identity(disk))
            assert (proof.number, proof.size_bytes) == (disk.number, size)
        assert find_lun(found, 1, DISK_BYTES, before) is None
    finally:
        azure.unplug("remote")


def test_a_disk_of_the_machines_own_is_found_by_its_model(azure: CloudGuest) -> None:
    local = Namespace(bytearray(DISK_BYTES))
    model = "Microsoft NVMe Direct Disk v2"
    azure.plug("local", Controller(MICROSOFT, "0123456789abcdef0001", model, {1: local}))
    try:
        (found,) = find_local(disks(azure.guest.host), 1)
        assert (found.model, found.size_bytes) == (model, DISK_BYTES)
        assert check_device(azure.guest.host, path(found), identity(found)).number == found.number
    finally:
        azure.unplug("local")
