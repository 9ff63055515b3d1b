"""A fresh filesystem on the allowed device, and its removal: only what we made is wiped."""

from __future__ import annotations

import shlex
import uuid
from typing import TYPE_CHECKING

from diskbench.errors import MeasurementFailed, ReleaseFailed
from diskbench.hosts.scripts import script

if TYPE_CHECKING:
    from collections.abc import Mapping

    from diskbench.model.spec import ResolvedTarget
    from diskbench.ports import Completed, Host

MKFS_TIMEOUT_S = 3600.0
"""mkfs without lazy initialisation writes the inode tables: long on a slow, large disk."""
_NAMESPACE = uuid.UUID("1d1f6a6c-6f0b-5d0e-9c54-0b1f6f3b7a52")


def filesystem_uuid(target: ResolvedTarget) -> str:
    """The UUID by which a filesystem is known as this trial's."""
    return str(uuid.uuid5(_NAMESPACE, target.state_dir))


def make_filesystem(host: Host, target: ResolvedTarget, mount: str) -> tuple[str, ...]:
    """Make the target's filesystem and mount it at `mount`; returns the commands that were run.

    Lazy initialisation is off, so that no kernel thread writes beside fio. Twice is as once.
    Raises MeasurementFailed when the device is not the one allowed, holds somebody else's data, or
    a command fails.
    """
    made = {"kind": target.filesystem, "mount": mount}
    done = _run(host, target, "filesystem.sh", made, timeout_s=MKFS_TIMEOUT_S)
    *commands, last = done.text.splitlines() or [""]
    if last.startswith("! ") or done.exit:
        why = last.removeprefix("! ") or done.stderr.decode(errors="replace").strip()
        raise MeasurementFailed(
            f"no {target.filesystem} could be made on {target.device} of {host.name}: {why}",
            advice="nothing but this device was touched; look at it with diskbench devices",
        )
    return (*commands, last)


def wipe_ours(host: Host, target: ResolvedTarget) -> None:
    """Remove the filesystem that this trial made, if it is still there; no other is touched."""
    done = _run(host, target, "wipe.sh", {}, timeout_s=120.0)
    if done.exit:
        raise ReleaseFailed(
            f"the {target.filesystem} that diskbench made on {target.device} of {host.name} could "
            f"not be wiped: {done.stderr.decode(errors='replace').strip()}"
        )


def _run(
    host: Host, target: ResolvedTarget, name: str, values: Mapping[str, str], *, timeout_s: float
) -> Completed:
    """Run a script behind the guard that all writing to a device shares, as root."""
    text = (
        given({**_values(target), **values})
        + script("block.sh")
        + script("guard.sh")
        + script(name)
    )
    return host.run(text, timeout_s=timeout_s, root=True)


def given(values: Mapping[str, str]) -> str:
    """Shell assignments to stand before a script."""
    return "".join(f"{key}={shlex.quote(value)}\n" for key, value in values.items())


def _values(target: ResolvedTarget) -> dict[str, str]:
    return {
        "device": target.device or target.path,
        "device_number": target.device_number or "",
        "device_identity": target.identity or "",
        "device_size": str(target.device_size_bytes or 0),
        "uuid": filesystem_uuid(target),
    }
