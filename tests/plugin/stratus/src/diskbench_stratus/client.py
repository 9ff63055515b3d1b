"""The client library of Stratus: its control plane is the fake cloud's memory, a directory."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from diskbench.providers.fake.cloud import FakeCloud
from diskbench.providers.recorder import note
from diskbench_stratus.errors import StratusApiError, translate

VARIABLE = "STRATUS_DIR"
"""Where the cloud lies."""
TENANT = "STRATUS_TENANT"
"""Who is logged in."""
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
        self._answer(f"{kind}s.create", kind, zone)
        self.cloud.make(name, {**tags, "zone": zone})

    def check(self, kind: str, name: str, zone: str) -> None:
        """Whether the API would make a thing; makes nothing. `doctor --live` records it."""
        refused: StratusApiError | None = None
        fault = self.cloud.fault(kind, zone)
        if fault is not None:
            refused = StratusApiError(*_CODES.get(fault, ("broken", "nobody knows why")))
        note(
            method="POST",
            url=f"https://api.stratus.example/{kind}s?check=true",
            sent={"Authorization": "token of a tenant", "Content-Type": "application/json"},
            asked=json.dumps({"name": name, "zone": zone, "tenant": os.environ.get(TENANT)}),
            status=200 if refused is None else 403,
            headers={"Content-Type": "application/json"},
            body=json.dumps({"would": "be made"} if refused is None else {"code": refused.code}),
        )
        if refused is not None:
            raise translate(refused, f"{kind}s.check") from refused

    def delete(self, name: str, zone: str) -> None:
        self._answer("things.delete", "release", zone)
        self.cloud.delete(name)

    def retag(self, name: str, tags: dict[str, Any]) -> None:
        self.cloud.tag(name, tags)

    def things(self) -> Iterator[tuple[str, dict[str, Any]]]:
        return self.cloud.things()

    def _answer(self, action: str, kind: str, zone: str) -> None:
        fault = self.cloud.fault(kind, zone)
        if fault is not None:
            error = StratusApiError(*_CODES.get(fault, ("broken", "nobody knows why")))
            raise translate(error, action) from error
