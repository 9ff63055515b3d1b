"""Spending of a bucket's last credits by a supervisor that runs ten times a second.

catalog/bucket.py defines a bucket's content and the charges; this module sets only the
kernel's rate until the next tick.
"""

from __future__ import annotations

from diskbench.catalog.bucket import Allowance, capacity, rate

HORIZON_S = 0.3
"""The seconds within which the rest of a bucket may be spent. The last credits thus run out
over a few ticks, never past zero; a drop spread over so little is still sharp. Our choice."""
CRUMBS = 0.05
"""A smaller part of the baseline is not worth a new limit and is left in the bucket; our choice."""
DEBT_S = 1.0
"""How many seconds of baseline a bucket may owe: a burst that was under way when it emptied."""


def allowed(allowance: Allowance, balance: float) -> float:
    """The rate allowed until the next tick."""
    if not capacity(allowance):
        return rate(allowance, has_credit=True)
    extra = balance / HORIZON_S
    if extra < CRUMBS * allowance.baseline:
        return rate(allowance, has_credit=False)
    return min(rate(allowance, has_credit=True), allowance.baseline + extra)


def owed(allowance: Allowance) -> float:
    """How far below zero the balance may fall."""
    return allowance.baseline * DEBT_S
