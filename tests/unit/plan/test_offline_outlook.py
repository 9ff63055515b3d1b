"""Beginning a matrix some of whose clouds cannot be asked now."""

import pytest
from tests.books import SHIPPED

from diskbench.engine.matrix.matrix_file import read_matrix
from diskbench.engine.matrix.matrix_outlook import outlook_of
from diskbench.errors import CloudSilent, HostUnavailable, InvalidValue
from diskbench.model.outcome import problem_of
from diskbench.plan.offline_outlook import out_of_reach, with_expected

MATRIX = """name: two-clouds
defaults: {disk: gp2, size: 20, profile: quick}
include:
  - {provider: aws, region: us-east-1, instance_type: m5.large}
  - {provider: fake, disk: plain, size: 1}
"""
UNKNOWN = problem_of(InvalidValue("it gives no figures offline"))
AWAY = problem_of(HostUnavailable("no answer"))


@pytest.fixture
def foreseen(tmp_path):
    """What is known without a call: all of the first block, nothing of the second."""
    outlook = outlook_of(read_matrix(MATRIX, "two.yaml", tmp_path), SHIPPED, seed=1, offline=True)
    known, other = outlook.blocks
    nothing = other.model_copy(update={"problem": UNKNOWN, "cost": None})
    return outlook.model_copy(update={"blocks": (known, nothing)})


def away(outlook, problem=AWAY, **limits):
    """The same, asked for, when nobody answers."""
    blocks = tuple(one.model_copy(update={"problem": problem}) for one in outlook.blocks)
    wanted = outlook.limits.model_copy(update=limits)
    return outlook.model_copy(update={"blocks": blocks, "limits": wanted})


def test_a_cloud_that_does_not_answer_is_foreseen_by_the_catalogue(foreseen):
    seen = away(foreseen)
    assert len(out_of_reach(seen)) == 2
    aws, _ = with_expected(seen, foreseen).blocks
    assert aws == foreseen.blocks[0]
    assert aws.problem is None
    assert aws.cost is not None


def test_a_cloud_that_is_silent_now_is_out_of_reach_too(foreseen):
    assert len(out_of_reach(away(foreseen, problem_of(CloudSilent("no answer"))))) == 2


def test_what_nobody_foresees_is_left_to_its_turn(foreseen):
    assert with_expected(away(foreseen), foreseen).blocks[1].problem is None


def test_under_a_budget_what_nobody_foresees_is_not_begun(foreseen):
    seen = away(foreseen, budget_usd=5.0)
    assert with_expected(seen, foreseen).blocks[1].problem == AWAY


def test_what_cannot_be_measured_anywhere_stays_so(foreseen):
    seen = away(foreseen, UNKNOWN)
    assert out_of_reach(seen) == []
    assert with_expected(seen, foreseen) == seen
