"""The client library of Stratus: its control plane is the fake cloud's memory, a directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from diskbench.providers.fake_cloud import FakeCloud
from diskbench_stratus.errors import StratusApiError, translate

VARIABLE = "STRATUS_DIR"
"""Where the cloud lies."""
_CODES = {
    "capacity": ("sky-full", "no room in the sky"),
    "quota": ("quota-disks", "tenant ground has 0 disks left"),
    "access": ("no-token", "the token expired"),
}
"""A planned fault of the memory, and what the API answers then."""


class Client:
    """Calls of the API; a refusal is raised as an error of diskbench."""

    def __init__(self) -> None:
        self.cloud = FakeCloud(Path(os.environ[VARIABLE]))

    def create(self, kind: str, name: str, zone: str, tags: dict[str, Any]) -> None:
        """Make a thing with its tags in one call; the second call finds it."""
        self._answer(f"{kind}s.create", kind, zone)
        self.cloud.make(name, {**tags, "zone": zone})

    def delete(self, name: str, zone: str) -> None:
        """Delete a thing; one that is gone is no error."""
        self._answer("things.delete", "release", zone)
        self.cloud.delete(name)

    def retag(self, name: str, tags: dict[str, Any]) -> None:
        """Set the tags of a thing."""
        self.cloud.tag(name, tags)

    def things(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The name and tags of everything that there is."""
        return self.cloud.things()

    def _answer(self, action: str, kind: str, zone: str) -> None:
        fault = self.cloud.fault(kind, zone)
        if fault is not None:
            error = StratusApiError(*_CODES.get(fault, ("broken", "nobody knows why")))
            raise translate(error, action) from error
