"""What burst credit will do to a plan, in three figures: for a line of a matrix. Pure.

The whole is the plan's expectation (plan/expectation.py). Held against a measurement: "Benchmarking
the Disk Speed of IaaSes" (2018) saw gp2 of 20 GiB collapse in the 34th run of GoBonnieGo on a
c4.xlarge, and so does this (tests/unit/plan/test_credit.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.model.base import Frozen

if TYPE_CHECKING:
    from diskbench.model.expectation import PlanExpectation


class Credit(Frozen):
    """`gone_s` is how long after the first step begins a bucket is first empty; None: never.
    `expected_s` is how long all steps take, `lasts_s` how long a full bucket bears full load."""

    gone_s: float | None
    expected_s: float
    lasts_s: float


def credit_of(expected: PlanExpectation | None) -> Credit | None:
    """The credit of disk and machine together; None where neither has a burst bucket."""
    if expected is None or not expected.credits:
        return None
    return Credit(
        gone_s=expected.gone_s,
        expected_s=expected.seconds,
        lasts_s=min(one.full_load_s for one in expected.credits),
    )
