"""How often each step of a plan runs, and how long that takes: pure."""

from collections.abc import Iterable, Iterator

from diskbench.model.spec import Plan, Step

RENTING_S = 360.0
"""Seconds that a machine is rented in addition to measuring, to start and stop; our estimate."""
RENTING_HERE_S = {"lab": 10.0, "fake": 1.0}
"""The same for an emulated machine on this computer; measured 2026-11 on two cores."""


def renting_s(plan: Plan) -> float:
    """Return the seconds that the machine is rented besides measuring; 0 if nothing is rented."""
    if plan.rental is None:
        return 0.0
    return RENTING_HERE_S.get(plan.rental.scope.provider, RENTING_S)


def repetitions(plan: Plan, *, longest: bool) -> Iterator[tuple[Step, int]]:
    """Yield each step and how often it runs in all runs together. Steps of a loop count with the
    fewest rounds, or with `longest` with the most."""
    runs = len(plan.run_ids)
    loop = plan.loop
    for position, step in enumerate(plan.steps):
        if loop is None or position < loop.first:
            yield step, runs
        else:
            yield step, runs * (loop.max_rounds if longest else loop.min_rounds)


def longest_s(plan: Plan) -> float:
    """Return how long the plan's steps may take in seconds, with loops run to their last round."""
    return sum(step.expected_s * times for step, times in repetitions(plan, longest=True))


def left_s(plan: Plan, done: Iterable[str]) -> float:
    """Return how long the rest of the plan may take in seconds. `done` are the names of the
    finished steps; a step of a loop occurs once for each finished round."""
    expected = {step.name: step.expected_s for step in plan.steps}
    return max(longest_s(plan) - sum(expected.get(name, 0.0) for name in done), 0.0)
