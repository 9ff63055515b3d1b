"""Replicates until the interval of the median is narrow (MR-7): how many may begin now. Pure.

A matrix under `until_ci` has `max_replicates` cells a block, of which `min_replicates` are measured
whatever they show. After that, as many more begin at once as CONFIRM predicts to be needed, and
when they are done the interval is looked at again. What is not needed is spared.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.model.campaign import LIVE
from diskbench.units import format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from diskbench.model.campaign import CellRow
    from diskbench.model.matrix import Limits, Matrix
    from diskbench.plan.combinations import Combination, Place

MOST_FAILURES = 5
"""Failed replicates of a block that are replaced by further ones; our choice."""


@dataclass(frozen=True)
class BlockStanding:
    """What the `n` finished replicates of a block say, of the step that is worst off: the larger
    half of its interval over its median (None: there is none yet), and how many `more` CONFIRM
    predicts (0: narrow enough; None: too noisy to tell)."""

    n: int
    step: str = ""
    width: float | None = None
    more: int | None = None


@dataclass(frozen=True)
class Turn:
    """What becomes of the waiting cells of a block: so many may begin now; or all are spared, for
    the reason `spare`."""

    may_begin: int = 0
    spare: str = ""


def turn_of(cells: Sequence[CellRow], standing: BlockStanding, limits: Limits) -> Turn:
    """The turn of one block, all of whose `cells` are given."""
    count = Counter(cell.state for cell in cells)
    done, failed = count["done"], count["failed"] + count["cancelled"]
    live = sum(count[state] for state in LIVE)
    if not count["waiting"]:
        return Turn()
    if count["refused"] and not live:
        return Turn(spare="the matrix has no time or money left for it")
    if failed >= MOST_FAILURES:
        return Turn(spare=f"{failed} replicates failed")
    if done < limits.min_replicates:
        return Turn(may_begin=max(0, limits.min_replicates - done - live))
    if standing.n != done:
        return Turn()  # what was read is older than the rows: the next look knows
    if standing.more == 0:
        return Turn(spare=f"the interval is within {format_share(limits.until_ci or 0.0)}")
    wanted = count["waiting"] if standing.more is None else standing.more
    return Turn(may_begin=max(0, wanted - live))


def until_mistakes(matrix: Matrix) -> Iterator[tuple[Place, str, str]]:
    """What of the whole contradicts `until_ci`, each with its place, words and advice."""
    limits = matrix.limits
    given = limits.model_fields_set
    if limits.until_ci is None:
        for name in ("min_replicates", "max_replicates"):
            if name in given:
                yield ("limits", name), f"limits.{name} changes nothing without until_ci", "add it"
        return
    if limits.max_replicates < limits.min_replicates:
        told = f"limits.max_replicates {limits.max_replicates} is less than min_replicates"
        yield ("limits", "max_replicates"), f"{told} {limits.min_replicates}", "give as many"
    if matrix.reuse_host:
        told = "until_ci and reuse_host: one machine is one sample"
        yield ("limits", "until_ci"), told, "leave one of them out"


def until_mistake_of(
    one: Combination, limits: Limits, rents: Callable[[str], bool]
) -> tuple[Place, str, str] | None:
    """Why a combination cannot be measured until an interval is narrow: place, words, advice."""
    if limits.until_ci is None:
        return None
    if "replicates" in one.fields:
        told = "replicates and limits.until_ci both say how many"
        advice = "leave it out; limits.min_replicates and max_replicates are the bounds"
        return one.places["replicates"], told, advice
    provider = one.fields["provider"]
    if rents(provider):
        return None
    told = f"until_ci needs a new machine for each replicate, and {provider} rents none"
    advice = "measure machines that are there in a matrix of their own"
    return one.places.get("provider", one.at), told, advice
