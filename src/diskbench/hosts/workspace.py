"""A trial's directories on a host: state directory, filesystem, directory of test files; and their
removal. A filesystem is made on the allowed device, and no other one is wiped.
"""

import re
import shlex
from collections.abc import Callable
from uuid import UUID, uuid5

from diskbench.errors import AgentError, Interrupted, MeasurementFailed, ReleaseFailed
from diskbench.hosts.calls import SIGN_OF_LIFE, ask, heard, is_kept, request
from diskbench.hosts.device import DeviceProof
from diskbench.hosts.shell import assignments
from diskbench.model.spec import ResolvedTarget
from diskbench.ports import Host

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
    try:
        places = directories(target)
        ask(host, "directories", state=places["state"], work=places["work"])
    except AgentError as error:
        raise _no_directory(host, error.message) from error
    if mount is None:
        return ()
    commands = make_filesystem(host, target, mount, should_stop)
    assert target.work_dir is not None
    done = host.run(assignments({"work": target.work_dir}) + _OWN_WORK, root=True)
    if done.exit:
        raise _no_directory(host, done.stderr.decode(errors="replace").strip())
    return commands


def directories(target: ResolvedTarget) -> dict[str, str]:
    """The trial's directories, as the host is asked to make them: all of its workspace but a
    filesystem."""
    work = "" if target.work_dir is None or mount_point(target) else target.work_dir
    return {"state": target.state_dir, "work": work}


def _no_directory(host: Host, why: str) -> MeasurementFailed:
    return MeasurementFailed(
        f"cannot make the trial's directory on {host.name}: {why}",
        advice="look at the free space and the permissions there",
    )


SILENCE_S = 30.0
"""mkfs without lazy initialisation writes the inode tables, which takes long on a slow, large disk.
The script gives a sign of life each second."""
_NAMESPACE = UUID("1d1f6a6c-6f0b-5d0e-9c54-0b1f6f3b7a52")


def filesystem_uuid(target: ResolvedTarget) -> str:
    """The UUID of a trial's filesystem."""
    return str(uuid5(_NAMESPACE, target.state_dir))


def make_filesystem(
    host: Host, target: ResolvedTarget, mount: str, should_stop: Callable[[], bool] = lambda: False
) -> tuple[str, ...]:
    """Make the target's filesystem and mount it at `mount`; returns the commands that were run.

    Lazy initialisation is off, so that no kernel thread writes beside fio. Idempotent. Raises
    MeasurementFailed where the device is not the allowed one, holds other data, or a command fails,
    and Interrupted where `should_stop` returned True before the filesystem was made.
    """
    text = request(
        "filesystem",
        kind=target.filesystem,
        mount=mount,
        disk=_disk(target),
        uuid=filesystem_uuid(target),
    )
    stop = f": >{shlex.quote(f'{target.state_dir}/stop')}"
    commands: list[str] = []
    why, asked = "", False
    try:
        for line, *_ in heard(host.stream(text, timeout_s=SILENCE_S, root=True)):
            if line != SIGN_OF_LIFE:
                commands.append(line)
            if should_stop() and not asked:
                asked = not host.run(stop, root=True).exit
    except AgentError as error:
        why = error.message
    if why == "stopped":
        raise Interrupted(f"stopped while {target.filesystem} was made on {target.device}")
    if not commands and not why:  # where there is no root, this raises HostUnavailable
        words = host.run("id -u", root=True).stderr.decode(errors="replace").strip()
        why = words or "it ended without a message"
    if why:
        raise MeasurementFailed(
            f"no {target.filesystem} could be made on {target.device} of {host.name}: {why}",
            advice="no other device was changed; look at it with diskbench devices",
        )
    return tuple(commands)


def wipe_ours(host: Host, target: ResolvedTarget) -> None:
    """Remove the filesystem that this trial made, if it still exists. Raises ReleaseFailed."""
    try:
        uuid = filesystem_uuid(target)
        ask(host, "wipe", root=True, timeout_s=120.0, disk=_disk(target), uuid=uuid)
    except AgentError as error:
        raise ReleaseFailed(
            f"the {target.filesystem} that diskbench made on {target.device} of {host.name} could "
            f"not be wiped: {error.message}"
        ) from error


def _disk(target: ResolvedTarget) -> dict[str, object]:
    return DeviceProof(
        path=target.device or target.path,
        number=target.device_number or "",
        identity=target.identity or "",
        size_bytes=target.device_size_bytes or 0,
    ).allowed


_OURS = re.compile(r"/(?:[^/]+/)*diskbench-[0-9A-Za-z]{4,}")


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
    try:
        work, mount = target.work_dir or "", mount_point(target) or ""
        state = target.state_dir
        kept_in = state if target.kind == "directory" else ""  # else it may be root's
        ask(host, "cleanup", kept_in=kept_in, timeout_s=120.0, state=state, work=work, mount=mount)
        is_kept(state, "")
    except AgentError as error:
        raise ReleaseFailed(f"left on {host.name}: {error.message}") from error
    if target.filesystem != "none":
        wipe_ours(host, target)
