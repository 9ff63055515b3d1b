"""A trial's directories on a host: state directory, filesystem, directory of test files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import MeasurementFailed
from diskbench.hosts.filesystem import assignments, make_filesystem
from diskbench.hosts.scripts import script

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.model.spec import ResolvedTarget
    from diskbench.ports import Host

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
_WORK = """\
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
    _run(host, directories_script(target))
    if mount is None:
        return ()
    commands = make_filesystem(host, target, mount, should_stop)
    assert target.work_dir is not None
    _run(host, assignments({"work": target.work_dir}) + _WORK, root=True)
    return commands


def directories_script(target: ResolvedTarget) -> str:
    """The script that makes the trial's directories; all of its workspace but a filesystem."""
    work = "" if target.work_dir is None or mount_point(target) else target.work_dir
    values = {"state": target.state_dir, "work": work}
    return assignments(values) + script("place.sh") + script("room.sh") + _DIRECTORIES


def _run(host: Host, text: str, *, root: bool = False) -> None:
    done = host.run(text, root=root)
    if done.exit:
        raise MeasurementFailed(
            f"cannot make the trial's directory on {host.name}: "
            f"{done.stderr.decode(errors='replace').strip()}",
            advice="look at the free space and the permissions there",
        )
