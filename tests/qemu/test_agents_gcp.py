"""Google's guest agent of Debian 12 on a machine that was told by us how to boot, as Compute Engine
tells it: by its metadata server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.qemu.cloud_guests import BOOT_S, CloudGuest, Rig, gcp_guest, prepared
from tests.qemu.image import Image
from tests.qemu.nvme_target import Controller, Namespace

from diskbench.hosts.device import check_device
from diskbench.providers.gcp.attach import find_disk, with_unique_identity
from diskbench.providers.gcp.requests import device_name
from diskbench.providers.guest import disks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(2 * BOOT_S + 900),  # the image may have to be built, a guest to boot
]

DISK_BYTES = 64 * 2**20
GOOGLE = 0x1AE0
RULES = """
KERNEL=="sd*[!0-9]", ENV{ID_MODEL}=="PersistentDisk", \\
  SYMLINK+="disk/by-id/google-$env{ID_SERIAL_SHORT}"
KERNEL=="nvme*n*", ENV{DEVTYPE}=="disk", ATTRS{model}=="nvme_card-pd*", \\
  SYMLINK+="disk/by-id/google-on-nvme-$attr{nsid}"
"""
"""Debian does not package Google's own rules (google-compute-engine). These are ours: the name of a
SCSI disk is its designator, as there; that of a namespace is its number, where google_nvme_id reads
the name from the vendor's bytes."""


@pytest.fixture(scope="module")
def gcp(guest_image: Image, tmp_path_factory) -> Iterator[CloudGuest]:
    with ExitStack() as stack:
        rig = Rig(guest_image, tmp_path_factory.mktemp("gcp"), stack)
        cloud = stack.enter_context(prepared(gcp_guest(rig)))
        rules = f"cat >/etc/udev/rules.d/65-test.rules <<'END'\n{RULES}END\n"
        cloud.guest.root(f"{rules}udevadm control --reload")
        yield cloud


def test_cloud_init_took_our_user_data_from_google_and_finds_nothing_wrong(
    gcp: CloudGuest,
) -> None:
    gcp.guest.root("cloud-init status --wait")
    done = json.loads(gcp.guest.root("cat /run/cloud-init/result.json"))["v1"]
    assert done == {"datasource": "DataSourceGCELocal", "errors": []}


def test_the_agent_runs_and_says_that_it_is_ready(gcp: CloudGuest) -> None:
    # Type=notify: it is active when the agent says so itself.
    unit = "google-guest-agent.service"
    gcp.guest.root(
        f"timeout 600 sh -c 'until systemctl is-active -q {unit}; do sleep 1; done'", timeout_s=660
    )
    said = gcp.guest.root(
        f"systemctl show -P NRestarts -P Result {unit}; journalctl -o cat -u {unit}"
    )
    assert said.splitlines()[:2] == ["success", "0"]
    assert "GCE Agent Started" in said
    assert "ERROR" not in said


def test_the_only_host_key_is_ours_after_the_agent_has_run(gcp: CloudGuest) -> None:
    test_the_agent_runs_and_says_that_it_is_ready(gcp)
    assert gcp.served_keys() == [gcp.guest.access.host_key]


def test_our_user_logs_in_and_may_become_root_after_the_agent_wrote_its_keys(
    gcp: CloudGuest,
) -> None:
    keys = f"/home/{gcp.user}/.ssh/authorized_keys"
    written = f"until grep -q 'Added by Google' {keys}; do sleep 1; done"
    gcp.guest.root(f'timeout 600 sh -c "{written}"', timeout_s=660)
    gcp.guest.host.close()  # the next connection is a new one
    assert gcp.guest.host.run("id -un").text.strip() == gcp.user
    assert gcp.guest.root("id -un").strip() == "root"


def test_the_guest_proves_that_it_is_the_machine_that_was_rented(gcp: CloudGuest) -> None:
    assert gcp.proves_itself()


def test_a_disk_is_found_by_the_device_name_that_we_chose(gcp: CloudGuest) -> None:
    guest, name = gcp.guest, device_name(0)
    before = with_unique_identity(disks(guest.host))
    image = guest.machine.directory / "persistent"
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    guest.machine.qmp.run(
        "blockdev-add", driver="file", node_name="persistent", filename=str(image)
    )
    # A designator of the vendor's own kind and no serial number, as Google's disks have: the kernel
    # makes no `wwid` of it.
    guest.machine.qmp.run(
        "device_add", driver="scsi-hd", id="persistent", bus="scsi.0", drive="persistent",
        vendor="Google", product="PersistentDisk", device_id=name,
    )  # fmt: skip
    guest.await_links(f"/dev/disk/by-id/google-{name}")
    found = find_disk(with_unique_identity(disks(guest.host)), name, DISK_BYTES, before)
    assert found is not None
    assert (found.path, found.model) == (f"/dev/disk/by-id/google-{name}", "PersistentDisk")
    assert check_device(guest.host, found.path, found.identity).number == found.number


def test_disks_on_nvme_share_a_serial_and_are_told_apart(gcp: CloudGuest) -> None:
    before = with_unique_identity(disks(gcp.guest.host))
    namespaces = {number: Namespace(bytearray(DISK_BYTES)) for number in (1, 2)}
    gcp.plug("pd", Controller(GOOGLE, "nvme_card-pd", "nvme_card-pd", namespaces))
    try:
        after = disks(gcp.guest.host)
        both = [find_disk(after, f"on-nvme-{n}", DISK_BYTES, before) for n in namespaces]
        proofs = [check_device(gcp.guest.host, d.path, d.identity) for d in both if d is not None]
        assert [proof.number for proof in proofs] == [d.number for d in both if d is not None]
        assert len({proof.number for proof in proofs}) == len({p.identity for p in proofs}) == 2
    finally:
        gcp.unplug("pd")
