"""What `diskbench gc` found, took away and could not: what it prints as JSON."""

from typing import Literal

from diskbench.model.base import Frozen
from diskbench.model.outcome import Problem

Outcome = Literal["would-give-back", "gave-back", "could-not-give-back", "kept"]


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
    outcome: Outcome
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
