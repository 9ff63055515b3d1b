"""Two addresses of one machine: by its kernel and its disk, never by a name."""

from __future__ import annotations

import pytest
from tests.rigs.plans import make_plan

from diskbench.engine.trial.same_machine import queued_behind
from diskbench.errors import TargetRefused


def plan_of(address, trial, *, boot="b1", machine="m1", disks=("8:0",), if_busy="wait"):
    plan = make_plan()
    extra = {"boot_id": boot, "machine_id": machine, "disks": list(disks)}
    return plan.model_copy(
        update={
            "trial_id": trial,
            "cell": plan.cell.model_copy(
                update={"provider": "ssh", "address": address, "if_busy": if_busy}
            ),
            "facts": plan.facts.model_copy(update={"extra": extra}),
        }
    )


def test_the_second_address_of_a_machine_waits_and_both_are_named():
    found = queued_behind(plan_of("b", "t2"), [plan_of("a", "t1")])
    (note,) = found.notes
    assert "a and b reach the same machine (machine id and boot id agree)" in note
    assert "8:0" in note


def test_it_is_refused_where_it_is_not_to_wait():
    with pytest.raises(TargetRefused, match="a and b reach the same machine"):
        queued_behind(plan_of("b", "t2", if_busy="fail"), [plan_of("a", "t1")])


def test_containers_of_one_kernel_are_one_machine_with_two_ids():
    found = queued_behind(plan_of("b", "t2", machine="m2"), [plan_of("a", "t1")])
    assert "the same kernel (boot id agrees)" in found.notes[0]


@pytest.mark.parametrize(
    "other",
    [
        {"boot": "b2"},  # images copied with their machine id
        {"disks": ("8:16",)},
        {"boot": ""},  # a machine that says nothing
        {"disks": ()},
    ],
)
def test_other_machines_and_other_disks_are_left_alone(other):
    plan = plan_of("b", "t2", if_busy="fail", **other)
    assert queued_behind(plan, [plan_of("a", "t1")]) == plan


def test_one_of_several_disks_in_common_is_enough():
    plan = plan_of("b", "t2", disks=("8:0", "8:16"))
    assert queued_behind(plan, [plan_of("a", "t1", disks=("8:16", "8:32"))]).notes
