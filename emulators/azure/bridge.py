"""Virtual machines and lab hosts in step: booted, disks plugged and pulled, taken away."""

import hashlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from diskbench.model.rental import DiskSpec
from diskbench.units import GIB, MIB
from emulators import guests
from emulators.azure import disk_rules, sizes
from emulators.azure.cloud import Cloud, Machine
from emulators.guests import Reach, behaving
from emulators.user_data import made_host_key, read_user_data

MB = 10**6
TEMP_NODE, TEMP_LINK = "/dev/sdb", "/dev/disk/azure/resource"
BURSTING = (30_000, 1000)
"""On demand, Premium SSD: IOPS and MB/s (managed-disks-bursting-2.md, 2025-01-14)."""


def guest_name(vm: str) -> str:
    """The lab's name of a virtual machine, by its id."""
    return f"vm-{hashlib.sha256(vm.lower().encode()).hexdigest()[:16]}"


def prepared(cloud: Cloud, vm: dict[str, Any], profile: dict[str, Any]) -> Machine:
    """The machine that is to stand behind `vm`, known from now on."""
    first = read_user_data(profile.get("customData") or "")
    linux = profile.get("linuxConfiguration") or {}
    keys = [one["keyData"] for one in (linux.get("ssh") or {}).get("publicKeys") or []]
    size = sizes.size_of(vm["properties"]["hardwareProfile"]["vmSize"])
    iops, mbps = size.uncached or (None, None)
    guest = guests.Guest(
        name=guest_name(vm["id"]),
        style="azure-nvme" if _is_nvme(vm) else "azure",
        user=first.user or profile["adminUsername"],
        host_key=first.host_key or made_host_key(),
        authorized_keys="\n".join([*first.authorized_keys, *keys]),
        time_scale=cloud.time_scale,
        vm_iops=iops,
        vm_bytes_per_s=None if mbps is None else mbps * MB,
        expires_at=cloud.started_at + cloud.limit_s,
        switch=first.switch,
    )
    guest = behaving(guest, vm.get("tags") or {})
    queue = ThreadPoolExecutor(1, thread_name_prefix=guest.name)
    made = cloud.machines[vm["id"].lower()] = Machine(vm["id"], guest, queue)
    return made


def _is_nvme(vm: dict[str, Any]) -> bool:
    profile = vm["properties"]["storageProfile"]
    return bool(profile.get("diskControllerType") == "NVMe")


def boot(
    cloud: Cloud, machine: Machine, told: tuple[str, ...], temp_gib: int, *, deaf: bool
) -> None:
    """Start it with its temporary disk; from then on SSH finds it at the addresses `told`. A deaf
    one answers nobody."""
    if deaf:
        with cloud.lock:
            cloud.reachable(machine.vm, Reach(told, guests.silent_address(), 22))
        return
    name = machine.guest.name
    address, port = guests.boot(machine.guest)
    if temp_gib:
        guests.plug_local(name, "resource", temp_gib * GIB, TEMP_NODE, (TEMP_LINK,))
    with cloud.lock:
        cloud.reachable(machine.vm, Reach(told, address, port))
    watcher = threading.Thread(target=_watch, args=(cloud, machine), daemon=True)
    watcher.start()


def _watch(cloud: Cloud, machine: Machine) -> None:
    """A guest that switches itself off is stopped, and still billed: states-billing.md."""
    guests.wait_until_off(machine.guest.name)
    with cloud.lock:
        if not machine.going and cloud.machines.get(machine.vm.lower()) is machine:
            cloud.powers[machine.vm.lower()] = "stopped"


def arrange(cloud: Cloud, machine: Machine, wanted: dict[str, tuple[int, str]]) -> None:
    """Give the machine these disks, id → LUN and caching, and no others. A disk whose caching
    changes goes and comes back."""
    for disk, (lun, caching, volume) in list(machine.plugged.items()):
        if wanted.get(disk) != (lun, caching):
            if guests.is_up(machine.guest.name):
                guests.pull(machine.guest.name, volume)
            del machine.plugged[disk]
    for disk, (lun, caching) in wanted.items():
        if disk not in machine.plugged:
            with cloud.lock:
                document, vm = cloud.get(disk), cloud.get(machine.vm)
            _plug(cloud, machine, vm, document, lun, caching)
            machine.plugged[disk] = (lun, caching, volume_name(document))


def _plug(
    cloud: Cloud, machine: Machine, vm: dict[str, Any], disk: dict[str, Any], lun: int, caching: str
) -> None:
    """Let a disk appear in the machine, limited as the catalogue says, or as the size's cache is
    where it is cached: every request counts as a hit."""
    if cloud.faults.machines_are_deaf:  # no lab host is behind it
        return
    image = cloud.image(disk)
    image.parent.mkdir(exist_ok=True)
    with image.open("ab") as file:
        file.truncate(disk["properties"]["diskSizeGB"] * GIB)
    name, host = volume_name(disk), machine.guest.name
    guests.plug(host, name, disk_spec(disk), image, index=lun)
    cached = sizes.size_of(vm["properties"]["hardwareProfile"]["vmSize"]).cached
    if caching != "None" and cached is not None:
        iops, mbps = cached
        guests.serve_from_cache(host, name, iops, mbps * MB, writes=caching == "ReadWrite")


def disk_spec(disk: dict[str, Any]) -> DiskSpec:
    """The disk as the catalogue of the lab knows it. One of a better tier than its size's, or that
    bursts on demand, has figures of its own and no bucket. The catalogue takes the cloud's own
    MB/s, a disk of no catalogue MiB/s."""
    properties, sku = disk["properties"], disk["sku"]["name"].replace("_ZRS", "_LRS")
    size, iops, mbps = (
        properties[key] for key in ("diskSizeGB", "diskIOPSReadWrite", "diskMBpsReadWrite")
    )
    if sku in disk_rules.UNCACHED:
        return DiskSpec(type=sku, size_gib=size, iops=iops, throughput_mib_per_s=mbps)
    if properties.get("burstingEnabled"):
        iops, mbps = BURSTING
    elif disk_rules.figures(sku, size, {})["diskIOPSReadWrite"] == iops:
        return DiskSpec(type=sku, size_gib=size)
    return DiskSpec(
        type=guests.CUSTOM, size_gib=size, iops=iops, throughput_mib_per_s=mbps * MB / MIB
    )


def volume_name(disk: dict[str, Any]) -> str:
    """The lab's name of a disk."""
    return f"disk-{disk['properties']['uniqueId']}"


def destroy(cloud: Cloud, machine: Machine) -> Future[Any]:
    """Begin to take the machine away; nobody finds it any more."""
    machine.going = True
    cloud.reachable(machine.vm, None)
    return machine.queue.submit(guests.destroy, machine.guest.name)


def forget(cloud: Cloud, machine: Machine) -> None:
    """It is gone."""
    if cloud.machines.get(machine.vm.lower()) is machine:
        del cloud.machines[machine.vm.lower()]
    machine.queue.shutdown(wait=False)


def destroy_all(cloud: Cloud, below: str) -> Future[Any]:
    """Begin to take away every machine below an id."""
    found = [one for key, one in cloud.machines.items() if key.startswith(below.lower())]
    going = [destroy(cloud, machine) for machine in found]

    def wait() -> None:
        for one in going:
            one.result()
        with cloud.lock:
            for machine in found:
                forget(cloud, machine)

    return apart(wait)


def apart(work: Callable[[], Any]) -> Future[Any]:
    """Do it in a thread of its own."""
    done: Future[Any] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - whoever waits for it gets it
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return done
