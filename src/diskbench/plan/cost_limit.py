"""Whether what is planned stays within a limit of money: pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from diskbench.errors import CostRefused
from diskbench.units import format_usd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.catalog.cost import CellCost


def check_cost(
    costs: Sequence[CellCost],
    limit_usd: float | None,
    assume_price_usd_per_hour: float | None,
    *,
    limit_name: str = "--max-cost",
    assume_name: str = "--assume-price",
) -> float:
    """What all of it costs together, at most `limit_usd`; with None any sum may be.

    Where a price is not known, an hour costs what is assumed. Raises CostRefused when it is more
    than the limit, or when there is a limit, and a price is neither known nor assumed.
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
            f"{limit_name} {limit_usd:g}: no price is known of {', '.join(names)}",
            advice=f"say what an hour costs: {assume_name} USD",
        )
    total = math.fsum(known)
    if not total <= limit_usd:
        raise CostRefused(
            f"{limit_name} {limit_usd:g}: it may cost {format_usd(total)}{_parts(costs)}",
            advice=f"raise {limit_name}, or measure less, or on something cheaper",
        )
    return total


def _parts(costs: Sequence[CellCost]) -> str:
    """What the sum is made of where that is not plain: `, $0.20 of it for transactions`."""
    transactions = math.fsum(cost.transactions_usd for cost in costs)
    return f", {format_usd(transactions)} of it for transactions" if transactions else ""
