"""Lab hosts by lease: make, find and release machines emulated on this one.

Everything is found by the lease's name and never remembered."""

import contextlib
import os
import shlex
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

from diskbench.errors import DiskbenchError, ReleaseFailed
from diskbench.model.rental import Acquired
from diskbench.providers.lab import devices, places, processes
from diskbench.providers.lab.build import build, demolish, read_record, remove, revive, write_record
from diskbench.providers.lab.disks import check_fuse, read_orders, save_orders
from diskbench.providers.lab.places import LeaseFolder, refused
from diskbench.providers.lab.processes import Groups, find_groups, init_of
from diskbench.providers.lab.request import (
    MAX_DISKS,
    LabKeys,
    LabRequest,
    check_lease_id,
    check_volume,
    disk_limits,
    is_lease_id,
)

_PROGRAMS = ("unshare", "mount", "ssh-keygen", "ssh")


def check(request: LabRequest) -> None:
    """Refuse an impossible request before anything is made. Raises HostUnavailable where this
    machine cannot run a lab, UnknownName or InvalidValue for a disk that the catalogue does not
    have."""
    check_machine(request.user)
    if request.cache != "none":
        check_fuse("cache")
    if request.latency_ms:
        check_fuse()
    elif request.latency_jitter:
        raise refused("jitter without latency", request=request)
    if bool(request.hidden_burst) != bool(request.hidden_burst_for_s):
        raise refused("half a hidden burst", request=request)
    for volume in request.volumes:
        check_volume(volume)
    if request.disk is not None:
        disk_limits(request.style, request.disk)
        most = MAX_DISKS[request.style]
        if request.disk.count > most:
            raise refused("too many disks", request=request, most=most)


def acquire(
    lease_id: str, request: LabRequest, *, keys: LabKeys | None = None, owner: str | None = None
) -> Acquired:
    """Make or find the host of `lease_id`; idempotent. A host that is incomplete or off is made
    anew. Raises InvalidValue when the lease exists with another request, HostUnavailable when the
    host cannot be made; nothing is left then."""
    check_lease_id(lease_id)
    check(request)
    groups = find_groups()
    with places.locked(lease_id) as here:
        record = read_record(here)
        # The expiry alone may differ.
        expiry = {"expires_at": request.expires_at}
        if record is not None and record.request.model_copy(update=expiry) != request:
            raise refused("lease of another request", lease_id=lease_id)
        if record is not None and record.acquired and revive(here, groups):
            return record.acquired
        demolish(here, groups)
        try:
            return build(here, groups, request, keys, owner)
        except BaseException:
            with contextlib.suppress(DiskbenchError):
                demolish(here, groups)
                remove(here)
                places.remove_base()
            raise


def release(lease_id: str) -> None:
    """Remove everything of the lease; succeeds if there is nothing. Waits for a concurrent
    `acquire` of the same lease. Raises ReleaseFailed naming what is left."""
    check_lease_id(lease_id)
    groups = find_groups()
    if lease_id not in _known(groups):
        # The process that removed the last host may have been killed before this.
        places.remove_base()
        return
    with places.locked(lease_id) as here:
        try:
            demolish(here, groups)
            remove(here)
        except OSError as error:
            raise refused("host not given back", lease_id=lease_id, error=error) from error
    places.remove_base()


def leases() -> dict[str, float | None]:
    """Every lease with anything left on this machine, and its expiry (Unix seconds); None where
    unknown."""
    groups = find_groups()
    records = {lease_id: read_record(places.place(lease_id)) for lease_id in _known(groups)}
    return {name: record.request.expires_at if record else None for name, record in records.items()}


def owner(lease_id: str) -> str | None:
    """The owner of a lab host; None where unknown."""
    record = read_record(places.place(lease_id))
    return record.owner if record else None


def stale(*, now: float | None = None) -> tuple[str, ...]:
    """Every lease that expired, is incomplete, is off, or has lost its record; not one that is
    being made or released now."""
    now = time.time() if now is None else now
    groups = find_groups()
    return tuple(lease_id for lease_id in _known(groups) if _is_stale(lease_id, groups, now))


def is_up(lease_id: str) -> bool:
    """Whether the host of a lease runs."""
    return init_of(find_groups().of(lease_id)) is not None


def extend(lease_id: str, expires_at: float) -> None:
    """Set the expiry of a host's lease to `expires_at` (Unix seconds); succeeds if there is no
    host."""
    check_lease_id(lease_id)
    if lease_id not in _known(find_groups()):
        return
    with places.locked(lease_id) as here:
        record = read_record(here)
        if record is None:  # incomplete: the next `acquire` makes it anew
            return
        request = record.request.model_copy(update={"expires_at": expires_at})
        write_record(here, record.model_copy(update={"request": request}))


def set_credit(lease_id: str, *, on: bool) -> None:
    """Let the burst buckets of the lease's disks change, or hold them: while held, I/O spends no
    credit and disks run as with a full bucket. In force on return; idempotent. Raises
    HostUnavailable when there is no such host, or its supervisor does not answer."""
    with places.locked(lease_id) as here:
        if not here.orders.exists():
            remove(here)
            places.remove_base()
            raise refused("no host", lease_id=lease_id)
        orders = read_orders(here)
        if orders.credit != on:
            save_orders(here, replace(orders, credit=on, generation=orders.generation + 1))
        processes.await_orders(here)


def check_machine(user: str = "root") -> None:
    """Raise HostUnavailable where this machine cannot run lab hosts with that user."""
    if sys.platform != "linux":
        raise refused("no Linux", sys=sys)
    if os.geteuid() != 0:
        # By its path: sudo looks for commands in directories of its own.
        again = shlex.join(["sudo", str(Path(sys.argv[0]).absolute()), *sys.argv[1:]])
        raise refused("not root", again=again)
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if processes.sshd_path() is None:
        missing.append("sshd")
    if user != "root" and shutil.which("sudo") is None:
        missing.append("sudo")
    if missing:
        raise refused("programs missing", missing=", ".join(missing))


def _known(groups: Groups) -> tuple[str, ...]:
    """Every lease with a directory, a group or a loop device. Other files in the lab's directory
    are ignored."""
    base = places.base_directory()
    on_loops = {loop.image.relative_to(base).parts[0] for loop in devices.find(base)}
    names = sorted({*places.lease_ids(), *groups.lease_ids(), *on_loops})
    return tuple(name for name in names if is_lease_id(name) and _is_ours(places.place(name)))


def _is_ours(here: LeaseFolder) -> bool:
    """Whether a directory was made for the lease that it is named after: by the lease in its
    record or, where that is lost, because it holds nothing but files of a lab host."""
    record = read_record(here)
    if record is not None:
        return record.lease_id in {None, here.lease_id}
    try:
        return {entry.name for entry in here.path.iterdir()} <= places.OWN_ENTRIES
    except FileNotFoundError:
        return True
    except NotADirectoryError:
        return False


def copies() -> dict[str, str]:
    """The directories that hold a copy of another lease's record: directory name to that lease."""
    by_directory = {}
    for name in places.lease_ids():
        record = read_record(places.place(name))
        if record is not None and record.lease_id not in {None, name}:
            assert record.lease_id is not None
            by_directory[name] = record.lease_id
    return by_directory


def delete_copy(name: str) -> None:
    """Delete a directory that holds the record of another lease; raises ReleaseFailed."""
    if name not in copies():
        return
    try:
        shutil.rmtree(places.place(name).path)
    except OSError as error:
        raise ReleaseFailed(f"not deleted: {places.place(name).path}: {error}") from error


def _is_stale(lease_id: str, groups: Groups, now: float) -> bool:
    here = places.place(lease_id)
    if places.is_held(here):
        return False
    record = read_record(here)
    if record is None or record.acquired is None:
        return True
    expires = record.request.expires_at
    return (expires is not None and expires < now) or init_of(groups.of(lease_id)) is None
