"""Which step comes next."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from diskbench.model.expectation import (
    CreditRange,
    Expectation,
    ExpectedLevel,
    Load,
    PlanExpectation,
    StepExpectation,
)
from diskbench.model.facts import HostFacts
from diskbench.model.result import Measurement, StepResult
from diskbench.model.spec import Cell, Loop, Plan, ProfileFacts, ResolvedTarget, Step, TargetSpec
from diskbench.plan.sequence import next_step, steadiness


def a_step(index: int, name: str) -> Step:
    return Step(index=index, name=name, job=f"[{name}]\nrw=write\n", expected_s=1.0)


def a_plan(*names: str, loop: Loop | None = None) -> Plan:
    return Plan(
        diskbench_version="0",
        campaign_id="c",
        trial_id="t",
        run_ids=("r",),
        cell=Cell(
            provider="local", target=TargetSpec(kind="directory", path="/x"), profile="quick"
        ),
        profile=ProfileFacts(
            name="p", title="", question="", source="", template="", digest="", parameters={}
        ),
        target=ResolvedTarget(kind="directory", path="/x", state_dir="/s", size_bytes=1),
        steps=tuple(a_step(i, name) for i, name in enumerate(names)),
        loop=loop,
        facts=HostFacts(),
        expected_s=1.0,
        space_bytes=1,
    )


def finished(step: Step, iops: float = 100.0) -> StepResult:
    row = Measurement(
        run_id="r",
        step_index=step.index,
        step=step.name,
        role=step.role,
        round=step.round,
        scope="step",
        job="all",
        job_index=0,
        direction="write",
        ios=100,
        bytes=100,
        runtime_ns=1,
        iops=iops,
        bytes_per_s=1.0,
    )
    return StepResult(
        step_index=step.index,
        step=step.name,
        role=step.role,
        round=step.round,
        started_at="",
        finished_at="",
        fio_exit=0,
        fio_version="fio-3.33",
        measurements=(row,),
    )


def run_through(plan: Plan, iops: Sequence[float]) -> list[Step]:
    """All steps of the run; the tracked job's IOPS are taken from `iops` round by round."""
    steps: list[Step] = []
    results: list[StepResult] = []
    while (step := next_step(plan, results)) is not None:
        steps.append(step)
        value = iops[min((step.round or 1) - 1, len(iops) - 1)]
        results.append(finished(step, value))
    return steps


def test_steps_of_a_plain_profile_come_once_and_in_order() -> None:
    plan = a_plan("fill", "read", "write")
    assert [s.name for s in run_through(plan, [1.0])] == ["fill", "read", "write"]


def test_a_flat_loop_ends_after_five_rounds() -> None:
    plan = a_plan("fill", "a", "b", loop=Loop(first=1, tracked="b", direction="write"))
    steps = run_through(plan, [100.0])
    assert [s.name for s in steps] == ["fill", *["a", "b"] * 5]
    assert [s.round for s in steps] == [None, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert [s.index for s in steps] == list(range(11))


def test_a_loop_that_settles_late_is_judged_over_its_last_five_rounds() -> None:
    plan = a_plan("b", loop=Loop(first=0, tracked="b", direction="write"))
    assert len(run_through(plan, [3000.0, 2000.0, 1000.0, 100.0])) == 8


def test_a_loop_that_never_settles_ends_at_its_last_round_and_says_so() -> None:
    plan = a_plan("b", loop=Loop(first=0, tracked="b", direction="write", max_rounds=25))
    values = [100.0 if i % 2 else 300.0 for i in range(30)]
    steps = run_through(plan, values)
    assert len(steps) == 25
    results = [finished(s, values[i]) for i, s in enumerate(steps)]
    assert plan.loop is not None
    judged = steadiness(plan.loop, results)
    assert judged is not None
    assert not judged.steady


def with_credit(plan: Plan, lasting: float) -> Plan:
    """The plan on a disk that bursts to 3,000 and comes to `lasting`."""

    def level(iops: float) -> ExpectedLevel:
        return ExpectedLevel(
            iops=iops, low_iops=iops, high_iops=iops, bytes_per_s=iops, limited_by="disk-iops"
        )

    load = Load(block_bytes=4096, read_share=0)
    found = Expectation(
        load=load, reads=None, writes=None, begin=level(3000), lasting=level(lasting)
    )
    steps = tuple(
        StepExpectation(index=step.index, name=step.name, start_s=0, seconds=60, load=0)
        for step in plan.steps
    )
    credit = CreditRange(bucket="disk-iops", gone_s=1800, full_load_s=1862)
    expectation = PlanExpectation(expectations=(found,), steps=steps, credits=(credit,))
    return plan.model_copy(update={"expectation": expectation})


def test_a_loop_that_is_steady_in_a_burst_goes_on_to_the_baseline() -> None:
    plan = a_plan("fill", "b", loop=Loop(first=1, tracked="b", direction="write"))
    bursting = with_credit(plan, 100.0)
    assert len(run_through(bursting, [3000.0] * 10 + [100.0])) == 1 + 15
    assert len(run_through(bursting, [105.0])) == 1 + 5
    assert len(run_through(bursting, [3000.0])) == 1 + 25
    assert len(run_through(with_credit(plan, 3000.0), [3000.0])) == 1 + 5


@given(st.lists(st.floats(min_value=1, max_value=1e6), min_size=1, max_size=40))
def test_a_loop_always_ends_between_its_bounds(values: list[float]) -> None:
    plan = a_plan("b", loop=Loop(first=0, tracked="b", direction="write", max_rounds=12))
    assert 5 <= len(run_through(plan, values)) <= 12
