"""What a plan expects of one step of a run that went on in rounds: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.model.expectation import Expectation
    from diskbench.model.spec import Plan


def place_of(plan: Plan, index: int) -> int:
    """The index in the plan of the step that is step `index` of a run, counted through all rounds
    of its loop."""
    if plan.loop is None or index < plan.loop.first:
        return index
    body = len(plan.steps) - plan.loop.first
    return plan.loop.first + (index - plan.loop.first) % body


def expected_of(
    plan: Plan | None, index: int, *, of_round: int | None = None, run: int = 1
) -> Expectation | None:
    """What step `index` of a run (counted from 1) should get; None where nothing is known."""
    found = plan.expectation if plan else None
    if plan is None or found is None:
        return None
    return found.of(found.step(place_of(plan, index), run, of_round))
