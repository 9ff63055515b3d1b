"""What runs now, everywhere: what `diskbench status` prints.

Moments are UTC in ISO 8601. Ages are seconds until `at`.
"""

from typing import Literal

from diskbench.model.base import Frozen
from diskbench.model.campaign import CellState


class WorkerSeen(Frozen):
    """A process that works: a worker, or one that runs something in its foreground.

    `queues` are the patterns that a worker serves, None for any other process; `concurrency` None
    is no limit of its own. `alive` is whether it exists, as far as can be known from here, and
    `beat_age_s` how long ago it said so itself.
    """

    executor_id: str
    name: str
    hostname: str
    pid: int
    version: str | None = None
    queues: tuple[str, ...] | None = None
    concurrency: int | None = None
    draining: bool = False
    started_at: str | None = None
    beat_age_s: float
    alive: bool
    running: int = 0
    """Cells and runs in its hands."""


class QueueSeen(Frozen):
    """Cells of one route and partition (provider and region), by whether they wait for their turn,
    for a worker, or run; and the living workers that serve the route."""

    route: str
    partition: str
    waiting: int = 0
    queued: int = 0
    running: int = 0
    workers: int = 0


class CellSeen(Frozen):
    """A cell of a matrix, or a run of no matrix, that a process has claimed.

    `doing` is its step and how fast it goes, or what it waits for; `worker` the name of the
    process, None where that is dead and no other process has taken it over yet; its state is
    `suspended` then.
    """

    trial_id: str
    name: str
    matrix: str | None = None
    matrix_id: str | None = None
    state: CellState | Literal["suspended"]
    doing: str = ""
    age_s: float | None = None
    worker: str | None = None


class LeaseSeen(Frozen):
    """Something that is rented, or lies on a host, and must be given back.

    `usd` is its cost so far, None where no price is known; `in_use` whether a living process works
    under it; `error` why it could not be given back the last time.
    """

    lease_id: str
    provider: str
    region: str | None = None
    created_at: str
    expires_at: str | None = None
    age_s: float
    usd: float | None = None
    in_use: bool
    error: str | None = None


class FleetDocument(Frozen):
    """Workers, queues, what runs, and what is rented. `usd` is what the open leases have cost so
    far, beside the `unpriced` ones."""

    format: Literal[1] = 1
    at: str
    workers: tuple[WorkerSeen, ...] = ()
    queues: tuple[QueueSeen, ...] = ()
    cells: tuple[CellSeen, ...] = ()
    leases: tuple[LeaseSeen, ...] = ()
    usd: float = 0.0
    unpriced: int = 0
