"""What the emulated Azure knows: resources, operations, faults, and the machines behind it."""

import itertools
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emulators.azure.call import Answer, Call, Refusal
from emulators.azure.faults import Faults
from emulators.azure.operations import Operations, Pace
from emulators.azure.sightings import Sightings
from emulators.guests import Guest, Reach, write_ssh_config

SUBSCRIPTION = "00000000-0000-0000-0000-00000d15c0de"
OTHER_SUBSCRIPTION = "00000000-0000-0000-0000-0000000000ff"
"""Both are there; any other is not."""


@dataclass
class Machine:
    """What stands behind a virtual machine that is not deallocated. Its queue does one thing after
    another in the lab."""

    vm: str
    guest: Guest
    queue: ThreadPoolExecutor
    plugged: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    """Disk id → its LUN, its caching and the lab's name of it."""
    going: bool = False


@dataclass
class Cloud:
    """All subscriptions of one tenant. Everything in it is changed under `lock` only."""

    state: Path
    time_scale: float = 1.0
    limit_s: float = 3600.0
    lag: int = 0
    """Looks for which new things are absent and deleted ones present."""
    sightings: Sightings = field(default_factory=Sightings)
    faults: Faults = field(default_factory=Faults)
    pace: Pace = field(default_factory=Pace)
    operations: Operations = field(default_factory=Operations)
    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Id in lower case → document, as it is shown."""
    secrets: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The osProfile of each virtual machine as it was put: its customData is never shown again."""
    powers: dict[str, str] = field(default_factory=dict)
    """The power state of each virtual machine: running, stopped, deallocated …"""
    machines: dict[str, Machine] = field(default_factory=dict)
    """Those that run, by the id of their virtual machine in lower case."""
    reach: dict[str, Reach] = field(default_factory=dict)
    addresses: Iterator[int] = field(default_factory=lambda: itertools.count(0))
    lock: threading.RLock = field(default_factory=threading.RLock)
    started_at: float = field(default_factory=time.time)
    errors: list[BaseException] = field(default_factory=list)
    """What went wrong in the lab; whoever stops the emulator raises them."""

    @property
    def ssh_config(self) -> Path:
        """The OpenSSH configuration that leads to the machines."""
        return self.state / "ssh_config"

    @property
    def ca_file(self) -> Path:
        """The certificate of the authority that the endpoint is verified by."""
        return self.state / "ca.pem"

    def image(self, disk: dict[str, Any]) -> Path:
        """The file with the content of a disk, made when it is first attached."""
        return self.state / "disks" / f"{disk['properties']['uniqueId']}.img"

    def failed(self, error: BaseException) -> None:
        """An operation failed: what did not work in the lab is kept, refusals are as wanted."""
        if not isinstance(error, Refusal):
            self.errors.append(error)

    def reachable(self, vm: str, reach: Reach | None) -> None:
        """From now on SSH finds the machine there, or not at all."""
        if reach is None:
            self.reach.pop(vm.lower(), None)
        else:
            self.reach[vm.lower()] = reach
        write_ssh_config(self.ssh_config, self.reach)

    def find(self, identity: str) -> dict[str, Any] | None:
        """The resource of that id, whatever its case."""
        return self.resources.get(identity.lower())

    def get(self, identity: str, code: str = "NotFound") -> dict[str, Any]:
        """The resource that somebody refers to. Raises Refusal where there is none."""
        found = self.find(identity)
        if found is None:
            raise Refusal(code, f"Resource {identity} was not found.", status=404)
        return found

    def save(self, document: dict[str, Any]) -> dict[str, Any]:
        """Keep it; returns it."""
        key = document["id"].lower()
        if key not in self.resources:
            self.sightings.made(document, self.lag)
        self.resources[key] = document
        return document

    def drop(self, identity: str) -> None:
        """It and what is below it is no more."""
        below = identity.lower()
        for key in [k for k in self.resources if k == below or k.startswith(below + "/")]:
            document = self.resources.pop(key)
            self.sightings.dropped(document, self.lag)
            if document["type"] in {"Microsoft.Compute/disks", "Microsoft.Compute/snapshots"}:
                self.image(document).unlink(missing_ok=True)

    def of(self, kind: str, below: str = "") -> list[dict[str, Any]]:
        """All resources of a type, below an id."""
        return [
            one
            for key, one in sorted(self.resources.items())
            if one["type"].lower() == kind.lower() and key.startswith(below.lower())
        ]


Handler = Callable[[Cloud, Call], Answer]


@dataclass(frozen=True)
class Route:
    """Which requests a handler answers. `path` has {names}; a name ending in + takes slashes too.
    `action` is what the caller must be allowed to do, with {names} of the path in it; what the body
    demands beside it is in rights.py."""

    method: str
    path: str
    action: str
    handler: Handler
    pattern: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        text = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path)
        text = re.sub(r"\{(\w+)\+\}", r"(?P<\1>.+)", text)
        object.__setattr__(self, "pattern", re.compile(text, re.IGNORECASE))
