"""The effect of burst credit on a plan in three figures, for a line of a matrix. Pure.

The full course is the plan's expectation (plan/expectation.py). Checked against a measurement:
"Benchmarking the Disk Speed of IaaSes" (2018) saw a gp2 of 20 GiB collapse in the 34th run of
GoBonnieGo on a c4.xlarge; this predicts the same run (tests/unit/plan/test_credit.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.model.base import Frozen

if TYPE_CHECKING:
    from diskbench.model.expectation import PlanExpectation


class Credit(Frozen):
    """`gone_s` is the time from the start of the first step until a bucket is first empty; None:
    never. `expected_s` is the duration of all steps, `lasts_s` that of a full bucket at full
    load."""

    gone_s: float | None
    expected_s: float
    lasts_s: float


def credit_of(expected: PlanExpectation | None) -> Credit | None:
    """Return the credit of disk and machine together; None if neither has a burst bucket."""
    if expected is None or not expected.credits:
        return None
    return Credit(
        gone_s=expected.gone_s,
        expected_s=expected.seconds,
        lasts_s=min(credit.full_load_s for credit in expected.credits),
    )
