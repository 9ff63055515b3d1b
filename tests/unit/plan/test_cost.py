"""What a plan costs, and whether that is within a limit."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.books import SHIPPED
from tests.unit.report.made import plan, step

from diskbench.catalog.cost import CellCost, disk_part, machine_part
from diskbench.cli.run_command import check_cost_limit
from diskbench.errors import CostRefused, InvalidValue
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.model.spec import Loop, Plan, Step
from diskbench.plan.cost import RENTING_S, check_cost, cost_of_plan, renting_s
from diskbench.plugins import plugin
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
