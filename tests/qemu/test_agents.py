"""What vendors have in their images (WALinuxAgent, Google's guest agent, EC2's udev rules, all
of Debian 12) on a machine that was told by us how to boot, as its cloud tells it: provisioning
disk, metadata service, wire server."""

import base64
import json
import mmap
from contextlib import ExitStack

import pytest
from emulators.azure.wire_server import Health
from tests.qemu.cloud_guests import BOOT_S, Rig, aws_guest, azure_guest, gcp_guest, prepared
from tests.qemu.nvme_target import Controller, Namespace

from diskbench.hosts.device import check_device
from diskbench.providers.aws.attach import STORE_MODEL, find_stores, find_volume
from diskbench.providers.aws.requests import attach_name
from diskbench.providers.azure.attach import find_local, find_lun, identity, path
from diskbench.providers.gcp.attach import find_disk, with_unique_identity
from diskbench.providers.guest import disks
from diskbench.providers.skeleton.handover import AttachedDisk

pytestmark = pytest.mark.timeout(2 * BOOT_S + 900)
"""The image may have to be built, a guest to boot."""

DISK_BYTES = 64 * 2**20
AMAZON, MICROSOFT, GOOGLE = 0x1D0F, 0x1414, 0x1AE0
READY = Health("Ready")
STARTING = Health("NotReady", "Provisioning", "Starting")
VENDOR_BYTES = 3072
"""Where the vendor's own bytes of Identify Controller begin; ebsnvme-id reads the name under which
a volume is attached there, padded with spaces."""
RULES = """
KERNEL=="sd*[!0-9]", ENV{ID_MODEL}=="PersistentDisk", \\
  SYMLINK+="disk/by-id/google-$env{ID_SERIAL_SHORT}"
KERNEL=="nvme*n*", ENV{DEVTYPE}=="disk", ATTRS{model}=="nvme_card-pd*", \\
  SYMLINK+="disk/by-id/google-on-nvme-$attr{nsid}"
"""
"""Debian does not package Google's own rules (google-compute-engine). These are ours: the name of a
SCSI disk is its designator, as there; that of a namespace is its number, where google_nvme_id reads
the name from the vendor's bytes."""
GUESTS = {
    "aws": (aws_guest, "DataSourceEc2Local"),
    "azure": (azure_guest, "DataSourceAzure [seed=/dev/sr0]"),
    "gcp": (gcp_guest, "DataSourceGCELocal"),
}


def on(*clouds: str):
    return pytest.mark.parametrize("cloud", clouds, indirect=True, scope="module")


@pytest.fixture(scope="module")
def cloud(guest_image, tmp_path_factory, request):
    made, _ = GUESTS[request.param]
    with ExitStack() as stack:
        rig = Rig(guest_image, tmp_path_factory.mktemp(request.param), stack)
        booted = stack.enter_context(prepared(made(rig)))
        if request.param == "gcp":
            rules = f"cat >/etc/udev/rules.d/65-test.rules <<'END'\n{RULES}END\n"
            booted.guest.root(f"{rules}udevadm control --reload")
        yield booted


def agent_has_run(cloud):
    """Wait until the cloud's agent has done what it does at a first boot, without an error."""
    if cloud.provider == "azure":
        wire = cloud.wire
        assert wire is not None
        # cloud-init reports first, then the agent when it has found the host key of its type.
        ended = wire.wait(lambda: wire.health == [READY, STARTING, READY], BOOT_S)
        log = cloud.guest.root("cat /var/log/waagent.log")
        assert ended, f"{wire.health}\n{log}"
        assert "ssh host key found at: /etc/ssh/ssh_host_ed25519_key.pub" in log
        assert " ERROR " not in log
    if cloud.provider == "gcp":
        unit = "google-guest-agent.service"  # Type=notify: active when the agent says so itself
        until = f"timeout 600 sh -c 'until systemctl is-active -q {unit}; do sleep 1; done'"
        cloud.guest.root(until, timeout_s=660)
        said = cloud.guest.root(
            f"systemctl show -P NRestarts -P Result {unit}; journalctl -o cat -u {unit}"
        )
        assert said.splitlines()[:2] == ["success", "0"]
        assert "GCE Agent Started" in said
        assert "ERROR" not in said
        keys = f"/home/{cloud.user}/.ssh/authorized_keys"
        written = f"until grep -q 'Added by Google' {keys}; do sleep 1; done"
        cloud.guest.root(f'timeout 600 sh -c "{written}"', timeout_s=660)


@on(*GUESTS)
def test_cloud_init_took_our_user_data_and_finds_nothing_wrong(cloud):
    cloud.guest.root("cloud-init status --wait")
    done = json.loads(cloud.guest.root("cat /run/cloud-init/result.json"))["v1"]
    assert done == {"datasource": GUESTS[cloud.provider][1], "errors": []}


@on(*GUESTS)
def test_behind_the_agent_the_host_key_is_ours_and_our_user_may_become_root(cloud):
    agent_has_run(cloud)
    assert cloud.served_keys() == [cloud.guest.access.host_key]
    cloud.guest.host.close()  # the next connection is a new one
    assert cloud.guest.host.run("id -un").text.strip() == cloud.user
    assert cloud.guest.root("id -un").strip() == "root"


@on(*GUESTS)
def test_the_guest_proves_that_it_is_the_machine_that_was_rented(cloud):
    assert cloud.proves_itself()


@on("azure")
def test_azures_agent_reports_that_it_is_ready(cloud):
    wire = cloud.wire
    assert wire is not None
    assert wire.wait(lambda: bool(wire.statuses), BOOT_S)
    told = json.loads(base64.b64decode(wire.statuses[-1]["content"]))
    agent = told["aggregateStatus"]["guestAgentStatus"]
    said = (agent["status"], agent["formattedMessage"]["message"])
    assert said == ("Ready", "Guest Agent is running")


def ebs(volume, attached_as):
    return Controller(
        AMAZON, volume.replace("-", ""), "Amazon Elastic Block Store",
        {1: Namespace(bytearray(DISK_BYTES))},
        {VENDOR_BYTES: attached_as.encode().ljust(32)},
    )  # fmt: skip


@on("aws")
def test_a_volume_is_found_by_its_id_and_ec2s_link_names_the_same_disk(cloud):
    volumes = {f"vol-0123456789abcdef{index}": attach_name(index) for index in range(2)}
    before = disks(cloud.guest.host)
    for volume, name in volumes.items():
        cloud.plug(volume, ebs(volume, name))
    try:
        for volume, name in volumes.items():
            cloud.guest.await_links(name)
            wanted = AttachedDisk(volume, name, DISK_BYTES)
            found = find_volume(disks(cloud.guest.host), wanted, before, nvme=True)
            assert found is not None
            serial = volume.replace("-", "")
            assert found.path == f"/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_{serial}"
            assert cloud.guest.root(f"readlink -f {name}").strip() == found.node
            proof = check_device(cloud.guest.host, found.path, found.identity)
            assert (proof.number, proof.size_bytes) == (found.number, DISK_BYTES)
    finally:
        for volume in volumes:
            cloud.unplug(volume)


@on("aws")
def test_a_disk_of_ec2s_machine_itself_is_found_by_its_model(cloud):
    store = Controller(
        AMAZON, "AWS0123456789ABCDEF0", STORE_MODEL, {1: Namespace(mmap.mmap(-1, 10**9))}
    )
    cloud.plug("store", store)
    try:
        (found,) = find_stores(disks(cloud.guest.host), 1, size_gb=1)
        assert found.model == STORE_MODEL
    finally:
        cloud.unplug("store")


@on("azure")
def test_disks_on_nvme_are_found_by_their_namespace(cloud):
    # One controller has the OS disk as namespace 1 and LUN N as namespace N + 2; Debian 12 has no
    # udev rule for them.
    before = disks(cloud.guest.host)
    sizes = {lun: DISK_BYTES * (lun + 1) for lun in (0, 3)}
    namespaces = {lun + 2: Namespace(bytearray(size)) for lun, size in sizes.items()}
    remote = Controller(
        MICROSOFT, "0000000000000001", "MSFT NVMe Accelerator v1.0",
        {1: Namespace(bytearray(DISK_BYTES)), **namespaces},
    )  # fmt: skip
    cloud.plug("remote", remote)
    try:
        found = disks(cloud.guest.host)
        for lun, size in sizes.items():
            disk = find_lun(found, lun, size, before)
            assert disk is not None
            proof = check_device(cloud.guest.host, path(disk), identity(disk))
            assert (proof.number, proof.size_bytes) == (disk.number, size)
        assert find_lun(found, 1, DISK_BYTES, before) is None
    finally:
        cloud.unplug("remote")


@on("azure")
def test_a_disk_of_azures_machine_itself_is_found_by_its_model(cloud):
    local = Namespace(bytearray(DISK_BYTES))
    model = "Microsoft NVMe Direct Disk v2"
    cloud.plug("local", Controller(MICROSOFT, "0123456789abcdef0001", model, {1: local}))
    try:
        (found,) = find_local(disks(cloud.guest.host), 1)
        assert (found.model, found.size_bytes) == (model, DISK_BYTES)
        assert check_device(cloud.guest.host, path(found), identity(found)).number == found.number
    finally:
        cloud.unplug("local")


@on("gcp")
def test_a_disk_is_found_by_the_device_name_that_we_chose(cloud):
    guest, name = cloud.guest, "diskbench-0"
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


@on("gcp")
def test_disks_on_nvme_share_a_serial_and_are_told_apart(cloud):
    before = with_unique_identity(disks(cloud.guest.host))
    namespaces = {number: Namespace(bytearray(DISK_BYTES)) for number in (1, 2)}
    cloud.plug("pd", Controller(GOOGLE, "nvme_card-pd", "nvme_card-pd", namespaces))
    try:
        after = disks(cloud.guest.host)
        both = [find_disk(after, f"on-nvme-{n}", DISK_BYTES, before) for n in namespaces]
        proofs = [check_device(cloud.guest.host, d.path, d.identity) for d in both if d is not None]
        assert [proof.number for proof in proofs] == [d.number for d in both if d is not None]
        assert len({proof.number for proof in proofs}) == len({p.identity for p in proofs}) == 2
    finally:
        cloud.unplug("pd")
