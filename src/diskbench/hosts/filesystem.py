"""Make a filesystem on the allowed device, and remove it; no other filesystem is wiped."""

from __future__ import annotations

import shlex
import uuid
from typing import TYPE_CHECKING

from diskbench.errors import Interrupted, MeasurementFailed, ReleaseFailed
from diskbench.hosts.scripts import script

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from diskbench.model.spec import ResolvedTarget
    from diskbench.ports import Completed, Host

SILENCE_S = 30.0
"""mkfs without lazy initialisation writes the inode tables, which takes long on a slow, large disk.
The script gives a sign of life each second."""
_NAMESPACE = uuid.UUID("1d1f6a6c-6f0b-5d0e-9c54-0b1f6f3b7a52")


def filesystem_uuid(target: ResolvedTarget) -> str:
    """The UUID of a trial's filesystem."""
    return str(uuid.uuid5(_NAMESPACE, target.state_dir))


def make_filesystem(
    host: Host, target: ResolvedTarget, mount: str, should_stop: Callable[[], bool] = lambda: False
) -> tuple[str, ...]:
    """Make the target's filesystem and mount it at `mount`; returns the commands that were run.

    Lazy initialisation is off, so that no kernel thread writes beside fio. Idempotent. Raises
    MeasurementFailed where the device is not the allowed one, holds other data, or a command fails,
    and Interrupted where `should_stop` returned True before the filesystem was made.
    """
    text = _script(target, "filesystem.sh", {"kind": target.filesystem, "mount": mount})
    stop = f": >{shlex.quote(f'{target.state_dir}/stop')}"
    printed, asked = [""], False
    for line in host.stream(text, timeout_s=SILENCE_S, root=True):
        if line != b".":
            printed.append(line.decode(errors="replace"))
        if should_stop() and not asked:
            asked = not host.run(stop, root=True).exit
    _, *commands, last = printed if len(printed) > 1 else ["", ""]
    if last == "! stopped":
        raise Interrupted(f"stopped while {target.filesystem} was made on {target.device}")
    if last.startswith("! ") or not last:
        why = last.removeprefix("! ") or _why_nothing(host)
        raise MeasurementFailed(
            f"no {target.filesystem} could be made on {target.device} of {host.name}: {why}",
            advice="no other device was changed; look at it with diskbench devices",
        )
    return (*commands, last)


def wipe_ours(host: Host, target: ResolvedTarget) -> None:
    """Remove the filesystem that this trial made, if it still exists. Raises ReleaseFailed."""
    done = _run(host, target, "wipe.sh", {}, timeout_s=120.0)
    if done.exit:
        raise ReleaseFailed(
            f"the {target.filesystem} that diskbench made on {target.device} of {host.name} could "
            f"not be wiped: {done.stderr.decode(errors='replace').strip()}"
        )


def _run(
    host: Host, target: ResolvedTarget, name: str, values: Mapping[str, str], *, timeout_s: float
) -> Completed:
    return host.run(_script(target, name, values), timeout_s=timeout_s, root=True)


def _script(target: ResolvedTarget, name: str, values: Mapping[str, str]) -> str:
    """A script for root with the functions of block.sh and guard.sh before it."""
    return (
        assignments({**_values(target), **values})
        + script("block.sh")
        + script("guard.sh")
        + script(name)
    )


def _why_nothing(host: Host) -> str:
    """Why a script for root printed nothing. Raises HostUnavailable where there is no root."""
    done = host.run("id -u", root=True)
    return done.stderr.decode(errors="replace").strip() or "it ended without a message"


def assignments(values: Mapping[str, str]) -> str:
    """Shell assignments that are put before a script."""
    return "".join(f"{key}={shlex.quote(value)}\n" for key, value in values.items())


def _values(target: ResolvedTarget) -> dict[str, str]:
    return {
        "device": target.device or target.path,
        "device_number": target.device_number or "",
        "device_identity": target.identity or "",
        "device_size": str(target.device_size_bytes or 0),
        "uuid": filesystem_uuid(target),
    }
