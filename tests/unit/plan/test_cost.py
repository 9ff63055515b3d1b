"""What a plan costs, and when its cells begin and end."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.books import SHIPPED
from tests.unit.report.made import plan, step

from diskbench.catalog.cost import CellCost, disk_part, machine_part
from diskbench.errors import CostRefused, InvalidValue
from diskbench.model.campaign import UntilStatus
from diskbench.model.matrix import Limits
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.model.spec import Loop, Plan, Step
from diskbench.plan.cost import RENTING_S, check_cost, cost_of_plan, renting_s
from diskbench.plan.makespan import Task, at_once, makespan_s, starts
from diskbench.plan.rent_options import check_cost_limit
from diskbench.plan.until import MOST_FAILURES, may_begin
from diskbench.plugin import plugin
from diskbench.units import MIB

HDD = DiskSpec(type="Standard_LRS", size_gib=256)


def job(*lines: str, seconds: float = 100.0) -> Step:
    text = "[read]\nrw=randread\n" + "".join(f"{line}\n" for line in lines)
    return step(0, "read", expected_s=seconds).model_copy(update={"job": text})


def rented(*steps: Step, disk: DiskSpec = HDD, runs: int = 1, loop: Loop | None = None) -> Plan:
    machine = machine_part(SHIPPED, "azure", "Standard_D2s_v5", "eastus")
    prices = (machine, disk_part(SHIPPED, "azure", disk, "eastus"))
    what = {"spec": RentSpec(), "offer": "a machine", "disk": disk, "prices": prices}
    rental = Rental(scope=Scope(provider="azure", region="eastus"), **what)
    return plan(steps=steps, runs=runs, loop=loop).model_copy(update={"rental": rental})


def transactions(*lines: str, disk: DiskSpec = HDD) -> float:
    return cost_of_plan(rented(job(*lines), disk=disk)).transactions


def test_coming_up_all_runs_and_the_rounds_of_a_loop_are_paid_for_and_a_machine_that_is_there_not():
    once, thrice = (cost_of_plan(rented(job("bs=4k"), runs=runs)) for runs in (1, 3))
    assert once.seconds == RENTING_S + 100
    assert (thrice.seconds, thrice.transactions) == (RENTING_S + 300, 3 * once.transactions)
    loop = Loop(first=1, tracked="read", direction="read", min_rounds=5, max_rounds=25)
    looped = rented(job("bs=4k"), job("bs=4k"), loop=loop)
    assert cost_of_plan(looped).seconds == RENTING_S + 100 + 5 * 100
    assert cost_of_plan(looped, longest=True).seconds == RENTING_S + 100 + 25 * 100
    cost = cost_of_plan(plan(address="db1"))
    assert (cost.total_usd, cost.unknown) == (0.0, ())


def test_a_machine_made_of_this_one_is_there_at_once():
    of_azure = rented(job("bs=4k"))
    scope = of_azure.rental.scope.model_copy(update={"provider": "lab"})
    rental = of_azure.rental.model_copy(update={"scope": scope})
    of_lab = of_azure.model_copy(update={"rental": rental})
    assert renting_s(of_azure) == RENTING_S
    assert 0 < renting_s(of_lab) < 60


def test_a_step_makes_as_many_requests_as_the_disk_promises_or_its_rate_lets():
    assert transactions("bs=4k") == 500 * 100
    assert transactions("bs=1m") == pytest.approx(60e6 / MIB * 100)
    assert transactions("bssplit=4k/50:1m/50") == 500 * 100
    assert transactions() == 500 * 100, "fio's own block is 4 KiB"
    assert transactions("bs=4k", "rate_iops=10", "numjobs=3") == 30 * 100
    assert transactions("bs=4k", "rate_iops=100000") == 500 * 100
    assert transactions("ioengine=filecreate") == 0
    assert transactions("ioengine=null") == 0
    assert transactions("bs=4k", disk=DiskSpec(type="Premium_LRS", size_gib=256)) == 0


SUMS = st.lists(st.floats(0, 1000), max_size=6)


def priced(usd: float, transactions: float = 0.0) -> CellCost:
    return CellCost(
        seconds=3600, hourly_usd=usd, known_usd=usd, total_usd=usd, transactions_usd=transactions
    )


DARK = CellCost(
    seconds=1800, hourly_usd=None, known_usd=0.2, total_usd=None, unknown=("machine x1.big",)
)


def test_all_trials_count_together_and_a_refusal_is_the_users_and_says_what_transactions_are():
    assert check_cost([priced(0.5), priced(0.4)], 1.0, None) == pytest.approx(0.9)
    with pytest.raises(CostRefused, match=r"--max-cost 1: it may cost \$1\.10"):
        check_cost([priced(0.5), priced(0.6)], 1.0, None)
    assert check_cost([priced(0.5), DARK], None, None) == pytest.approx(0.7)
    with pytest.raises(CostRefused, match=r"\$3\.00, \$2\.00 of it for transactions") as refused:
        check_cost([priced(3.0, transactions=2.0)], 1.0, None)
    assert refused.value.exit_code == 2
    assert "raise --max-cost" in refused.value.advice


def test_an_unknown_price_is_refused_by_name_unless_one_is_assumed():
    with pytest.raises(CostRefused, match=r"no price is known for machine x1\.big") as refused:
        check_cost([priced(0.5), DARK], 100, None)
    assert refused.value.advice == "say what an hour costs: --assume-price USD"
    abroad = DARK.model_copy(update={"unpriced_region": "westeurope"})
    with pytest.raises(CostRefused, match=r"machine x1\.big, in westeurope") as refused:
        check_cost([priced(0.5), abroad], 100, None)
    assert refused.value.advice == (
        "diskbench catalog prices --refresh --region westeurope; "
        "or say what an hour costs: --assume-price USD"
    )
    assert check_cost([priced(0.5), DARK], 100, 2.0) == pytest.approx(0.5 + 1.0)
    with pytest.raises(CostRefused, match=r"it may cost \$1\.50"):
        check_cost([priced(0.5), DARK], 1.4, 2.0)


@given(SUMS, st.floats(0, 1000))
def test_it_is_refused_when_and_only_when_the_sum_is_above_the_limit(sums, limit):
    costs = [priced(usd) for usd in sums]
    if math.fsum(sums) > limit:
        with pytest.raises(CostRefused):
            check_cost(costs, limit, None)
    else:
        assert check_cost(costs, limit, None) == math.fsum(sums)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_what_is_no_sum_of_money_is_refused(value: float):
    with pytest.raises(InvalidValue, match="--max-cost"):
        check_cost_limit(plugin("aws"), value, None)
    with pytest.raises(InvalidValue, match="--assume-price"):
        check_cost_limit(plugin("aws"), 1.0, value)


def test_where_nothing_is_rented_a_limit_means_nothing_and_a_price_is_assumed_for_a_limit_only():
    for provider in ("local", "ssh"):
        with pytest.raises(InvalidValue, match=f"--provider {provider}, which rents nothing"):
            check_cost_limit(plugin(provider), 1.0, None)
        check_cost_limit(plugin(provider), None, None)
    with pytest.raises(InvalidValue, match="has no effect without --max-cost"):
        check_cost_limit(plugin("vsphere"), None, 0.1)
    check_cost_limit(plugin("vsphere"), 5, 0)


PLACES = [
    ("aws", "aws/a"), ("aws", "aws/b"), ("gcp", "gcp/c"), ("ssh", "ssh/h"), ("local", "local"),
]  # fmt: skip
TASKS = st.lists(
    st.builds(lambda place, s: Task(*place, float(s)), st.sampled_from(PLACES), st.integers(0, 50)),
    max_size=25,
)
PER = st.dictionaries(st.sampled_from(["aws", "aws/a", "gcp"]), st.integers(1, 3))
LIMITS = st.builds(Limits, max_parallel=st.integers(1, 5), per=PER)


def aws(*seconds: float) -> list[Task]:
    return [Task("aws", "aws/a", s) for s in seconds]


def test_so_many_run_at_once_as_the_least_limit_lets_and_a_region_that_is_full_holds_up_no_other():
    assert starts(aws(10, 30, 5, 5), Limits(max_parallel=2)) == (0, 0, 10, 15)
    assert makespan_s(aws(10, 30, 5, 5), Limits(max_parallel=2)) == 30
    tasks = [*aws(10, 10, 10), Task("gcp", "gcp/c", 5)]
    assert starts(tasks, Limits(max_parallel=4, per={"aws/a": 1})) == (0, 10, 20, 0)
    assert at_once("aws/a", aws(1, 1, 1), Limits(max_parallel=8)) == 3
    assert at_once("aws/a", aws(1, 1, 1), Limits(max_parallel=2)) == 2
    assert at_once("aws/a", aws(1, 1, 1), Limits(max_parallel=8, per={"aws": 2, "aws/a": 1})) == 1


@pytest.mark.parametrize("place", [("ssh", "ssh/host"), ("local", "local")])
def test_a_machine_that_is_there_measures_one_thing_at_a_time(place):
    assert makespan_s([Task(*place, 10)] * 3, Limits(max_parallel=4, per={place[1]: 4})) == 30


@settings(deadline=None)
@given(TASKS, LIMITS)
def test_no_limit_is_passed_at_any_time_and_in_a_region_tasks_begin_in_their_order(tasks, limits):
    begins = starts(tasks, limits)
    for now in begins:
        running = [t for t, b in zip(tasks, begins, strict=True) if b <= now < b + t.seconds]
        assert len(running) <= limits.max_parallel
        for name, most in {**limits.per, "ssh/h": 1, "local": 1}.items():
            assert sum(name in {t.provider, t.partition} for t in running) <= most
    for _, partition in PLACES:
        of = [b for t, b in zip(tasks, begins, strict=True) if t.partition == partition]
        assert of == sorted(of)
    # A makespan lies between the ideal and one after the other.
    work, found = sum(t.seconds for t in tasks), makespan_s(tasks, limits)
    longest = max((t.seconds for t in tasks), default=0.0)
    assert max(work / limits.max_parallel, longest) <= found + 1e-9
    assert found <= work


def test_cells_of_one_machine_follow_each_other_and_it_keeps_its_place_until_its_last():
    shared = [Task("aws", "aws/a", seconds, "one") for seconds in (3.0, 5.0)]
    own = Task("aws", "aws/a", 2.0)
    assert starts([shared[0], own, shared[1]], Limits(max_parallel=9)) == (0.0, 0.0, 3.0)
    assert makespan_s([*shared, own], Limits(max_parallel=9)) == 8.0
    assert at_once("aws/a", [*shared, own], Limits(max_parallel=9)) == 2
    tasks = [Task("aws", "aws/a", 3.0, name) for name in ("one", "two", "one")]
    assert starts(tasks, Limits(max_parallel=1)) == (0.0, 6.0, 3.0)


UNTIL_NARROW = Limits(until_ci=0.05, max_replicates=30)


def block(**states):
    """How many cells of a block are in each state, thirty in all: the rest waits."""
    return states | {"waiting": 30 - sum(states.values())}


def found(n, width, more):
    return UntilStatus(block="b", wanted=0.05, n=n, width=width, more=more)


MORE = found(10, 0.08, 4)
TURNS = {
    "ten begin whatever they show": [
        (block(), None, 10), (block(done=2, measuring=3), None, 5),
        (block(done=9, measuring=1), None, 0),
    ],
    "with a narrow interval the rest is spared": [
        (block(done=10), found(10, 0.03, 0), "the interval is within 5 %"),
    ],
    "as many more begin as are predicted and no others until they are done": [
        (block(done=10), MORE, 4), (block(done=10, measuring=4), MORE, 0),
        (block(done=10, queued=1), MORE, 3),
    ],
    "too noisy to tell means all that are left": [
        (block(done=10), found(10, 0.5, None), 20),
    ],
    "what was read before the last one ended decides nothing": [
        (block(done=11), found(10, 0.03, 0), 0),
    ],
    "a failed one is replaced and five end it": [
        (block(done=9, failed=1), None, 1),
        (block(done=3, failed=MOST_FAILURES), None, "5 replicates failed"),
    ],
    "where budget or deadline refused one no further ones are tried": [
        (block(done=4, refused=6), None, "the matrix has no time or money left for it"),
        (block(done=4, measuring=1, refused=5), None, 5),
    ],
    "a block of which nothing waits has no turn": [
        (block(done=30), found(30, 0.2, 5), 0),
    ],
}  # fmt: skip


@pytest.mark.parametrize("rows", TURNS.values(), ids=TURNS)
def test_how_many_begin_and_what_is_spared(rows):
    for count, status, room in rows:
        assert may_begin(count, status, UNTIL_NARROW) == room


@pytest.mark.parametrize("typed", ["5%", "5 %", 0.05])
def test_a_share_is_a_percentage_or_a_number(typed):
    assert Limits.model_validate({"until_ci": typed}).until_ci == 0.05
