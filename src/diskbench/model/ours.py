"""Whether something that carries a lease's tags was made for the lease: pure.

Tags are copied by hand ("launch more like this") and by clouds (snapshots, restored disks). So a
resource is ours only if its tag, its name and, where an id was recorded, its id agree.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

NOT_OURS = "carries our tags, not made by us"
_KIND = re.compile(r"[a-z0-9][a-z0-9-]*")


def is_named_for(lease_id: str, name: str | None) -> bool:
    """Whether a name is `diskbench-LEASE-KIND`, the form of every name made for a lease."""
    begin = f"diskbench-{lease_id}-"
    return name is not None and name.startswith(begin) and bool(_KIND.fullmatch(name[len(begin) :]))


def was_made(described: str, made: Collection[str]) -> bool:
    """Whether `described` (`volume vol-0abc`) was recorded as made, or nothing of its kind was
    recorded."""
    kinds = {resource.partition(" ")[0] for resource in made}
    return described in made or described.partition(" ")[0] not in kinds


def is_ours(lease_id: str, name: str | None, resource: str, made: Collection[str] = ()) -> bool:
    """Whether a resource with the tag of a lease was made for it; `resource` is its `kind id` and
    `name` its name."""
    return is_named_for(lease_id, name) and was_made(resource, made)


@dataclass(frozen=True)
class Which:
    """Which of the things that carry a lease's tag are meant: those that were made for it, or those
    alone that a person named as `copied` (ports.Renter.release)."""

    lease_id: str
    made: Sequence[str] = ()
    copied: Sequence[str] = ()

    def takes(self, name: str | None, resource: str) -> bool:
        """Whether what is called `name`, and listed as `kind id`, is meant."""
        if self.copied:
            return resource in self.copied
        return is_ours(self.lease_id, name, resource, self.made)

    def warn(self, resources: Collection[str]) -> None:
        """Log the resources that carry the tag and are left alone."""
        if resources and not self.copied:
            logging.getLogger(__name__).warning(
                "lease %s: %s %s; not changed",
                self.lease_id,
                ", ".join(sorted(resources)),
                NOT_OURS,
            )
