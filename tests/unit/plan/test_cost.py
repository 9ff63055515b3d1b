"""What a plan will cost: its rental for as long as it takes, and the transactions of its steps."""

import pytest
from tests.books import SHIPPED
from tests.unit.report.made import plan, step

from diskbench.catalog.cost import disk_part, machine_part
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.model.spec import Loop, Plan, Step
from diskbench.plan.cost import RENTING_S, cost_of_plan, renting_s
from diskbench.units import MIB

HDD = DiskSpec(type="Standard_LRS", size_gib=256)


def job(*lines: str, seconds: float = 100.0) -> Step:
    text = "[read]\nrw=randread\n" + "".join(f"{line}\n" for line in lines)
    return step(0, "read", expected_s=seconds).model_copy(update={"job": text})


def rented(*steps: Step, disk: DiskSpec = HDD, runs: int = 1, loop: Loop | None = None) -> Plan:
    prices = (
        machine_part(SHIPPED, "azure", "Standard_D2s_v5", "eastus"),
        disk_part(SHIPPED, "azure", disk, "eastus"),
    )
    rental = Rental(
        scope=Scope(provider="azure", region="eastus"),
        spec=RentSpec(),
        offer="a machine",
        disk=disk,
        prices=prices,
    )
    return plan(steps=steps, runs=runs, loop=loop).model_copy(update={"rental": rental})


def transactions(*lines: str, disk: DiskSpec = HDD) -> float:
    return cost_of_plan(rented(job(*lines), disk=disk)).transactions


def test_coming_up_and_all_runs_are_paid_for():
    once, thrice = (cost_of_plan(rented(job("bs=4k"), runs=runs)) for runs in (1, 3))
    assert once.seconds == RENTING_S + 100
    assert thrice.seconds == RENTING_S + 300
    assert thrice.transactions == 3 * once.transactions


def test_a_machine_made_of_this_one_is_there_at_once():
    of_azure = rented(job("bs=4k"))
    assert of_azure.rental is not None
    scope = of_azure.rental.scope.model_copy(update={"provider": "lab"})
    rental = of_azure.rental.model_copy(update={"scope": scope})
    of_lab = of_azure.model_copy(update={"rental": rental})
    assert renting_s(of_azure) == RENTING_S
    assert 0 < renting_s(of_lab) < 60


def test_a_step_makes_as_many_requests_as_the_disk_promises():
    assert transactions("bs=4k") == 500 * 100
    assert transactions("bs=1m") == pytest.approx(60e6 / MIB * 100)
    assert transactions("bssplit=4k/50:1m/50") == 500 * 100
    assert transactions() == 500 * 100, "fio's own block is 4 KiB"


def test_a_rate_that_is_asked_for_bounds_them():
    assert transactions("bs=4k", "rate_iops=10", "numjobs=3") == 30 * 100
    assert transactions("bs=4k", "rate_iops=100000") == 500 * 100


def test_names_of_files_and_nothing_at_all_are_no_requests():
    assert transactions("ioengine=filecreate") == 0
    assert transactions("ioengine=null") == 0


def test_a_disk_without_transaction_charges_has_none():
    assert transactions("bs=4k", disk=DiskSpec(type="Premium_LRS", size_gib=256)) == 0


def test_a_loop_costs_its_fewest_rounds_and_at_most_its_last():
    loop = Loop(first=1, tracked="read", direction="read", min_rounds=5, max_rounds=25)
    looped = rented(job("bs=4k"), job("bs=4k"), loop=loop)
    assert cost_of_plan(looped).seconds == RENTING_S + 100 + 5 * 100
    assert cost_of_plan(looped, longest=True).seconds == RENTING_S + 100 + 25 * 100


def test_a_machine_that_is_there_costs_nothing():
    cost = cost_of_plan(plan(address="db1"))
    assert (cost.total_usd, cost.unknown) == (0.0, ())
