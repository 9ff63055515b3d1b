import pytest

from diskbench import errors
from diskbench.cli.foreground import exit_code
from diskbench.engine.matrix.cells import TrialEnding
from diskbench.model.outcome import RunEnd, problem_of


def ended(*states):
    return tuple(RunEnd(run_id=str(i), run_index=i, state=s) for i, s in enumerate(states))


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"end": ended("done", "done")}, 0), ({"end": ended("failed", "cancelled")}, 1),
        ({"end": ended("interrupted", "cancelled")}, 130),
        ({"suspended": errors.StoreUnavailable("full")}, 2),
        ({"suspended": ValueError("a fault")}, 1),
        ({"suspended": errors.ConnectionLost("away")}, 1),
        ({"suspended": errors.ConnectionLost("away"), "stopped": True}, 130),
        ({"end": ended("failed"), "problem": problem_of(errors.AccessDenied("expired"))}, 2),
        ({"end": ended("failed"), "problem": problem_of(errors.NoCapacity("none"))}, 1),
        ({"end": ended("done"), "not_released": errors.ReleaseFailed("left")}, 3), ({}, 1),
    ],
)  # fmt: skip
def test_the_exit_code_tells_what_costs_most(how, code):
    assert exit_code(TrialEnding("t1", **how)) == code
