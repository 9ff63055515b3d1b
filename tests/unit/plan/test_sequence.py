"""Which step comes next."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.report.inside import expectation
from tests.unit.report.made import plan, result, row, step

from diskbench.fio.offered import requested_iops
from diskbench.model.expectation import CreditRange, Load, PlanExpectation, StepExpectation
from diskbench.model.result import StepResult
from diskbench.model.spec import Loop, Plan, Search, Step
from diskbench.model.threshold import Threshold
from diskbench.plan.sequence import next_step, steadiness


def a_plan(*names: str, loop: Loop | None = None) -> Plan:
    return plan(steps=tuple(step(i, name) for i, name in enumerate(names)), loop=loop)


def finished(of: Step, iops: float = 100.0) -> StepResult:
    return result(of, row(of.name, direction="write", iops=iops))


def run_through(of: Plan, iops: Sequence[float]) -> list[Step]:
    """All steps of the run; the tracked job's IOPS are taken from `iops` round by round."""
    steps: list[Step] = []
    results: list[StepResult] = []
    while (found := next_step(of, results)) is not None:
        steps.append(found)
        results.append(finished(found, iops[min((found.round or 1) - 1, len(iops) - 1)]))
    return steps


def test_steps_come_in_order_and_a_loop_that_settles_late_is_judged_over_its_last_five() -> None:
    made = a_plan("fill", "read", "write")
    assert [s.name for s in run_through(made, [1.0])] == ["fill", "read", "write"]
    made = a_plan("b", loop=Loop(first=0, tracked="b", direction="write"))
    assert len(run_through(made, [3000.0, 2000.0, 1000.0, 100.0])) == 8


def test_a_loop_ends_at_its_last_round_and_says_so_or_after_five_flat_ones() -> None:
    made = a_plan("b", loop=Loop(first=0, tracked="b", direction="write", max_rounds=25))
    values = [100.0 if i % 2 else 300.0 for i in range(30)]
    steps = run_through(made, values)
    assert len(steps) == 25
    results = [finished(s, values[i]) for i, s in enumerate(steps)]
    assert made.loop is not None
    assert steadiness(made.loop, results).state == "not steady"
    made = a_plan("fill", "a", "b", loop=Loop(first=1, tracked="b", direction="write"))
    steps = run_through(made, [100.0])
    assert [s.name for s in steps] == ["fill", *["a", "b"] * 5]
    assert [s.round for s in steps] == [None, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert [s.index for s in steps] == list(range(11))


def with_credit(of: Plan, lasting: float) -> Plan:
    """The plan on a disk that bursts to 3,000 and comes to `lasting`."""
    load = Load(block_bytes=4096, read_share=0)
    found = expectation(3000, lasting, None).model_copy(update={"load": load})
    steps = (
        StepExpectation(index=one.index, name=one.name, start_s=0, seconds=60, load=0)
        for one in of.steps
    )
    credit = CreditRange(bucket="disk-iops", gone_s=1800, full_load_s=1862)
    whole = PlanExpectation(expectations=(found,), steps=tuple(steps), credits=(credit,))
    return of.model_copy(update={"expectation": whole})


def test_a_loop_that_is_steady_in_a_burst_goes_on_to_the_baseline() -> None:
    made = a_plan("fill", "b", loop=Loop(first=1, tracked="b", direction="write"))
    bursting = with_credit(made, 100.0)
    assert len(run_through(bursting, [3000.0] * 10 + [100.0])) == 1 + 15
    assert len(run_through(bursting, [105.0])) == 1 + 5
    assert len(run_through(bursting, [3000.0])) == 1 + 25
    assert len(run_through(with_credit(made, 3000.0), [3000.0])) == 1 + 5


@given(st.lists(st.floats(min_value=1, max_value=1e6), min_size=1, max_size=40))
def test_a_loop_always_ends_between_its_bounds(values: list[float]) -> None:
    made = a_plan("b", loop=Loop(first=0, tracked="b", direction="write", max_rounds=12))
    assert 5 <= len(run_through(made, values)) <= 12


PROBES = tuple(f"probe-{n}" for n in range(1, 9))


def a_search(knee: float, capacity: float = 4000.0) -> list[Step]:
    """The steps of a run with a search on a disk that keeps to the target up to `knee` IOPS."""
    job = "[probe]\nrw=randread\nruntime=30\nnumjobs=64\nrate_iops=50% of capacity\n"
    probes = (step(n, name, expected_s=30.0) for n, name in enumerate(PROBES, 1))
    steps = (step(0, "capacity"), *(of.model_copy(update={"job": job}) for of in probes))
    how = {"target": Threshold.parse("p99 < 2ms"), "precision": 0.02, "beyond": 100}
    search = Search(capacity="capacity", steps=PROBES, **how)
    made = plan(steps=steps).model_copy(update={"search": search})
    found: list[Step] = []
    results: list[StepResult] = []
    while (at := next_step(made, results)) is not None:
        found.append(at)
        rate = requested_iops(at.job) or capacity
        p99 = 1e6 if rate <= knee else 9e6
        results.append(result(at, row(at.name, direction="read", iops=rate, p99_ns=p99)))
    return found


def test_a_search_offers_halved_shares_and_ends_at_its_precision() -> None:
    steps = a_search(knee=2900.0)
    rates = [requested_iops(of.job) for of in steps[1:]]
    assert rates == [1984, 3008, 2496, 2752, 2880, 2944, 2880]  # whole rates of each of 64 streams
    assert [of.index for of in steps] == list(range(8))


def test_a_probe_lasts_as_long_as_its_percentile_needs() -> None:
    steps = a_search(knee=2.0, capacity=400.0)
    seconds = {of.name: of.expected_s for of in steps[1:]}
    assert seconds["probe-1"] == 50.0  # 10,000 I/Os at 200 a second
    assert seconds["probe-2"] == 100.0
    assert "runtime=100\n" in steps[2].job
    assert a_search(knee=9e9, capacity=40_000.0)[1].expected_s == 30.0
