"""Remove everything that a trial put on its host."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from diskbench.errors import ReleaseFailed
from diskbench.hosts.filesystem import assignments, wipe_ours
from diskbench.hosts.scripts import script
from diskbench.hosts.workspace import mount_point

if TYPE_CHECKING:
    from diskbench.model.spec import ResolvedTarget
    from diskbench.ports import Host

_OURS = re.compile(r"/(?:[^/]+/)*diskbench-[0-9A-Za-z]{4,}")
_TIMEOUT_S = 120.0


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
    done = host.run(assignments(values) + text, timeout_s=_TIMEOUT_S)
    if done.exit:
        left = done.text.strip() or done.stderr.decode(errors="replace").strip()
        raise ReleaseFailed(f"left on {host.name}: {left}")
    if target.filesystem != "none":
        wipe_ours(host, target)
