"""Whether the planned trials stay within a cost limit: pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.errors import CostRefused
from diskbench.units import format_usd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.catalog.cost import CellCost


@dataclass(frozen=True)
class CostLimit:
    """The most that a command may cost, and the assumed hourly price where none is known; USD."""

    usd: float | None = None
    assume_price_usd_per_hour: float | None = None


def check_cost(
    costs: Sequence[CellCost],
    limit_usd: float | None,
    assume_price_usd_per_hour: float | None,
    *,
    limit_name: str = "--max-cost",
    assume_name: str = "--assume-price",
) -> float:
    """Return the total cost in USD, at most `limit_usd`; None sets no limit.

    Where a price is not known, the assumed hourly price counts. Raises CostRefused if the total
    exceeds the limit, or if there is a limit and a price is neither known nor assumed.
    """
    totals = [cost.total_or(assume_price_usd_per_hour) for cost in costs]
    if limit_usd is None:
        return math.fsum(
            cost.known_usd if total is None else total
            for cost, total in zip(costs, totals, strict=True)
        )
    known = [total for total in totals if total is not None]
    if len(known) < len(totals):
        names = dict.fromkeys(name for cost in costs for name in cost.unknown)
        raise CostRefused(
            f"{limit_name} {limit_usd:g}: no price is known for {', '.join(names)}",
            advice=f"say what an hour costs: {assume_name} USD",
        )
    total = math.fsum(known)
    if not total <= limit_usd:
        raise CostRefused(
            f"{limit_name} {limit_usd:g}: it may cost {format_usd(total)}{_parts(costs)}",
            advice=f"raise {limit_name}, measure less, or rent a cheaper machine or disk",
        )
    return total


def _parts(costs: Sequence[CellCost]) -> str:
    """Return the breakdown of the sum if there is one to show: `, $0.20 of it for transactions`."""
    transactions = math.fsum(cost.transactions_usd for cost in costs)
    return f", {format_usd(transactions)} of it for transactions" if transactions else ""
