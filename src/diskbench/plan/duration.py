"""How often each step of a plan runs, and how long that takes: pure."""

from collections.abc import Iterable, Iterator

from diskbench.model.spec import Plan, Step

RENTING_S = 360.0
"""Seconds that a machine is rented beside measuring: to come up and to go; our estimate."""
RENTING_HERE_S = {"lab": 10.0, "fake": 1.0}
"""The same where the machine is made of this one; measured 2026-11 on two cores."""


def renting_s(plan: Plan) -> float:
    """How long the plan's machine is rented beside measuring; 0 where nothing is rented."""
    if plan.rental is None:
        return 0.0
    return RENTING_HERE_S.get(plan.rental.scope.provider, RENTING_S)


def repetitions(plan: Plan, *, longest: bool) -> Iterator[tuple[Step, int]]:
    """Each step, and how often it runs in all runs together: those of a loop for the fewest rounds
    it has, or with `longest` for the most."""
    runs = len(plan.run_ids)
    loop = plan.loop
    for position, step in enumerate(plan.steps):
        if loop is None or position < loop.first:
            yield step, runs
        else:
            yield step, runs * (loop.max_rounds if longest else loop.min_rounds)


def longest_s(plan: Plan) -> float:
    """How long the plan's steps may take, in seconds: a loop may go on to its last round."""
    return sum(step.expected_s * times for step, times in repetitions(plan, longest=True))


def left_s(plan: Plan, done: Iterable[str]) -> float:
    """How long what is left of the plan may take, in seconds: `done` are the names of the steps
    that have ended, one of a loop once for each of its rounds."""
    expected = {step.name: step.expected_s for step in plan.steps}
    return max(longest_s(plan) - sum(expected.get(name, 0.0) for name in done), 0.0)
