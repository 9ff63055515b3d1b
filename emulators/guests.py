"""Lab hosts as the machines of an emulated cloud: the only module that knows the lab.

A guest is found by its name, as every lab host is by its lease; nothing is kept in memory.
"""

import contextlib
import os
import select
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from diskbench.catalog.bucket import Allowance, SharedLimits
from diskbench.errors import HostUnavailable
from diskbench.model.rental import CUSTOM as CUSTOM
from diskbench.model.rental import DiskSpec
from diskbench.providers.lab import devices, hotplug, machines, processes
from diskbench.providers.lab.disks import LabDisk, make_nodes, read_orders, save_orders, size_bytes
from diskbench.providers.lab.places import VARIABLE, locked, place
from diskbench.providers.lab.processes import find_groups, init_of, members
from diskbench.providers.lab.request import LabKeys, LabRequest, disk_limits
from diskbench.providers.lab.request import Style as Style  # for those who know no lab
from diskbench.providers.lab.supervisor.rates import ThrottledDisk
from diskbench.units import MIB
from emulators import dead_man

LAB_VARIABLE = VARIABLE
"""The environment variable that says where lab hosts are kept."""
TAG = "diskbench-lab"
"""The tag in which diskbench hands `--time-scale`, `--noise` and their like to an emulated cloud:
`noise=0.05 time_scale=60.0`. No real cloud would know what to do with it."""
_NUMBERS = (
    "time_scale", "noise", "latency_ms", "latency_jitter", "stall_every_s", "stall_for_s",
    "vm_iops",
)  # fmt: skip


@dataclass(frozen=True)
class Guest:
    """What is asked for: one machine without data disks. The caps are those of all its network
    disks together, None for no cap."""

    name: str
    style: Style
    user: str
    host_key: str
    authorized_keys: str
    time_scale: float = 1.0
    vm_iops: float | None = None
    vm_bytes_per_s: float | None = None
    noise: float = 0.0
    latency_ms: float = 0.0
    latency_jitter: float = 0.0
    stall_every_s: float = 0.0
    stall_for_s: float = 0.0
    seed: int = 0
    expires_at: float | None = None
    switch: str = ""
    """The script of the user data that arms the machine's dead-man's switch."""


@dataclass(frozen=True)
class Reach:
    """One guest: the addresses that its cloud tells of it, and where its sshd is."""

    told: tuple[str, ...]
    address: str
    port: int


def behaving(guest: Guest, tags: Mapping[str, str]) -> Guest:
    """The guest as its tags ask for it. Raises ValueError for a figure that is none."""
    told = dict(pair.split("=", 1) for pair in tags.get(TAG, "").split())
    figures: dict[str, float] = {key: float(told[key]) for key in _NUMBERS if key in told}
    changed = replace(guest, **figures)  # type: ignore[arg-type]  # all are floats
    if "vm_throughput_mib_per_s" in told:
        changed = replace(changed, vm_bytes_per_s=float(told["vm_throughput_mib_per_s"]) * MIB)
    return replace(changed, seed=int(told["seed"])) if "seed" in told else changed


def write_ssh_config(path: Path, guests: Mapping[str, Reach]) -> None:
    """Write the OpenSSH configuration that leads to these guests, all at once, as a user behind a
    bastion has one.

    A lab host's sshd is on port 22 of its own loopback address, or on 2222 where this machine's own
    sshd has 22 on all addresses; nothing but this file tells that.
    """
    blocks = [
        f"# {name}\nHost {told}\n  HostName {reach.address}\n  Port {reach.port}\n"
        # Whoever verifies the host looks its key up by the address that the cloud told.
        f"  HostKeyAlias {told}\n"
        for name, reach in sorted(guests.items())
        for told in reach.told
    ]
    new = path.with_suffix(".new")
    new.write_text("\n".join(blocks), "utf-8")
    new.replace(path)


def boot(guest: Guest) -> tuple[str, int]:
    """Start the machine; where its sshd listens. Raises HostUnavailable."""
    request = LabRequest(
        style=guest.style,
        user=guest.user,
        time_scale=guest.time_scale,
        vm_iops=guest.vm_iops,
        vm_bytes_per_s=guest.vm_bytes_per_s,
        noise=guest.noise,
        latency_ms=guest.latency_ms,
        latency_jitter=guest.latency_jitter,
        stall_every_s=guest.stall_every_s,
        stall_for_s=guest.stall_for_s,
        seed=guest.seed,
        expires_at=guest.expires_at,
    )
    # The user's private key is with whoever made it: nobody logs in from here.
    keys = LabKeys(guest.host_key, guest.authorized_keys, identity_file="none")
    made = machines.acquire(guest.name, request, keys=keys)
    assert made.ssh is not None
    group = find_groups().of(guest.name)
    init = init_of(group)
    if guest.switch and init is not None:
        dead_man.arm(init, guest.switch, lambda: _end(init, group))
    return made.address, made.ssh.port


def ends_at(guest: str) -> float | None:
    """When the machine's dead-man's switch goes off (Unix seconds); None where it has none."""
    init = init_of(find_groups().of(guest))
    return None if init is None else dead_man.ends_at(init)


LAZY_PER_S = 16 * MIB
"""Bytes a second at which a disk from a snapshot is loaded when it is first read, where nothing
else was paid for; our choice (reports of EBS go from 5 to 60 MB/s)."""


def plug(
    guest: str, volume: str, disk: DiskSpec, image: Path, *, index: int, load_per_s: float = 0.0
) -> None:
    """Attach a network disk with the content of `image`, as number `index` (from 0), limited as the
    catalogue says, loaded at `load_per_s` when it is first read. Twice is as once."""
    linked = place(guest).images / f"{volume}.img"
    if not linked.exists():
        os.link(image, linked)  # the lab forgets what it detaches; the volume's content stays ours
    hotplug.plug_in(guest, volume, disk, index=index, load_per_s=load_per_s)


def plug_local(guest: str, serial: str, size: int, node: str, links: tuple[str, ...]) -> None:
    """Attach a disk of the machine's own: `size` bytes, as fast as this machine's."""
    with locked(guest) as here:
        init = init_of(find_groups().of(guest))
        if init is None:
            raise HostUnavailable(f"{guest} is off", advice="it was terminated meanwhile")
        image = here.images / f"{serial}.img"
        with image.open("ab") as file:
            file.truncate(size)
        limits = disk_limits("aws-nvme", DiskSpec(type=CUSTOM, size_gib=1))
        made = LabDisk(serial, (*links, node), devices.attach(image), limits)
        assert size_bytes(made.loop) == size
        make_nodes(init, made)


def serve_from_cache(
    guest: str, volume: str, iops: float, bytes_per_s: float, *, writes: bool
) -> None:
    """From now on reads of an attached disk, and its writes if `writes`, are held to these figures
    instead of its own, as if all of it were in its host's cache.

    The machine's cap is not for what comes from there; it is lifted for all of its disks.
    """
    cached = SharedLimits("both" if writes else "read", Allowance(iops), Allowance(bytes_per_s))
    with locked(guest) as here:
        kernels = {loop.kernel for loop in devices.find(here.images / f"{volume}.img")}
        orders = read_orders(here)
        disks = tuple(
            replace(disk, pools=(cached, *_writes_of(disk, writes=writes)))
            if disk.kernel in kernels
            else disk
            for disk in orders.disks
        )
        save_orders(
            here,
            replace(
                orders,
                disks=disks,
                machine=(),
                generation=orders.generation + 1,
            ),
        )
        processes.await_orders(here)


def _writes_of(disk: ThrottledDisk, *, writes: bool) -> list[SharedLimits]:
    """What is left of a disk's own limits when its reads, or all of it, come from a cache."""
    if writes:
        return []
    return [replace(pool, covers="write") for pool in disk.pools if pool.covers != "read"]


def is_up(guest: str) -> bool:
    """Does the machine run?"""
    return init_of(find_groups().of(guest)) is not None


def pull(guest: str, volume: str) -> None:
    """Detach a network disk; one that is not there is as well. Raises ReleaseFailed while something
    in the guest holds it, HostUnavailable when the guest is off."""
    hotplug.pull_out(guest, volume)


def destroy(guest: str) -> None:
    """Take the machine away with all that is in it; twice is as once. Raises ReleaseFailed."""
    machines.release(guest)


def wait_until_off(guest: str) -> None:
    """Return when the machine's process 1 has ended, for whatever reason."""
    init = init_of(find_groups().of(guest))
    try:
        handle = None if init is None else os.pidfd_open(init)
    except ProcessLookupError:
        return
    if handle is None:
        return
    try:
        watched = select.poll()
        watched.register(handle, select.POLLIN)
        watched.poll()
    finally:
        os.close(handle)


def switch_off(guest: str) -> None:
    """End the machine's process 1, as its own timer or its user would."""
    group = find_groups().of(guest)
    init = init_of(group)
    if init is not None:
        _end(init, group)


def _end(init: int, group: Path) -> None:
    """End that process, and never another that has its number by now."""
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(init)
        try:
            if init in members(group):
                signal.pidfd_send_signal(handle, signal.SIGTERM)
        finally:
            os.close(handle)


@dataclass(frozen=True)
class Counted:
    """One network disk: what it did since it was attached, and the levels a second at which its
    IOPS and bytes are held, with and without burst credit."""

    done: devices.Counters
    iops: tuple[float, ...] = ()
    bytes_per_s: tuple[float, ...] = ()


def counted(guest: str) -> dict[str, Counted]:
    """Every network disk that is attached to the machine now, by its volume."""
    here = place(guest)
    with contextlib.suppress(OSError, ValueError):
        orders = {disk.kernel: disk for disk in read_orders(here).disks}
        found = {}
        for loop in devices.find(here.images):
            if (disk := orders.get(loop.kernel)) is not None:
                found[loop.image.stem] = Counted(
                    devices.read_counters(loop.kernel),
                    _levels(pool.iops for pool in disk.pools),
                    _levels(pool.bytes_per_s for pool in disk.pools),
                )
        return found
    return {}


def _levels(limits: Iterable[Allowance | None]) -> tuple[float, ...]:
    return tuple(
        level for limit in limits if limit is not None for level in (limit.baseline, limit.ceiling)
    )


def commands(guest: str) -> frozenset[str]:
    """The commands that run in the machine now, their words separated by NULs."""
    found = set()
    for pid in members(find_groups().of(guest)):
        try:
            found.add(Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace"))
        except OSError:  # it ended while we looked
            continue
    return frozenset(found)


def names() -> tuple[str, ...]:
    """Every guest of which anything is left here."""
    return tuple(sorted(machines.leases()))


def left(state: Path) -> list[str]:
    """Everything of any guest below `state` that is still on this machine, in words."""
    found = [f"guest {name}" for name in names()]
    found += [f"device {loop.kernel} on {loop.image}" for loop in devices.find(state)]
    needle = os.fsencode(state)
    for process in Path("/proc").glob("[0-9]*"):
        if int(process.name) == os.getpid():
            continue
        try:
            mounts = (process / "mountinfo").read_bytes()
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if needle in mounts:
            found.append(f"mount in {process.name}")
        if needle in words and b"diskbench.providers.lab" in words:
            found.append(f"process {process.name}")
    return found


def silent_address() -> str:
    """A loopback address at which nothing answers: of a machine that never came up."""
    return "127.255.255.254"
