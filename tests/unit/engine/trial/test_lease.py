from datetime import UTC, datetime, timedelta

import pytest
from tests.rigs.plans import make_plan, make_step

from diskbench.engine.trial.lease import expiry
from diskbench.model.spec import Loop
from diskbench.plan.cost import longest_s
from diskbench.store.database import open_database

STEPS = tuple(
    make_step(index, name).model_copy(update={"expected_s": seconds})
    for index, (name, seconds) in enumerate([("fill", 100.0), ("read", 60.0), ("write", 60.0)])
)


def test_a_lease_lasts_as_long_again_as_its_runs_and_an_hour(tmp_path):
    database = open_database(f"sqlite:///{tmp_path}/a.db")
    plan = make_plan(steps=STEPS, expected_s=440.0)
    left = datetime.fromisoformat(expiry(database, plan)) - datetime.now(UTC)
    assert left == pytest.approx(
        timedelta(seconds=2 * 440) + timedelta(hours=1), abs=timedelta(minutes=1)
    )


def test_a_loop_is_given_the_time_for_its_last_round():
    loop = Loop(first=1, tracked="write", direction="write", min_rounds=5, max_rounds=25)
    plan = make_plan(("a" * 26, "b" * 26), steps=STEPS, loop=loop, expected_s=2 * 700.0)
    assert longest_s(plan) == 2 * (100 + 25 * 120)
