"""How a station of the workflow, a trial and a lease ended: plain JSON, it crosses checkpoints."""

from typing import Literal

from diskbench.errors import DiskbenchError, Interrupted
from diskbench.model.base import Frozen
from diskbench.model.result import RunState, StepResult


class Problem(Frozen):
    """An error as the data that a checkpoint, a row or a manifest holds (errors.py says what each
    field means). `kind` is its class name, or a word of ours for what was never raised: it is shown
    and filtered by, and decides nothing."""

    kind: str
    message: str
    advice: str = ""
    retryable: bool = False
    passing: bool = False
    field: str = ""
    exit_code: int = 1

    @property
    def is_stop(self) -> bool:
        return self.exit_code == Interrupted.exit_code

    @property
    def run_state(self) -> RunState:
        """The state of a run that it ended."""
        return "interrupted" if self.is_stop else "failed"


def problem_of(error: BaseException) -> Problem:
    """Return an error as data; an unexpected exception is reported as a fault of diskbench."""
    kind = type(error).__name__
    if not isinstance(error, DiskbenchError):
        return Problem(kind=kind, message=f"a fault in diskbench: {error!r}")
    same = Problem.model_fields.keys() - {"kind"}
    return Problem(kind=kind, **{name: getattr(error, name) for name in same})


class Outcome(Frozen):
    """The end of one station: done, failed (it ran and went wrong) or stopped (a person asked).

    `commands` are those that made a filesystem, for the record.
    """

    state: Literal["done", "failed", "stopped"]
    result: StepResult | None = None
    problem: Problem | None = None
    commands: tuple[str, ...] = ()


class RunEnd(Frozen):
    """How one run of a trial ended."""

    run_id: str
    run_index: int
    state: RunState
    problem: Problem | None = None


SweepOutcome = Literal["would-give-back", "gave-back", "could-not-give-back", "kept"]


class LeaseCost(Frozen):
    """What a lease cost from its beginning until it was looked at, transactions aside.

    About: what ended by itself before then was paid for no longer. `usd` and `hourly_usd` are None
    where no price is known.
    """

    since: str
    """When the lease began: UTC, ISO 8601."""
    hours: float
    hourly_usd: float | None = None
    usd: float | None = None


class Swept(Frozen):
    """One lease that was looked at.

    `where` names the host or the provider and region; `resources` are paths, or `kind id` texts.
    `expires_at` is Unix seconds. `cost` is None where its begin is not known. `problem` says
    why it could not be given back. `owner` is who its tags say rented it; `in_database` is false
    for a lease that this database has no row of. `copied` marks what carries the lease's tags and
    was not made for it.
    """

    lease_id: str
    owner: str | None = None
    in_database: bool = True
    copied: bool = False
    where: str
    provider: str
    region: str | None = None
    resources: tuple[str, ...]
    expires_at: float | None = None
    reason: str
    outcome: SweepOutcome
    cost: LeaseCost | None = None
    problem: Problem | None = None


class Unlisted(Frozen):
    """A place that could not be searched, and why."""

    where: str
    provider: str
    region: str | None = None
    problem: Problem


class SweepDocument(Frozen):
    """What `diskbench gc --output json` prints. Within a format number fields are only added.

    `usd` is the sum of the known costs of all but what was kept; `unpriced` counts the others.
    """

    format: Literal[1] = 1
    dry_run: bool
    leases: tuple[Swept, ...]
    unlisted: tuple[Unlisted, ...] = ()
    usd: float
    unpriced: int
