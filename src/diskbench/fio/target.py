"""Where fio may do I/O, and how its path is written in a job file."""

import re
from typing import Literal

from diskbench.errors import TargetRefused
from diskbench.model.base import Frozen


class FioTarget(Frozen):
    """Where fio may do I/O: a work directory, or a device by its path; `others` are the paths of
    further devices, each for a device that the job file names.

    `size_bytes` is how much of it (of each device) the user allows, None where the profile decides;
    `capacity_bytes` is the size of a device, of several the smallest. `allowed` are options, of
    refused.py's ALLOWABLE, that the machine's owner allows.
    """

    kind: Literal["directory", "device"]
    path: str
    others: tuple[str, ...] = ()
    size_bytes: int | None = None
    capacity_bytes: int | None = None
    allowed: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The directory, or every device."""
        return (self.path, *self.others)


def check_path(target: FioTarget) -> None:
    """Refuse a target whose path means something else inside a fio job file (`;`, `#`, `$`, …)."""
    # In a list of devices a colon ends a name.
    never = r"[^\x20-\x7e]|[;#$`\\\"']" + ("|:" if target.others else "")
    for path in target.paths:
        if re.search(never, path) or path != path.strip():
            raise TargetRefused(
                f"{path!r} holds a character that a fio job file cannot hold",
                advice="choose a path of plain letters, digits and - _ . / "
                + ("" if target.others else ":"),
            )


def escape(path: str) -> str:
    """A path escaped for `filename` and `directory`, which fio splits at unescaped colons."""
    return path.replace(":", "\\:")
