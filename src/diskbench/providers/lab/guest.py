"""The files of a lab host and its clients: keys, configuration of sshd and ssh, users.

All are under the lease's directory with mode 0600 or 0700 and are removed with it.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from diskbench.errors import HostUnavailable
from diskbench.model.rental import SshAccess

if TYPE_CHECKING:
    from diskbench.providers.lab.places import LeaseFolder
    from diskbench.providers.lab.request import LabKeys

UID = 61000
"""The unprivileged user's number: above the range that distributions assign (60000)."""
_ACCOUNTS = ("passwd", "group", "shadow")


def write_guest(
    place: LeaseFolder, *, user: str, address: str, port: int, keys: LabKeys | None
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
    _write(etc / "sshd_config", _sshd_config(address, port))
    if user != "root":
        _write_user(etc, user)


def write_access(
    place: LeaseFolder, *, user: str, address: str, port: int, keys: LabKeys | None
) -> SshAccess:
    """Write the files that a client needs, and return their paths."""
    public = _public_key(place.guest / "etc" / "host_key")
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
        config=str(config),
        known_hosts=str(known_hosts),
        identity_file=identity,
        host_key=public,
        user=user,
        port=port,
    )


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


def _sshd_config(address: str, port: int) -> str:
    return (
        f"ListenAddress {address}:{port}\nHostKey /run/lab/host_key\n"
        "AuthorizedKeysFile /run/lab/authorized_keys\nPidFile none\n"
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "PermitRootLogin prohibit-password\nMaxStartups 100\nMaxSessions 100\nUseDNS no\n"
        "PrintMotd no\nPrintLastLog no\nLogLevel ERROR\nSubsystem sftp internal-sftp\n"
    )


def _write_user(etc: Path, user: str) -> None:
    """Write the machine's accounts and one more, which may become root without a password."""
    lines = {
        "passwd": f"{user}:x:{UID}:{UID}:lab:/home/{user}:/bin/bash\n",
        "group": f"{user}:x:{UID}:\n",
        # No password, but not a locked account, which sshd would refuse.
        "shadow": f"{user}:*:19000:0:99999:7:::\n",
    }
    for name in _ACCOUNTS:
        source = Path("/etc") / name
        _write(etc / name, source.read_text("utf-8") + lines[name], mode=0o644)
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
    _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "diskbench-lab", "-f", str(path))


def _public_key(private: Path) -> str:
    beside = private.with_suffix(".pub")
    text = (
        beside.read_text("ascii")
        if beside.exists()
        else _run("ssh-keygen", "-y", "-f", str(private))
    )
    return " ".join(text.split()[:2])


def _run(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise HostUnavailable(
            f"{argv[0]} failed: {done.stderr.strip()}", advice="look at the free space"
        )
    return done.stdout


def _write(path: Path, text: str, *, mode: int = 0o600) -> None:
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    new.chmod(mode)
    new.replace(path)
