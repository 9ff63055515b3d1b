"""The expected and the actual cost of a trial, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.catalog.cost import priced_region
from diskbench.plan.cost import cost_of_plan
from diskbench.units import format_duration_s, format_usd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.catalog.cost import TrialCost
    from diskbench.model.spec import Plan

_LEAST_USD = 0.01
"""A smaller estimate is shown as one cent: it is not precise enough for less."""


def price_lines(plan: Plan) -> Iterator[str]:
    """The price of a plan's rental per hour, and the estimate for this trial."""
    cost, longest = cost_of_plan(plan), cost_of_plan(plan, longest=True)
    if cost.unknown:
        known = f"; the rest is about {_about(cost.known_usd)}" if cost.known_usd else ""
        yield f"not known of {', '.join(cost.unknown)}{known}"
        yield from _where_known(plan)
        return
    if not longest.total_usd:
        yield "nothing"
        return
    assert cost.total_usd is not None
    about = f"${cost.hourly_usd:.4f} an hour, about {_about(cost.total_usd)} for this"
    if longest.total_usd > cost.total_usd:
        about += f" and at most {_about(longest.total_usd)}"
    if cost.transactions_usd:
        about += f", {format_usd(cost.transactions_usd)} of it for transactions"
    yield about


def _where_known(plan: Plan) -> Iterator[str]:
    """The region whose prices were used, if it differs from the plan's region or none was given."""
    if plan.rental is None:
        return
    known = priced_region(plan.rental.catalogue)
    if known is not None and known != plan.rental.scope.region:
        yield f"prices are known for {known} only: use --region {known}"


def cost_line(cost: TrialCost) -> str:
    """The cost of a trial: `$0.0123 (12 min at $0.0612/h)`, transactions with their number."""
    if cost.unknown:
        known = f", the rest {format_usd(cost.known_usd)}" if cost.known_usd else ""
        return f"not known of {', '.join(cost.unknown)}{known}"
    if not cost.total_usd:
        return "nothing"
    hourly = f"{format_duration_s(cost.seconds)} at {format_usd(cost.hourly_usd or 0)}/h"
    if cost.fixed_usd:
        hourly += f", {format_usd(cost.fixed_usd)} for the least time that is billed"
    if cost.transactions_usd:
        hourly += f", {format_usd(cost.transactions_usd)} for {cost.transactions:,.0f} transactions"
    so_far = "" if cost.ended else " so far"
    paid = "; emulated: nothing was paid" if cost.emulated else ""
    return f"{format_usd(cost.total_usd)}{so_far} ({hourly}){paid}"


def _about(usd: float) -> str:
    return f"${max(usd, _LEAST_USD):,.2f}"
