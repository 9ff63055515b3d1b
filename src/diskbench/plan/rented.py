"""The plan of a trial on a rented machine: how long the burst credit of its disk lasts, whether a
bucket that `--time-scale` reduced can still be measured, and what it should find. Pure.

A load must run until the credit is used up (MR-3):

    drain = 1.2 · max over the disk's buckets of C / (R_burst − R_base)

with capacities divided by the lab's time scale. 1.2 is MR-3's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from diskbench.catalog.limits.bucket import lasts_s, scaled
from diskbench.catalog.limits.lookup import limits
from diskbench.errors import InvalidValue, UserError
from diskbench.plan.beyond_credit import BEYOND
from diskbench.plan.expectation import with_expectation
from diskbench.plan.trial import make_plan
from diskbench.units import format_duration_s

if TYPE_CHECKING:
    from diskbench.catalog.books import Books
    from diskbench.fio.profiles import Profile
    from diskbench.model.facts import HostFacts
    from diskbench.model.rental import Rental
    from diskbench.model.spec import Cell, Plan
    from diskbench.plan.trial import TrialIds

SHORTEST_PHASE_S = 120.0
"""Seconds; a shorter phase is not reliably found in a series of one-second values (issue 3)."""


def rented_plan(
    cell: Cell,
    profile: Profile,
    facts: HostFacts,
    names: TrialIds,
    rental: Rental,
    books: Books,
    *,
    version: str,
) -> Plan:
    """Return the plan of `cell` on the rented machine with these facts, which are assumed ones
    before it exists, with its expectation and the digest of `books`. Raises as `make_plan`, and
    InvalidValue for a time scale that the profile cannot measure."""
    plan = make_plan(cell, profile, facts, names, version=version, drain_s=drain_s(rental))
    plan = plan.model_copy(update={"rental": rental})
    notes = (*plan.notes, *rental.warnings, *time_scale_notes(plan))
    plan = with_expectation(plan, books)
    return plan.model_copy(update={"notes": notes, "catalogue": books.digest})


def drain_s(rental: Rental | None) -> int | None:
    """Return whole seconds; None if the disk is in no catalogue or has no bucket."""
    bursts = _scaled_bursts_s(rental) if rental is not None else []
    return math.ceil(BEYOND * max(bursts)) if bursts else None


def time_scale_notes(plan: Plan) -> tuple[str, ...]:
    """Return notes for the reader about the plan's time scale; empty if it has no effect.

    Raises InvalidValue for a profile that waits for a steady state which the scaled bucket would
    only simulate: a burst that ends within a round or two looks like a trend that settled.
    """
    rental = plan.rental
    if rental is None or rental.spec.time_scale == 1:
        return ()
    scale = rental.spec.time_scale
    phases = _scaled_bursts_s(rental)
    if not phases:
        return (f"--time-scale {scale:g} has no effect: the disk has no burst credit",)
    shortest = min(phases)
    if shortest >= SHORTEST_PHASE_S:
        return ()
    lasts = f"with --time-scale {scale:g} the burst lasts {format_duration_s(shortest)}"
    if plan.loop is not None:
        raise InvalidValue(
            f"{lasts}, and profile {plan.profile.name!r} waits for a steady state",
            advice=f"give at most --time-scale {int(scale * shortest / SHORTEST_PHASE_S)}, which "
            f"leaves two minutes, or a profile that does not judge steadiness",
        )
    return (f"{lasts}, under two minutes: phases down to ten seconds are found, and less surely",)


def _scaled_bursts_s(rental: Rental) -> list[float]:
    """Return how long each bucket of the disk lasts at full burst, in scaled seconds."""
    disk, cloud = rental.disk, rental.catalogue
    if disk is None:
        return []
    try:
        disk_limits = limits(cloud, disk.type, disk.size_gib, disk.iops, disk.throughput_mib_per_s)
    except UserError:  # the disk is in no catalogue
        return []
    scale = rental.spec.time_scale
    allowances = [a for pool in disk_limits.pools for a in (pool.iops, pool.bytes_per_s) if a]
    lasting = (lasts_s(scaled(allowance, time_scale=scale)) for allowance in allowances)
    return [seconds for seconds in lasting if seconds is not None]
