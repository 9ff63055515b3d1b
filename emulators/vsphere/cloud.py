"""The emulated vSphere: the simulator's machines, each with a lab host behind it while it is on."""

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diskbench.model.rental import DiskSpec
from diskbench.providers.vsphere.doctor import privileges
from diskbench.units import GIB, MIB
from emulators import guests
from emulators.guests import Guest, Reach, behaving, write_ssh_config
from emulators.user_data import FirstBoot, made_host_key, read_user_data
from emulators.vsphere.simulator import PASSWORD, USER, Simulator

_OURS = "diskbench-lab"
_TEMPLATE_USER = "debian"
_MB = 10**6
_ONE_KIB = 32
"""What ESXi's scheduler counts as one request against an IOPS limit; larger ones are several
(Broadcom KB 385258)."""
SPEEDS: dict[str, tuple[int, float]] = {
    "freenas": (7776, 104 * _MB),
    "sata": (26075, 470 * _MB),
    "nvme": (28484, 1614 * _MB),
    "san": (10000, 107 * _MB),
    "nfs": (5000, 100 * _MB),
    "vsan": (5000, 100 * _MB),
}
"""IOPS and bytes a second of each datastore: an iSCSI filer, a SATA and an NVMe SSD ("Benchmarking
the Disk Speed of IaaSes", 2018) and an iSCSI SAN on one gigabit ("Virtual Server vs. Real Server
Disk Drive Speed", 2009). NFS and vSAN are our choice."""


def disk_on(datastore: str, size_bytes: int, iops_limit: int) -> DiskSpec:
    """The lab's disk for a virtual disk on a datastore; a limit of -1 is none."""
    iops, rate = SPEEDS[datastore]
    is_limited = 0 <= iops_limit < iops
    return DiskSpec(
        type="custom",
        size_gib=size_bytes // GIB,
        iops=iops_limit if is_limited else iops,
        io_kib=_ONE_KIB if is_limited else None,
        throughput_mib_per_s=rate / MIB,
    )


@dataclass
class Machine:
    """What stands behind a virtual machine. Its queue does one thing after another in the lab."""

    name: str
    queue: ThreadPoolExecutor
    wanted: dict[str, Any] = field(default_factory=dict)
    is_on: bool = False
    disks: dict[str, int] = field(default_factory=dict)
    """UUID of each data disk in the guest, and its number there, from 0."""
    at_boot: frozenset[str] = frozenset()
    """The disks that the machine was switched on with: the guest's own."""


class Vsphere:
    """A running emulated vSphere."""

    def __init__(self, state: Path, *, time_scale: float = 1.0, port: int = 0) -> None:
        self.state = state
        self.time_scale = time_scale
        self.machines: dict[str, Machine] = {}
        self.errors: list[BaseException] = []
        """What went wrong in the lab; whoever stops the emulator raises them."""
        self.tools = True
        """Whether guests have VMware Tools, which tell their address."""
        self.slow_disks = threading.Event()
        """Clear while disks that are attached do not appear in their guests."""
        self.slow_disks.set()
        self._reach: dict[str, Reach] = {}
        self._lock = threading.RLock()
        self._closing = False
        write_ssh_config(self.ssh_config, {})
        self.simulator = Simulator(state, self._told, port)
        self.grant(privileges())

    @property
    def endpoint(self) -> str:
        return self.simulator.endpoint

    @property
    def ssh_config(self) -> Path:
        """The OpenSSH configuration that leads to the machines."""
        return self.state / "ssh_config"

    @property
    def env(self) -> dict[str, str]:
        """What a user of it has in the environment."""
        return {
            "VSPHERE_SERVER": self.endpoint,
            "VSPHERE_USER": USER,
            "VSPHERE_PASSWORD": PASSWORD,
            "DISKBENCH_SSH_CONFIG": str(self.ssh_config),
        }

    def fault(self, method: str, fault: str, *, times: int = 1, skip: int = 0) -> None:
        """Have a method of vSphere's fail `times` times (0: always), after `skip` calls."""
        self.simulator.order("fault", method=method, fault=fault, times=times, skip=skip)

    def grant(self, granted: Mapping[str, Sequence[str]] | None) -> None:
        """Give the user these privileges, by kind of object, and no other; None is all."""
        self.simulator.order("grant", granted=granted)

    def lag(self, looks: int) -> None:
        """From now on a new machine is absent for so many looks, and a destroyed one present;
        what is there now is seen by everybody."""
        self.simulator.order("lag", times=looks)

    def settled(self) -> None:
        """As if everybody had looked often enough at what is there."""
        self.simulator.order("settle")

    def template(self, kind: str) -> None:
        """Make the template one with vApp properties ("vapp"), "encrypted", or with a "vtpm"."""
        self.simulator.order("template", kind=kind)

    def accelerate(self) -> None:
        """Give the hosts VAAI for NAS: the filer makes thick disks, too."""
        self.simulator.order("vaai", times=1)

    def free(self, datastore: str, bytes_free: int) -> None:
        """Have a datastore say that it has so much room."""
        self.simulator.order("free", datastore=datastore, free=bytes_free)

    def switch_off(self, vm: str) -> None:
        """As an operator does, in vCenter."""
        self.simulator.order("off", vm=vm)

    def rented(self) -> list[str]:
        """The machines that are neither the template nor the neighbour's."""
        found: list[str] = self.simulator.order("rented")
        return found

    def left(self) -> list[str]:
        """Everything that is rented, or of it on this machine, in words."""
        self.settle()
        return [f"machine {vm}" for vm in self.rented()] + guests.left(self.state)

    def settle(self) -> None:
        """Wait until the lab has done what it was told."""
        for machine in list(self.machines.values()):
            machine.queue.submit(lambda: None).result(timeout=240)

    def fresh(self) -> None:
        """Everything as when it was started."""
        self.tools = True
        self.slow_disks.set()
        self.simulator.order("reset")
        self.grant(privileges())
        self.settle()
        self._raise_errors()

    def close(self) -> None:
        """End it, with every machine of it."""
        self._closing = True
        self.slow_disks.set()
        self.simulator.close()
        for machine in list(self.machines.values()):
            machine.queue.shutdown(wait=True, cancel_futures=True)
        for name in guests.names():
            guests.destroy(name)
        self._raise_errors()

    def _raise_errors(self) -> None:
        if self.errors:
            found, self.errors = self.errors, []
            raise ExceptionGroup("the lab behind the emulator", found)  # type: ignore[type-var]

    def _told(self, now: dict[str, Any]) -> None:
        """The simulator says how a machine stands now; the lab follows, in the machine's queue."""
        if not _is_rented(now) and now["vm"] not in self.machines:
            return
        with self._lock:
            machine = self.machines.get(now["vm"])
            if machine is None:
                machine = Machine(now["vm"], ThreadPoolExecutor(1, thread_name_prefix=now["vm"]))
                self.machines[now["vm"]] = machine
        with contextlib.suppress(RuntimeError):  # it is being closed
            machine.queue.submit(self._follow, machine, now)

    def _follow(self, machine: Machine, now: dict[str, Any]) -> None:
        try:
            if now["gone"] or not now["on"]:
                self._end(machine)
            else:
                if not machine.is_on:
                    self._boot(machine, now)
                self._plug(machine, now)
        except BaseException as error:  # noqa: BLE001 - told to whoever stops the emulator
            if not self._closing:
                self.errors.append(error)

    def _boot(self, machine: Machine, now: dict[str, Any]) -> None:
        extra = now["extra"]
        # cloud-init asks its data source OVF before VMware, and takes any OVF environment.
        first = read_user_data("" if now["ovf"] else extra.get("guestinfo.userdata", ""))
        guest = behaving(_guest(machine.name, first, self.time_scale), _tags(extra))
        machine.at_boot = frozenset(one["uuid"] for one in now["disks"])
        machine.disks.clear()
        address, port = guests.boot(guest)
        machine.is_on = True
        with self._lock:
            self._reach[machine.name] = Reach((address,), address, port)
            write_ssh_config(self.ssh_config, self._reach)
        watcher = threading.Thread(target=self._until_off, args=(machine,), daemon=True)
        watcher.start()
        if self.tools:
            self.simulator.order("address", vm=machine.name, address=address)

    def _plug(self, machine: Machine, now: dict[str, Any]) -> None:
        there = {one["uuid"]: one for one in now["disks"] if one["uuid"] not in machine.at_boot}
        for uuid in set(machine.disks) - set(there):
            guests.pull(machine.name, _volume(uuid))
            del machine.disks[uuid]
        for uuid, one in there.items():
            if uuid in machine.disks:
                continue
            self.slow_disks.wait()
            index = next(i for i in range(100) if i not in machine.disks.values())
            image = self.state / "volumes" / f"{_volume(uuid)}.img"
            image.parent.mkdir(exist_ok=True)
            image.touch()
            disk = disk_on(one["datastore"], one["bytes"], one["iops_limit"])
            guests.plug(machine.name, _volume(uuid), disk, image, index=index)
            image.unlink()  # the lab has its own link to the content, which goes with the machine
            machine.disks[uuid] = index

    def _end(self, machine: Machine) -> None:
        if machine.is_on:
            machine.is_on = False
            with self._lock:
                self._reach.pop(machine.name, None)
                write_ssh_config(self.ssh_config, self._reach)
        guests.destroy(machine.name)

    def _until_off(self, machine: Machine) -> None:
        """A guest that switches itself off is off in vSphere, too."""
        guests.wait_until_off(machine.name)
        if machine.is_on and not self._closing:
            with contextlib.suppress(Exception):  # the simulator may have ended meanwhile
                self.switch_off(machine.name)


@contextlib.contextmanager
def running(state: Path, *, time_scale: float = 1.0, port: int = 0) -> Iterator[Vsphere]:
    """Serve until the block ends. Lab hosts of an earlier one that was killed in the same state
    directory are taken away first."""
    before = os.environ.get(guests.LAB_VARIABLE)
    os.environ[guests.LAB_VARIABLE] = str(state / "lab")
    try:
        for name in guests.names():
            guests.destroy(name)
        made = Vsphere(state, time_scale=time_scale, port=port)
        try:
            yield made
        finally:
            made.close()
    finally:
        if before is None:
            del os.environ[guests.LAB_VARIABLE]
        else:
            os.environ[guests.LAB_VARIABLE] = before


def _is_rented(now: dict[str, Any]) -> bool:
    """Whether somebody made it by cloning with user data; templates have none."""
    return "guestinfo.userdata" in (now["extra"] or {})


def _guest(name: str, first: FirstBoot, time_scale: float) -> Guest:
    return Guest(
        name=name,
        style="vsphere",
        user=first.user or _TEMPLATE_USER,
        host_key=first.host_key or made_host_key(),
        authorized_keys="\n".join(first.authorized_keys) + "\n",
        time_scale=time_scale,
        switch=first.switch,
    )


def _tags(extra: dict[str, str]) -> dict[str, str]:
    """How a machine is to behave, as a user of the emulator asks for it in its options."""
    return {_OURS: extra[_OURS]} if extra.get(_OURS) else {}


def _volume(uuid: str) -> str:
    return uuid.replace("-", "").lower()
