"""The plan's expectation for one step of a run that may repeat steps in rounds: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.model.expectation import Expectation
    from diskbench.model.spec import Plan


def place_of(plan: Plan, index: int) -> int:
    """Return the plan's index of step `index` of a run, where the run counts its steps through all
    rounds of the loop."""
    if plan.loop is None or index < plan.loop.first:
        return index
    body = len(plan.steps) - plan.loop.first
    return plan.loop.first + (index - plan.loop.first) % body


def expected_of(
    plan: Plan | None, index: int, *, of_round: int | None = None, run: int = 1
) -> Expectation | None:
    """Return the expectation of step `index` of `run` (runs count from 1); None if unknown."""
    expectation = plan.expectation if plan else None
    if plan is None or expectation is None:
        return None
    return expectation.of(expectation.step(place_of(plan, index), run, of_round))
