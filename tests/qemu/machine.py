"""A virtual machine in QEMU, and its control channel (QMP). Emulated in software, so that it is the
same everywhere: nested virtualisation is often there and often broken."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.rigs.sshd import free_port

SLOTS = ("slot0", "slot1", "slot2")
"""PCIe slots that disks are plugged into."""


MAC = "52:54:00:12:34:56"
_RELAY = Path(__file__).with_name("relay.py")
_LINK_LOCAL = "168.0.0.0/7"
"""The guest's network where it has servers: large enough for 169.254.169.254 and 168.63.129.16."""


@dataclass(frozen=True)
class Hardware:
    """What a cloud's machine has and a plain one has not: firmware strings and devices as arguments
    of QEMU's, words on the kernel's command line, and servers: `ADDRESS:PORT` in the guest's
    network to a port of this machine."""

    arguments: tuple[str, ...] = ()
    kernel: tuple[str, ...] = ()
    servers: Mapping[str, int] = field(default_factory=dict)

    @property
    def network(self):
        forwards = "".join(
            f",guestfwd=tcp:{address}-cmd:{sys.executable} -I -S {_RELAY} {port}"
            for address, port in self.servers.items()
        )
        return f",net={_LINK_LOCAL}{forwards}" if forwards else ""


PLAIN = Hardware()


@dataclass
class Qmp:
    """One connection to a QEMU: commands, and the events that came meanwhile."""

    connection: socket.socket
    events: list[dict[str, Any]] = field(default_factory=list)
    _pending: bytes = b""

    @classmethod
    def connect(cls, path, process):
        connection = socket.socket(socket.AF_UNIX)
        deadline = time.monotonic() + 240
        while True:
            try:
                connection.connect(str(path))
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)  # between attempts to connect; the connection is the event
        qmp = cls(connection)
        qmp._read(time.monotonic() + 120)
        qmp.run("qmp_capabilities")
        return qmp

    def run(self, command, **arguments):
        """What QEMU returns for `command`; underscores mean dashes, but in `device_id`."""
        named = {
            key if key == "device_id" else key.replace("_", "-"): value
            for key, value in arguments.items()
        }
        self.connection.sendall(json.dumps({"execute": command, "arguments": named}).encode())
        while True:
            answer = self._read(time.monotonic() + 120)
            if "error" in answer:
                raise RuntimeError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]
            self.events.append(answer)

    def wait(self, event, timeout_s):
        """The first `event` since the last one waited for; TimeoutError when it does not come."""
        deadline = time.monotonic() + timeout_s
        while True:
            for n, seen in enumerate(self.events):
                if seen["event"] == event:
                    del self.events[: n + 1]
                    return seen
            self.events.append(self._read(deadline))

    def _read(self, deadline):
        while b"\n" not in self._pending:
            self.connection.settimeout(max(0.001, deadline - time.monotonic()))
            chunk = self.connection.recv(65536)
            if not chunk:
                raise EOFError("QEMU has ended")
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message


@dataclass
class Machine:
    """A machine that runs: its port 22 is `port` of 127.0.0.1 here, and it reaches nothing else."""

    directory: Path
    port: int
    process: subprocess.Popen[bytes]
    qmp: Qmp

    @property
    def console(self):
        return (self.directory / "console").read_text(errors="replace")

    def plug(self, slot, serial, size_bytes):
        file = self.directory / f"{serial}.img"
        with file.open("wb") as image:
            image.truncate(size_bytes)
        self.qmp.run("blockdev-add", driver="file", node_name=f"node-{slot}", filename=str(file))
        self.qmp.run(
            "device_add", driver="nvme", id=f"disk-{slot}", bus=slot,
            drive=f"node-{slot}", serial=serial,
        )  # fmt: skip

    def unplug(self, slot):
        """Press the slot's button, and wait until the guest has let the disk go."""
        self.qmp.run("device_del", id=f"disk-{slot}")
        self.qmp.wait("DEVICE_DELETED", 180)
        self.qmp.run("blockdev-del", node_name=f"node-{slot}")


def new_disk(image, directory):
    subprocess.run(
        ["cp", "--sparse=always", "--reflink=auto", str(image.disk), str(directory / "disk")],
        check=True,
    )


@contextlib.contextmanager
def running(image, directory, seed, hardware=PLAIN):
    """A machine from the disk in `directory` until the block ends, or until it ends itself. `seed`
    are the files of cloud-init's NoCloud data source, on a disk named CIDATA; there is no such disk
    without files."""
    port = free_port()
    command = [
        "qemu-system-x86_64", "-M", "q35", "-accel", "tcg,tb-size=64,thread=multi",
        "-m", "1024", "-smp", "2", "-display", "none", "-nodefaults",
        "-kernel", image.kernel, "-initrd", image.initrd,
        "-append", " ".join(("root=/dev/vda rw quiet console=ttyS0", *hardware.kernel)),
        "-serial", "file:console", "-qmp", "unix:qmp,server=on,wait=off",
        "-blockdev", "driver=file,node-name=root,filename=disk,cache.direct=off",
        "-device", "virtio-blk-pci,drive=root",
        *_seed_disk(directory, seed),
        "-netdev",
        f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22{hardware.network}",
        "-device", f"virtio-net-pci,netdev=net,mac={MAC}", "-device", "virtio-rng-pci",
        *(part for n, slot in enumerate(SLOTS)
          for part in ("-device", f"pcie-root-port,id={slot},chassis={n + 1}")),
        *hardware.arguments,
    ]  # fmt: skip
    with (directory / "qemu.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        qmp = Qmp.connect(directory / "qmp", process)
        with contextlib.closing(qmp.connection):
            yield Machine(directory, port, process, qmp)
    finally:
        process.kill()
        process.wait()


def _seed_disk(directory, seed):
    shutil.rmtree(directory / "seed", ignore_errors=True)
    if not seed:
        return []
    (directory / "seed").mkdir()
    for name, text in seed.items():
        (directory / "seed" / name).write_text(text)
    return [
        "-blockdev", "driver=vvfat,node-name=seed,dir=seed,label=CIDATA,read-only=on",
        "-device", "virtio-blk-pci,drive=seed",
    ]  # fmt: skip
