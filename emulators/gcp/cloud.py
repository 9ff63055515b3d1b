"""What the emulated Compute Engine knows: resources, operations, faults, the machines behind it."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emulators.gcp.call import Failure, not_found
from emulators.gcp.faults import Faults
from emulators.gcp.sightings import Sightings
from emulators.guests import Guest

PROJECT = "diskbench-emulated"


def _nothing() -> None:
    """Nothing to do."""


@dataclass
class Work:
    """What an operation does: `begin` works in the lab, at once or, when `late`, with the last
    look; then `finish`, or `undo` when it fails. `failure` is decided beforehand."""

    begin: Callable[[], Future[Any]] | None = None
    finish: Callable[[], None] = _nothing
    undo: Callable[[], None] = _nothing
    failure: Failure | None = None
    late: bool = False
    looks: float = 2


@dataclass
class Operation:
    """One operation: what is told of it, and its work."""

    row: dict[str, Any]
    path: str
    target: str
    work: Work
    running: Future[Any] | None = None

    @property
    def done(self) -> bool:
        return bool(self.row["status"] == "DONE")


@dataclass
class Operations:
    """All operations by path; those that are done are kept."""

    known: dict[str, Operation] = field(default_factory=dict)

    def under_way(self, target: str) -> list[Operation]:
        """What is being done to a resource."""
        return [one for one in self.known.values() if one.target == target and not one.done]


@dataclass
class Constraints:
    """The names of the constraints that the organisation enforces."""

    enforced: set[str] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)
    """The labels that machines and disks must have when they are made."""


@dataclass(frozen=True)
class Snapshot:
    """What a disk of so many GB held when it was taken, from its beginning on."""

    size_gb: int
    content: bytes = b""


@dataclass
class Machine:
    """What stands behind an instance. Its queue does one thing after another in the lab."""

    path: str
    guest: Guest
    queue: ThreadPoolExecutor
    indices: dict[str, int] = field(default_factory=dict)
    """Device name → its number among the disks of the guest, from 0."""
    reach: tuple[str, int] | None = None
    """Where its sshd is, once it is up."""
    ends_at: float | None = None
    """When its maxRunDuration is over."""
    going: bool = False

    def free_index(self) -> int:
        """The lowest number that no disk has."""
        return next(i for i in itertools.count() if i not in self.indices.values())


@dataclass
class Cloud:
    """One emulated project. Everything in it is changed under `lock` only."""

    state: Path
    time_scale: float = 1.0
    limit_s: float = 3600.0
    project: str = PROJECT
    faults: Faults = field(default_factory=Faults)
    operations: Operations = field(default_factory=Operations)
    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Everything that users make, by path: `projects/p/zones/z/disks/d`."""
    machines: dict[str, Machine] = field(default_factory=dict)
    roles: dict[str, frozenset[str]] = field(default_factory=dict)
    """Account → the permissions of its role; an account that is not here owns the project."""
    constraints: Constraints = field(default_factory=Constraints)
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    """The user's own, by path."""
    keys: set[str] = field(default_factory=set)
    """Keys of Cloud KMS with which the project's disks can be encrypted."""
    billed: bool = True
    """Whether the project has a billing account."""
    custom_mode: bool = False
    """Whether the network is in custom mode: its subnetworks have names of their own then."""
    stack: str = "IPV4_ONLY"
    """What addresses machines get in the network."""
    lag: int = 0
    """Looks for which a new thing is absent from get and list, and a deleted one is present."""
    sightings: Sightings = field(default_factory=Sightings)
    request_ids: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    started_at: float = field(default_factory=time.time)
    later_s: float = 0.0
    """How far ahead the cloud's clock is of this machine's."""
    errors: list[BaseException] = field(default_factory=list)
    """What went wrong in the lab; whoever stops the emulator raises them."""
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(time.time_ns()))

    @property
    def ssh_config(self) -> Path:
        """The OpenSSH configuration that leads to the machines."""
        return self.state / "ssh_config"

    @property
    def credentials(self) -> Path:
        """The key file of the service account that users act as."""
        return self.state / "credentials.json"

    @property
    def programs(self) -> Path:
        """The directory of programs that users of the cloud have: gcloud, for its tunnels."""
        return self.state / "bin"

    def now(self) -> float:
        """Seconds since the epoch, by the cloud's clock."""
        return time.time() + self.later_s

    def new_id(self) -> str:
        """A number that nothing had before."""
        return str(next(self.ids))

    def image(self, disk_id: str) -> Path:
        """The file with the content of a disk, made when it is first attached."""
        return self.state / "volumes" / f"{disk_id}.img"

    def resource(self, path: str) -> dict[str, Any]:
        """What has that path. Raises Refusal."""
        if path not in self.resources:
            raise not_found(path)
        return self.resources[path]

    def shown(self, collection: str, below: str = "") -> dict[str, dict[str, Any]]:
        """What a listing shows of a collection, below a path; it is a look at each of them."""
        return self.sightings.listed(self.of_kind(collection, below), collection, below)

    def of_kind(self, collection: str, below: str = "") -> dict[str, dict[str, Any]]:
        """All resources of a collection (`disks`), below a path."""
        return {
            path: row
            for path, row in self.resources.items()
            if path.split("/")[-2] == collection and path.startswith(below)
        }
