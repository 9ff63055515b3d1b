"""A trial's directories on a host: state directory, filesystem, directory of test files; and their
removal. A filesystem is made on the allowed device, and no other one is wiped.
"""

from __future__ import annotations

import re
import shlex
import uuid
from collections.abc import Callable, Mapping

from diskbench.errors import Interrupted, MeasurementFailed, ReleaseFailed
from diskbench.hosts.scripts import script
from diskbench.hosts.shell import assignments
from diskbench.model.spec import ResolvedTarget
from diskbench.ports import Completed, Host

_DIRECTORIES = """\
set -u
umask 077
full() { # directory: says why it cannot be written to
    room_at "$1"
    echo "${room:-$why}" >&2
    exit 1
}
set -- "$state" ${work:+"$work"}
mkdir "$@" 2>/dev/null
for d in "$@"; do
    [ -d "$d" ] || why=$(mkdir "$d" 2>&1) || full "${d%/*}"
    # /var/tmp is everybody's: a directory that somebody else put there is not used.
    [ ! -L "$d" ] && [ -O "$d" ] || { echo "$d belongs to somebody else" >&2; exit 1; }
done
[ -n "$work" ] || exit 0
why=
if [ -e "$state/work.id" ]; then
    place_is "$work" "$state/work.id" && exit 0
    echo "$work is not the directory that diskbench made" >&2
    exit 1
fi
# Steps without a mark are of a build that made none. step.sh fetches them and starts no other.
[ ! -e "$state/run-0" ] || exit 0
new=$state/work.new.$$
place_look "$work"
{ echo "$place_found" >"$new" && mv -f "$new" "$state/work.id"; } 2>/dev/null || full "$state"
"""
_OWN_WORK = """\
mkdir -p -m 700 "$work" && if [ -n "${SUDO_UID:-}" ]; then chown "$SUDO_UID:$SUDO_GID" "$work"; fi
"""


def mount_point(target: ResolvedTarget) -> str | None:
    """The mount point of the filesystem that diskbench makes; None where it makes none."""
    return f"{target.state_dir}/mnt" if target.filesystem != "none" else None


def make_workspace(
    host: Host, target: ResolvedTarget, should_stop: Callable[[], bool] = lambda: False
) -> tuple[str, ...]:
    """Make the trial's directories on its host; returns the mkfs and mount commands, if any.

    Idempotent. Raises MeasurementFailed naming the directory that could not be made, and
    Interrupted where `should_stop` returned True while the filesystem was made.
    """
    mount = mount_point(target)
    _make(host, directories_script(target))
    if mount is None:
        return ()
    commands = make_filesystem(host, target, mount, should_stop)
    assert target.work_dir is not None
    _make(host, assignments({"work": target.work_dir}) + _OWN_WORK, root=True)
    return commands


def directories_script(target: ResolvedTarget) -> str:
    """The script that makes the trial's directories; all of its workspace but a filesystem. Prints
    on standard error why it failed."""
    work = "" if target.work_dir is None or mount_point(target) else target.work_dir
    values = {"state": target.state_dir, "work": work}
    return assignments(values) + script("place.sh") + script("room.sh") + _DIRECTORIES


def _make(host: Host, text: str, *, root: bool = False) -> None:
    done = host.run(text, root=root)
    if done.exit:
        raise MeasurementFailed(
            f"cannot make the trial's directory on {host.name}: "
            f"{done.stderr.decode(errors='replace').strip()}",
            advice="look at the free space and the permissions there",
        )


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


def _values(target: ResolvedTarget) -> dict[str, str]:
    return {
        "device": target.device or target.path,
        "device_number": target.device_number or "",
        "device_identity": target.identity or "",
        "device_size": str(target.device_size_bytes or 0),
        "uuid": filesystem_uuid(target),
    }


_OURS = re.compile(r"/(?:[^/]+/)*diskbench-[0-9A-Za-z]{4,}")
_CLEANUP_S = 120.0


def cleanup(host: Host, target: ResolvedTarget) -> None:
    """Stop the trial's processes, unmount its filesystem and remove its directories; idempotent.

    Only paths that carry a trial's name are removed. Raises ReleaseFailed naming what is left.
    """
    for path in (target.state_dir, target.work_dir):
        if path is not None and (not _OURS.fullmatch(path) or ".." in path.split("/")):
            raise ReleaseFailed(
                f"{path} does not carry a trial's name, so it is not removed",
                advice="remove it by hand if it is diskbench's",
            )
    values = {
        "state": target.state_dir,
        "work": target.work_dir or "",
        "mount": mount_point(target) or "",
    }
    text = script("block.sh") + script("place.sh") + script("cleanup.sh")
    done = host.run(assignments(values) + text, timeout_s=_CLEANUP_S)
    if done.exit:
        left = done.text.strip() or done.stderr.decode(errors="replace").strip()
        raise ReleaseFailed(f"left on {host.name}: {left}")
    if target.filesystem != "none":
        wipe_ours(host, target)
