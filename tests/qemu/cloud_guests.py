"""Guests of each cloud: its firmware strings, its agent, its servers, and the user data that
diskbench's adapter sends, through the cloud's own data source."""

import struct
import subprocess
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from emulators.aws.imds import imds
from emulators.azure.imds import azure_imds
from emulators.azure.wire_server import PLUGIN_PORT, WIRE_SERVER_ADDRESS, WireServer, ovf_env
from emulators.gcp.metadata_server import metadata_server, waits
from emulators.guest_side import IMDS_ADDRESS, Asked
from pydantic import SecretBytes
from tests.qemu.conftest import LEASE, LEASE_S, Guest, start, wait_until_ready
from tests.qemu.image import AGENT_UNITS, Image
from tests.qemu.launches import USER, insert_instance, put_machine, run_instances
from tests.qemu.machine import MAC, Hardware
from tests.qemu.nvme_target import Controller, nvme_target

from diskbench.hosts.facts import gather, vouched
from diskbench.providers.keys import lease_keys

BOOT_S = 900
"""An idle machine needs a minute; this one may be busy with much else."""
AWS_ID = "i-0123456789abcdef0"
AWS_ZONE = "eu-central-1a"
_AWS_UUID = "ec2e1916-9099-7caf-fd21-012345abcdef"
GCP_ID = "3141592653589793238"
GCP_ZONE = "europe-west3-a"
GCP_USER = "ubuntu"
"""Google's agent makes it: the test image's own default user has another name."""
VM_ID = "2c3d4e5f-0123-4567-89ab-cdef01234567"
_HYPER_V = "manufacturer=Microsoft Corporation,version=Hyper-V UEFI Release v4.1"
_AZURE_TAG = "7783-7084-3265-9085-8269-3286-77"
_NVME_ADDRESS = "169.254.4.20"
_NVME_PORT = 4420


@dataclass
class CloudGuest:
    """A guest of a cloud, and what the cloud and its controller know of it."""

    guest: Guest
    provider: str
    instance_id: str
    user: str
    wire: WireServer | None = None
    disks: dict[str, Controller] = field(default_factory=dict)

    def proves_itself(self):
        """Whether the guest shows that it is the machine that was rented."""
        facts = gather(self.guest.host, None, device=False)
        assert facts.cloud is not None
        return vouched(self.guest.host, facts.cloud, self.provider, self.instance_id)

    def served_keys(self):
        """The host keys that whoever connects is shown, as in known_hosts without the name."""
        port = str(self.guest.machine.port)
        scan = ["ssh-keyscan", "-T", "60", "-p", port, "-t", "rsa,ecdsa,ed25519", "127.0.0.1"]
        found = subprocess.run(scan, capture_output=True, text=True, check=True)
        return [line.split(" ", 1)[1] for line in found.stdout.splitlines()]

    def plug(self, name, controller):
        """Attach a disk that says what a cloud's disk says (nvme_target.py)."""
        nqn = f"nqn.2014-08.org.nvmexpress:{name}"
        self.disks[nqn] = controller
        options = f"transport=tcp,traddr={_NVME_ADDRESS},trsvcid={_NVME_PORT},nqn={nqn}"
        self.guest.root(
            f"modprobe nvme-tcp && echo {options},nr_io_queues=1,keep_alive_tmo=600 "
            ">/dev/nvme-fabrics && udevadm settle --timeout=120"
        )

    def unplug(self, name):
        self.guest.root(
            f"for c in /sys/class/nvme/nvme*; do grep -q :{name}$ $c/subsysnqn && "
            "echo 1 >$c/delete_controller; done; udevadm settle --timeout=120"
        )


@dataclass
class Rig:
    """What guests are made with; everything ends with the stack."""

    image: Image
    directory: Path
    stack: ExitStack
    disks: dict[str, Controller] = field(default_factory=dict)

    def keys(self):
        return lease_keys(SecretBytes(b"a secret of the tests, 32 bytes!"), LEASE)

    def boot(self, cloud, user, servers, firmware, more=()):
        smbios = tuple(word for one in firmware for word in ("-smbios", one))
        port = self.stack.enter_context(nvme_target(self.disks))
        hardware = Hardware(
            arguments=(*smbios, *more),
            kernel=tuple(f"systemd.wants={unit}" for unit in AGENT_UNITS[cloud]),
            servers={**servers, f"{_NVME_ADDRESS}:{_NVME_PORT}": port},
        )
        return start(
            self.image, self.directory, self.stack, keys=self.keys(), seed={},
            expires_at=time.time() + LEASE_S, hardware=hardware, user=user,
        )  # fmt: skip

    def serve(self, server, **how):
        return self.stack.enter_context(served(server, **how))


def aws_guest(rig):
    keys = rig.keys()
    run = run_instances(keys, instance_id=AWS_ID, zone=AWS_ZONE)
    server = imds(
        run, instance_id=AWS_ID, account="123456789012", zone=AWS_ZONE, mac=MAC,
        key=keys.user_public,
    )  # fmt: skip
    guest = rig.boot(
        "aws", USER, {f"{IMDS_ADDRESS}:80": rig.serve(server.answer)},
        (
            "type=0,vendor=Amazon EC2,version=1.0",
            f"type=1,manufacturer=Amazon EC2,product=m6i.large,serial={_AWS_UUID},uuid={_AWS_UUID}",
            f"type=2,manufacturer=Amazon EC2,asset={AWS_ID}",
            "type=3,manufacturer=Amazon EC2,asset=Amazon EC2",
        ),
    )  # fmt: skip
    return CloudGuest(guest, "aws", AWS_ID, USER, disks=rig.disks)


def gcp_guest(rig):
    """An instance of Compute Engine, with Google's guest agent and a SCSI controller."""
    instance = insert_instance(rig.keys(), zone=GCP_ZONE, user=GCP_USER)
    server = metadata_server(
        instance, instance_id=GCP_ID, project="a-project", zone=GCP_ZONE, mac=MAC
    )
    guest = rig.boot(
        "gcp", GCP_USER, {f"{IMDS_ADDRESS}:80": rig.serve(server.answer, held=waits)},
        (
            "type=0,vendor=Google,version=Google",
            "type=1,manufacturer=Google,product=Google Compute Engine,serial=GoogleCloud-0123",
            "type=2,manufacturer=Google,product=Google Compute Engine",
        ),
        ("-device", "virtio-scsi-pci,id=scsi"),
    )  # fmt: skip
    return CloudGuest(guest, "gcp", GCP_ID, GCP_USER, disks=rig.disks)


def azure_guest(rig):
    """A second-generation machine with WALinuxAgent and the provisioning disk in its drive."""
    machine = put_machine(rig.keys())
    wire = WireServer("a1b2c3d4-0000-1111-2222-333344445555")
    metadata = azure_imds(machine, vm_id=VM_ID, name=f"diskbench-{LEASE}-machine", mac=MAC)
    drive = rig.directory / "cd.iso"
    drive.write_bytes(iso({"ovf-env.xml": ovf_env(machine).encode()}, "rd_rdfe_stable"))
    user = machine["properties"]["osProfile"]["adminUsername"]
    guest = rig.boot(
        "azure", user,
        {
            f"{IMDS_ADDRESS}:80": rig.serve(metadata.answer),
            f"{WIRE_SERVER_ADDRESS}:80": rig.serve(wire.answer),
            f"{WIRE_SERVER_ADDRESS}:{PLUGIN_PORT}": rig.serve(wire.plugin),
        },
        (
            f"type=1,product=Virtual Machine,{_HYPER_V},uuid={VM_ID}",
            f"type=3,manufacturer=Microsoft Corporation,asset={_AZURE_TAG}",
        ),
        (
            # Without it systemd takes the emulator for the hypervisor, not what the firmware says.
            "-cpu", "qemu64,-hypervisor",
            "-device", "virtio-scsi-pci,id=scsi",
            "-blockdev", "driver=file,node-name=provisioning,filename=cd.iso,read-only=on",
            "-device", "scsi-cd,bus=scsi.0,drive=provisioning",
        ),
    )  # fmt: skip
    return CloudGuest(guest, "azure", VM_ID, user, wire, rig.disks)


@contextmanager
def prepared(cloud):
    """The guest, once our preparation has ended well; its log lies beside its disk."""
    wait_until_ready(cloud.guest, BOOT_S)
    yield cloud
    units = " ".join(f"-u {unit}" for unit in AGENT_UNITS[cloud.provider])
    logged = cloud.guest.root(
        f"cat /var/log/waagent.log 2>/dev/null; journalctl --no-pager -o short-iso {units} "
        "-u cloud-init-local -u cloud-init -u cloud-config -u cloud-final"
    )
    (cloud.guest.machine.directory / "agent.log").write_text(logged)


_SECTOR = 2048
_ROOT, _PATHS_LITTLE, _PATHS_BIG, _FIRST_FILE = 20, 18, 19, 21
"""Sectors: 16 and 17 hold the volume descriptors (6.2.1)."""
_DATE = bytes((126, 1, 1, 0, 0, 0, 0))  # 9.1.5


def iso(files, label):
    """A CD-ROM with a few small files: ISO 9660 (ECMA-119, 4th edition), level of detail as Linux
    reads it. Azure's own is UDF; cloud-init mounts either."""
    records = [_record(b"\0", _ROOT, _SECTOR, flags=2), _record(b"\1", _ROOT, _SECTOR, flags=2)]
    body, sector = b"", _FIRST_FILE
    for name, content in sorted(files.items()):
        records.append(_record(f"{name};1".encode(), sector, len(content), flags=0))
        padded = content.ljust(-(-len(content) // _SECTOR) * _SECTOR, b"\0")
        body, sector = body + padded, sector + len(padded) // _SECTOR
    root = b"".join(records)
    assert len(root) <= _SECTOR, "one sector of names is all there is"
    path = struct.pack("<BBIH2s", 1, 0, _ROOT, 1, b"\0\0")
    path_big = struct.pack(">BBIH2s", 1, 0, _ROOT, 1, b"\0\0")
    primary = b"".join(
        (
            b"\1CD001\1\0", b" " * 32, label.encode().ljust(32), bytes(8), _both(sector, "I"),
            bytes(32), _both(1, "H"), _both(1, "H"), _both(_SECTOR, "H"), _both(len(path), "I"),
            struct.pack("<II", _PATHS_LITTLE, 0), struct.pack(">II", _PATHS_BIG, 0),
            records[0], b" " * (4 * 128 + 3 * 37), (b"0" * 16 + b"\0") * 4, b"\1\0",
        )
    )  # fmt: skip
    sectors = (primary, b"\xffCD001\1", path, path_big, root)
    return bytes(16 * _SECTOR) + b"".join(one.ljust(_SECTOR, b"\0") for one in sectors) + body


def _both(number, kind):
    """A number in both byte orders (7.2.3, 7.3.3)."""
    return struct.pack(f"<{kind}", number) + struct.pack(f">{kind}", number)


def _record(name, sector, size, *, flags):
    """A directory record (9.1), of even length."""
    fixed = _both(sector, "I") + _both(size, "I") + _DATE
    rest = fixed + bytes((flags, 0, 0)) + _both(1, "H") + bytes((len(name),)) + name
    whole = b"\0" + rest
    padding = b"\0" if (len(whole) + 1) % 2 else b""
    return bytes((len(whole) + 1 + len(padding),)) + whole + padding


@contextmanager
def served(server, held=lambda _: 0.0):
    """The port at which `server` answers; `held` says how long an answer is kept back."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self):
            address = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = Asked(
                self.command,
                address.path,
                dict(parse_qsl(address.query, keep_blank_values=True)),
                {name.lower(): value for name, value in self.headers.items()},
                body,
            )
            if over.wait(held(asked)):
                return  # nobody is there to hear it
            answer = server(asked)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            with suppress(ConnectionError):  # the guest is switched off at any moment
                self.end_headers()
                self.wfile.write(answer.body)

        do_GET = do_POST = do_PUT = do_HEAD = _serve  # noqa: N815 - http.server's names

        def log_message(self, *_):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        try:
            yield http.server_port
        finally:
            over.set()
            http.shutdown()
            thread.join()
