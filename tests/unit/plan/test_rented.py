import pytest
from tests.rigs.plans import make_plan

from diskbench.errors import InvalidValue
from diskbench.model.disk import DiskSpec
from diskbench.model.rental import Rental, RentSpec, Scope
from diskbench.model.spec import Loop
from diskbench.plan.rented import time_scale_notes
from diskbench.providers.options import EmulationOptions

STEADY = Loop(first=0, tracked="write", direction="write")


def plan(scale, disk_type="gp2", *, loop=None):
    rental = Rental(
        scope=Scope(provider="lab"),
        spec=RentSpec(lab=EmulationOptions(time_scale=scale)),
        cloud="aws",
        offer="a machine",
        disk=DiskSpec(type=disk_type, size_gib=500 if disk_type == "st1" else 20),
    )
    return make_plan(rental=rental, loop=loop)


def test_unscaled_there_is_nothing_to_say():
    assert time_scale_notes(plan(1, loop=STEADY)) == ()
    assert time_scale_notes(make_plan()) == ()


def test_a_scale_that_leaves_a_phase_under_two_minutes_is_said():
    # 1,862 s at full burst: 124 s at 15, 116 s at 16.
    assert time_scale_notes(plan(15)) == ()
    (note,) = time_scale_notes(plan(16))
    assert "the burst lasts 1 min 56 s, under two minutes" in note


def test_a_profile_that_judges_steadiness_is_refused_where_the_scale_makes_it_meaningless():
    assert time_scale_notes(plan(15, loop=STEADY)) == ()
    with pytest.raises(InvalidValue, match="waits for a steady state") as refused:
        time_scale_notes(plan(100, loop=STEADY))
    assert "at most --time-scale 15" in refused.value.advice


def test_a_scale_on_a_disk_without_credit_changes_nothing_and_is_said_so():
    (note,) = time_scale_notes(plan(60, "standard"))
    assert "no burst credit" in note
