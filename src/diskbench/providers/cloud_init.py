"""The cloud-config for a rented guest's first boot, from the lease's own facts: pure.

The modules used are cloud-init's, "Module reference" (docs.cloud-init.io, 21 November 2026): SSH,
Set Passwords, Users and Groups (`user` overrides the image's default user), Bootcmd (early, in the
network stage; `cloud-init-per instance` makes it once), Runcmd (in the final stage, "Boot stages":
after SSH is up). Its own `packages` is not used: it tries once and does not say how it ended.
"""

import math
import re
import shlex
import time
from datetime import UTC, datetime
from typing import Any

import yaml
from pydantic import Field, SecretStr
from ulid import ULID

from diskbench.errors import InvalidValue
from diskbench.model.base import Frozen
from diskbench.providers.error_table import refused
from diskbench.providers.scripts import script

MAX_USER_DATA_BYTES = 16_384
"""EC2 takes 16 KB before encoding (EC2 User Guide, "Run commands when you launch an EC2 instance
with user data input", 2026); the others take more."""
UPTIME_LIMIT_S = 86_400.0
"""The default uptime limit of a guest, independent of its clock; our choice."""
_END_OF_TIME = 4_102_444_800.0
"""2100-01-01: a later time is a mistake."""


class GuestSpec(Frozen):
    """The data of a guest's cloud-config. `user` is the image's default user, `host_key_private` an
    OpenSSH ed25519 key that the controller made, `authorized_key` the lease's user key.

    `expires_at` (Unix seconds) and `uptime_limit_s` (since each boot) are when the guest powers
    itself off, by whichever comes first; the second holds when the clock is wrong.
    """

    hostname: str = Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
    user: str = Field(pattern=r"^[a-z_][a-z0-9_-]{0,31}$")
    host_key_private: SecretStr
    host_key_public: str = Field(pattern=r"^ssh-ed25519 [A-Za-z0-9+/=]+( [ -~]+)?$")
    authorized_key: str = Field(pattern=r"^ssh-[a-z0-9@.-]+ [A-Za-z0-9+/=]+( [ -~]+)?$")
    expires_at: float = Field(gt=0, lt=_END_OF_TIME)
    packages: tuple[str, ...] = ("fio",)
    uptime_limit_s: float = Field(default=UPTIME_LIMIT_S, gt=0)
    first: str = ""
    """A script for the first boot, before anything else: required by this cloud's images."""


def uptime_limit_s(lease_id: str, expires_at: float) -> float:
    """The uptime limit of a lease's machine: the lease's duration from the time in its id, and
    at least UPTIME_LIMIT_S. The result is the same at each call: user data must not change."""
    made_at = _made_at(lease_id)
    return UPTIME_LIMIT_S if made_at is None else max(UPTIME_LIMIT_S, expires_at - made_at)


def age_s(lease_id: str) -> float | None:
    """How long ago a lease was made, in seconds, by the time in its id; None for an id that
    diskbench did not make."""
    made_at = _made_at(lease_id)
    return None if made_at is None else time.time() - made_at


def _made_at(lease_id: str) -> float | None:
    try:
        return ULID.from_str(lease_id.upper()).timestamp
    except ValueError:
        return None


def user_data(guest: GuestSpec) -> str:
    """The cloud-config of `guest`. It contains a private key and is as secret as the key; on most
    clouds every process in the guest can read it, so the key serves one lease only. Raises
    InvalidValue when it exceeds the size that every cloud accepts, or for an invalid package
    name."""

    class Dumper(yaml.SafeDumper):
        """Writes multi-line text as literal blocks, which people can read."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    dumped = yaml.dump(_config(guest), Dumper=Dumper, sort_keys=False, width=1000)
    written = f"#cloud-config\n{dumped}"
    size = len(written.encode())
    if size > MAX_USER_DATA_BYTES:
        count = len(guest.packages)
        raise refused(
            "user data too large", guest=guest, size=size, most=MAX_USER_DATA_BYTES, packages=count
        )
    return written


def extend_timer(expires_at: float, *, left_s: float | None = None) -> str:
    """A script that moves the guest's dead-man's switch to `expires_at`, earlier or later; to be
    run as root over SSH, any number of times. It survives a reboot. `left_s` is how long the
    controller still needs the guest, by the controller's clock: the guest's uptime limit moves with
    it. The script exits with 0 when the timer is armed, with 3 where there is no timer (a machine
    that was not made by `user_data`), and then changes nothing."""
    left = "" if left_s is None else str(math.ceil(left_s))
    return f"{_moment(expires_at)}left={left}\n" + script("extend.sh") + script("deadman.sh")


def _config(guest: GuestSpec) -> dict[str, Any]:
    for package in guest.packages:
        # By both Debian Policy 5.6.1 and RPM.
        if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9+._-]*", package):
            raise InvalidValue(f"{package!r} is not a name of a package")
    packages = shlex.quote(" ".join(guest.packages))
    limit = f"limit={math.ceil(guest.uptime_limit_s)}\n"
    deadman = script("quiet.sh") + _moment(guest.expires_at) + limit + script("deadman.sh")
    root = guest.user == "root"
    return {
        "hostname": guest.hostname,
        # sudo resolves its own host name, and would wait for a name server that does not know it.
        "manage_etc_hosts": "localhost",
        **({} if root else {"user": {"name": guest.user}}),
        "disable_root": not root,
        "ssh_pwauth": False,
        "ssh_deletekeys": True,
        "ssh_genkeytypes": ["ed25519"],
        "ssh_keys": {
            "ed25519_private": guest.host_key_private.get_secret_value(),
            "ed25519_public": guest.host_key_public,
        },
        "ssh_authorized_keys": [guest.authorized_key],
        "bootcmd": [
            *([_once("diskbench-first", guest.first)] if guest.first else []),
            # Only once: at later boots the timer exists, and may have been moved.
            _once("diskbench-deadman", deadman),
        ],
        "runcmd": [["sh", "-c", f"packages={packages}\n" + script("prepare.sh")]],
    }


def _once(name: str, text: str) -> list[str]:
    """A command that runs `text` at the first boot only."""
    return ["cloud-init-per", "instance", name, "sh", "-c", text]


def _moment(expires_at: float) -> str:
    """Shell assignments of a point in time: in Unix seconds, and in the form of systemd.time(7)."""
    if not 0 < expires_at < _END_OF_TIME:
        raise InvalidValue(f"a lease cannot end at {expires_at!r} (Unix seconds)")
    seconds = math.ceil(expires_at)
    calendar = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return f"expires={seconds}\ncalendar='{calendar}'\n"
