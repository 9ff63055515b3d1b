"""Making one lab host, up to an sshd that answers and disks with limits, and removing it by its
name, in whatever state it is. Its own files (sshd's configuration, keys, users) and the access to
it are under the lease's directory with mode 0600 or 0700 and are removed with it."""

import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from diskbench.errors import ReleaseFailed
from diskbench.files import write_private
from diskbench.model.base import Frozen
from diskbench.model.rental import Acquired, SshAccess
from diskbench.providers.lab import devices, processes
from diskbench.providers.lab.devices import NO_LIMITS, write_limits
from diskbench.providers.lab.disks import (
    LabDisk,
    attach_disks,
    is_served,
    make_nodes,
    read_orders,
    save_orders,
    size_bytes,
    write_orders,
)
from diskbench.providers.lab.fuse_file import mounted, unmount
from diskbench.providers.lab.places import LeaseFolder, claim_address, give_up_address, refused
from diskbench.providers.lab.processes import Groups, init_of, kill_group, make_group, remove_group
from diskbench.providers.lab.request import LabKeys, LabRequest


class LabRecord(Frozen):
    """The record of a lease, written before anything is made: lease.json. `acquired` is set last
    and marks a complete host. `lease_id` distinguishes the record from a copy in another
    directory; records of earlier versions lack `lease_id` and `owner`."""

    lease_id: str | None = None
    owner: str | None = None
    request: LabRequest
    made_at: float
    acquired: Acquired | None = None


def read_record(here: LeaseFolder) -> LabRecord | None:
    """The record of a lease; None when it is missing or unreadable."""
    try:
        return LabRecord.model_validate_json(here.record.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def build(
    here: LeaseFolder, groups: Groups, request: LabRequest, keys: LabKeys | None, owner: str | None
) -> Acquired:
    """Make a whole host."""
    record = LabRecord(lease_id=here.lease_id, owner=owner, request=request, made_at=time.time())
    write_record(here, record)
    address, port = claim_address(here)
    write_guest(here, request.user, address, port, keys)
    access = write_access(here, request.user, address, port, keys)
    group = make_group(groups, here.lease_id)
    disks = attach_disks(here, group, request)
    write_orders(here, groups, request, disks)
    init = processes.start_host(here, group, address, port)
    # No disk is visible before its limits are in force.
    for disk in disks:
        make_nodes(init, disk)
    acquired = handed_over(request, disks, address, access)
    write_record(here, record.model_copy(update={"acquired": acquired}))
    return acquired


def handed_over(
    request: LabRequest, disks: tuple[LabDisk, ...], address: str, access: SshAccess | None
) -> Acquired:
    """The host with its disks in their present state."""
    first = disks[0] if disks else None
    return Acquired(
        address=address,
        device=first.names[0] if first else None,
        devices=tuple(disk.names[0] for disk in disks),
        identities=tuple(_identity(disk) for disk in disks),
        identity=_identity(first) if first else None,
        size_bytes=size_bytes(first.loop) if first else 0,
        facts=_facts(request, disks),
        emulated=True,
        ssh=access,
    )


def _facts(request: LabRequest, disks: tuple[LabDisk, ...]) -> dict[str, object]:
    """The facts for the record: read back from the kernel, or emulated."""
    told = ("style", "time_scale", "seed", "latency_ms", "latency_jitter")
    return {
        **{name: getattr(request, name) for name in told},
        "disks": [
            {
                "volume": disk.volume,
                "node": disk.names[-1],
                "links": list(disk.names[:-1]),
                "kernel": disk.loop.kernel,
                "number": disk.loop.number,
                "identity": _identity(disk),
                "size_bytes": size_bytes(disk.loop),
                "tier": disk.limits.tier,
            }
            for disk in disks
        ],
    }


def _identity(disk: LabDisk) -> str:
    """The disk's identity as `diskbench devices` prints it: backing file and inode."""
    return f"{disk.loop.image}:{disk.loop.image.stat().st_ino}"


def revive(here: LeaseFolder, groups: Groups) -> bool:
    """Whether a complete host still exists. A missing supervisor is started again; a disk
    without its server has lost the requests in flight, and its host is no longer complete."""
    group = groups.of(here.lease_id)
    init = init_of(group)
    if init is None or not all(is_served(group, i) for i in mounted(here.path)):
        return False
    if processes.supervisor_of(group) is None:
        orders = read_orders(here)
        # So that an old report is not read as the new supervisor's.
        save_orders(here, replace(orders, generation=orders.generation + 1))
        processes.start_supervisor(here, group, init)
    return True


def write_record(here: LeaseFolder, record: LabRecord) -> None:
    """Write the record of the request and the host atomically."""
    new = here.record.with_suffix(".new")
    write_private(new, record.model_dump_json().encode())
    new.replace(here.record)


UID = 61000
"""The unprivileged user's number: above the range that distributions assign (60000)."""


def write_guest(
    place: LeaseFolder, user: str, address: str, port: int, keys: LabKeys | None
) -> None:
    """Write the host's files; idempotent, existing keys are kept."""
    etc = place.guest / "etc"
    for directory in (place.access, etc, place.guest / "mnt", place.images):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in ("tmp", "var-tmp"):
        directory = place.guest / name
        directory.mkdir(exist_ok=True)
        directory.chmod(0o1777)
    _write_keys(place, keys)
    _write(etc / "hostname", f"lab-{place.lease_id[-12:]}\n")
    _write(
        etc / "sshd_config",
        f"ListenAddress {address}:{port}\nHostKey /run/lab/host_key\n"
        "AuthorizedKeysFile /run/lab/authorized_keys\nPidFile none\n"
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "PermitRootLogin prohibit-password\nMaxStartups 100\nMaxSessions 100\nUseDNS no\n"
        "PrintMotd no\nPrintLastLog no\nLogLevel ERROR\nSubsystem sftp internal-sftp\n",
    )
    if user != "root":
        _write_user(etc, user)


def write_access(
    place: LeaseFolder, user: str, address: str, port: int, keys: LabKeys | None
) -> SshAccess:
    """Write the files that a client needs, and return their paths."""
    private = place.guest / "etc" / "host_key"
    beside = private.with_suffix(".pub")
    there = beside.exists()
    text = beside.read_text("ascii") if there else _called("ssh-keygen", "-y", "-f", str(private))
    public = " ".join(text.split()[:2])
    name = address if port == 22 else f"[{address}]:{port}"
    known_hosts, config = place.access / "known_hosts", place.access / "ssh_config"
    identity = keys.identity_file if keys else str(place.access / "user_key")
    _write(known_hosts, f"{name} {public}\n")
    _write(
        config,
        f"Host {address} {place.lease_id}\n"
        f"  HostName {address}\n  HostKeyAlias {name}\n  Port {port}\n  User {user}\n"
        f'  IdentityFile "{identity}"\n  IdentitiesOnly yes\n  IdentityAgent none\n'
        f'  UserKnownHostsFile "{known_hosts}"\n  GlobalKnownHostsFile /dev/null\n'
        "  StrictHostKeyChecking yes\n",
    )
    return SshAccess(
        config=str(config), known_hosts=str(known_hosts), identity_file=identity,
        host_key=public, user=user, port=port,
    )  # fmt: skip


def _write_keys(place: LeaseFolder, keys: LabKeys | None) -> None:
    etc = place.guest / "etc"
    if keys is not None:
        _write(etc / "host_key", keys.host_key.rstrip("\n") + "\n")
        _write(etc / "authorized_keys", keys.authorized_keys.rstrip("\n") + "\n", mode=0o644)
        return
    _keygen(etc / "host_key")
    _keygen(place.access / "user_key")
    public = (place.access / "user_key.pub").read_text("ascii")
    # sshd reads it as the user who logs in.
    _write(etc / "authorized_keys", public, mode=0o644)


def _write_user(etc: Path, user: str) -> None:
    """Write the machine's accounts and one more, which may become root without a password."""
    lines = {
        "passwd": f"{user}:x:{UID}:{UID}:lab:/home/{user}:/bin/bash\n",
        "group": f"{user}:x:{UID}:\n",
        # No password, but not a locked account, which sshd would refuse.
        "shadow": f"{user}:*:19000:0:99999:7:::\n",
    }
    for name, line in lines.items():
        _write(etc / name, Path("/etc", name).read_text("utf-8") + line, mode=0o644)
    (etc / "shadow").chmod(0o600)
    sudoers = (
        'Defaults env_reset\nDefaults secure_path="/usr/local/sbin:/usr/local/bin:/usr/sbin:'
        f'/usr/bin:/sbin:/bin"\nroot ALL=(ALL:ALL) ALL\n{user} ALL=(ALL:ALL) NOPASSWD:ALL\n'
    )
    _write(etc / "sudoers", sudoers)
    (etc / "sudoers").chmod(0o440)
    _write(etc / "user", f"{user}\n")


def _keygen(path: Path) -> None:
    public = path.with_suffix(".pub")
    if path.exists() and public.exists():
        return
    path.unlink(missing_ok=True)
    _called("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "diskbench-lab", "-f", str(path))


def _called(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise refused("program failed", argv=argv, stderr=done.stderr.strip())
    return done.stdout


def _write(path: Path, text: str, *, mode: int = 0o600) -> None:
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    new.chmod(mode)
    new.replace(path)


def demolish(here: LeaseFolder, groups: Groups) -> None:
    """Remove everything but the directory and its record: processes, limits, devices, address,
    files. The processes first: the host's mounts end with them, nothing writes limits any more, and
    requests waiting for a slow disk's server fail. The limits are removed before the processes' end
    is awaited: their last writes are still flushed, at full speed."""
    group, throttle = groups.of(here.lease_id), groups.throttle_of(here.lease_id)
    kill_group(group)
    for loop in devices.find(here.path):
        if throttle.exists():
            write_limits(groups.version, str(throttle), loop.number, NO_LIMITS)
    remove_group(group)
    failures: list[ReleaseFailed] = []
    for loop in devices.find(here.path):
        try:
            # A second time: the supervisor may have been writing limits when it was killed.
            if throttle.exists():
                write_limits(groups.version, str(throttle), loop.number, NO_LIMITS)
            devices.detach(loop)
        except ReleaseFailed as error:
            failures.append(error)
    if failures:
        why = "; ".join(error.message for error in failures)
        raise ReleaseFailed(why, advice=failures[0].advice)
    # Not earlier: after the unmount a loop device can no longer be found by its file.
    unmount(here.path)
    give_up_address(here)
    for entry in here.path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry != here.record:
            entry.unlink()


def remove(here: LeaseFolder) -> None:
    """Remove the record and the directory, last of all: until then the lease can be found."""
    here.record.unlink(missing_ok=True)
    here.path.rmdir()
