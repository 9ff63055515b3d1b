"""What should be found, in words and tables: of a plan and of the blocks of a matrix."""

import io

import pytest
from tests.books import SHIPPED
from tests.unit.plan.test_cost import HDD, job, rented
from tests.unit.report.made import plan, step

from diskbench.catalog.cost import TrialCost
from diskbench.engine.matrix.matrix_file import load_matrix, outlook_of
from diskbench.model import expectation
from diskbench.model.expectation import Bound, CreditRange, DiskPrice, ExpectedLevel, Load
from diskbench.model.rental import DiskSpec, PricePart
from diskbench.model.spec import Loop
from diskbench.report.assemble.subject import cost_line, price_lines
from diskbench.report.terminal import plan_text
from diskbench.report.terminal.matrix_text import expected_table, price_table
from diskbench.report.terminal.plan_text import render_plan, rental_price

OTHER = (step(0, "seq-read-1m", expected_s=60),)
LOOP = Loop(first=1, tracked="rand-read-4k-qd32", direction="read")
MANY = tuple(step(n, f"step-{n}", expected_s=60) for n in range(56))
SECOND = {"address": "web2", "trial_id": "b"}
PLANS = {
    "directory": [plan(notes=("the database lies on the measured device",))],
    "device": [plan(device=True)],
    "hosts-alike": [plan(address="web1", trial_id="a"), plan(**SECOND, runs=2)],
    "hosts-that-differ": [plan(address="web1"), plan(**SECOND, steps=OTHER)],
    "loop": [plan(loop=LOOP)],
    "many-steps": [plan(steps=MANY)],
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_says_what_its_file_says(golden, name):
    golden.check(f"plan/{name}.txt", render_plan(PLANS[name], width=80))
    plan_text.print_plan(PLANS[name], stream=(stream := io.StringIO()))
    assert stream.getvalue() == render_plan(PLANS[name]) + "\n\n"


def test_long_lines_go_on_below_their_text_and_no_path_is_broken():
    path = "/var/lib/" + "some-long-name/" * 4 + "data"
    note = f"the database lies on the measured device, in {path}, and is written to as well"
    found = render_plan([plan(notes=(note,))], width=60).splitlines()
    assert any(path in line for line in found), "a path stays whole, even where it is too long"
    assert all(len(line) <= 60 for line in found if path not in line)
    at = next(n for n, line in enumerate(found) if line.startswith("  note "))
    assert found[at + 1].startswith(" " * 11)
    assert found[at + 1][11] != " "
    found = render_plan([plan(loop=LOOP)], width=50).splitlines()
    at = next(n for n, line in enumerate(found) if line.startswith("  steps 2–4"))
    assert found[at + 1].startswith("  "), "a line of a loop keeps its indent"
    assert max(map(len, found)) <= 50


def cost(**more: object) -> TrialCost:
    values: dict[str, object] = {
        "seconds": 720, "hourly_usd": 0.0612, "known_usd": 0.01224, "total_usd": 0.01224,
        "trial_id": "t", "emulated": False, "ended": True,
    }  # fmt: skip
    return TrialCost.model_validate(values | more)


def without_price(**more: object):
    made = rented(job("bs=4k"))
    return made.model_copy(update={"rental": made.rental.model_copy(update=more)})


LAB = rented(job("bs=4k")).rental.scope.model_copy(update={"provider": "lab"})
PREMIUM = DiskSpec(type="Premium_LRS", size_gib=256)


@pytest.mark.parametrize(
    ("rental", "told"),
    [
        (rented(job("bs=4k"), disk=PREMIUM), "$0.1481 an hour, about $0.06 for this"),
        (rented(job("bs=4k", seconds=3600)),
         "$0.1115 an hour, about $0.21 for this, $0.0900 of it for transactions"),
        (rented(job("bs=4k", seconds=600), disk=PREMIUM,
                loop=Loop(first=0, tracked="read", direction="read")),
         "$0.1481 an hour, about $0.14 for this and at most $0.63"),
        (without_price(prices=(), hourly_usd=0.0, scope=LAB, disk=HDD), "nothing"),
    ],
    ids=["by the hour", "transactions", "a loop at most", "a lab's nothing"],
)  # fmt: skip
def test_a_price_is_told_by_the_hour_and_for_this_trial(rental, told):
    assert rental_price(rental) == told


def test_what_has_no_price_is_named():
    parts = (PricePart(name="machine x", hourly_usd=None), PricePart(name="disk", hourly_usd=1.0))
    told = rental_price(without_price(prices=parts))
    command = "diskbench catalog prices --refresh --region eastus"
    assert told == (
        f"cost unknown (the rest is about $0.13): no price for machine x, in eastus: {command}"
    )
    assert "price    cost unknown" in render_plan([without_price(prices=parts)])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "$0.0122 (12 min at $0.0612/h)"),
        ({"ended": False}, "$0.0122 so far (12 min at $0.0612/h)"),
        ({"total_usd": 1.5, "fixed_usd": 0.4, "transactions_usd": 1.0, "transactions": 20_000_000},
         ("$1.50 (12 min at $0.0612/h, $0.4000 for the least time that is billed, "
          "$1.00 for 20,000,000 transactions)")),
        ({"emulated": True}, "$0.0122 (12 min at $0.0612/h); emulated: nothing was paid"),
        ({"emulated": True, "hourly_usd": 0, "known_usd": 0, "total_usd": 0}, "nothing"),
        ({"hourly_usd": None, "total_usd": None, "unknown": ("machine x",)},
         "cost unknown (the rest $0.0122): no price for machine x"),
    ],
    ids=["ended", "so far", "all parts", "emulated", "nothing", "unknown"],
)  # fmt: skip
def test_what_a_lease_has_cost_is_one_line(changes, told):
    assert cost_line(cost(**changes)) == told


def level(iops: float, counts: float = 1) -> ExpectedLevel:
    return ExpectedLevel(
        iops=iops, low_iops=iops, high_iops=iops, bytes_per_s=iops * 4096, limited_by="disk-iops",
        bounds=(Bound(limit="disk-iops", iops=iops, counts=counts),),
    )  # fmt: skip


BURSTING = expectation.Expectation(
    load=Load(block_bytes=4096), reads=None, writes=None, begin=level(3000),
    lasting=level(100, counts=4), lasts_s=1862,
)  # fmt: skip


def expected_step(index: int, name: str, load: int | None = 0) -> expectation.StepExpectation:
    return expectation.StepExpectation(index=index, name=name, start_s=0, seconds=60, load=load)


def expected(*steps: expectation.StepExpectation, **more: object) -> expectation.PlanExpectation:
    values = {"expectations": (BURSTING,), "steps": steps, **more}
    return expectation.PlanExpectation.model_validate(values)


def test_a_step_has_a_line_below_it_what_is_left_without_credit_and_many_steps_are_cut():
    lines = list(plan_text.expected_lines(expected(expected_step(0, "randread"))))
    assert lines[1].split() == ["randread", "3,000", "12.3", "disk", "IOPS"]
    assert lines[2].strip().startswith("after 31 min ")
    assert lines[2].endswith("disk IOPS (a block counts as 4)")
    lines = list(plan_text.expected_lines(expected(expected_step(0, "mixed", load=None))))
    assert lines[1].split() == ["mixed", "–", "–"], "its jobs are no one load"
    steps = [expected_step(n, f"a-step-with-quite-a-long-name-{n}") for n in range(40)]
    lines = list(plan_text.expected_lines(expected(*steps)))
    assert "… and 25 more" in lines[-1]
    assert max(len(line) for line in lines) <= 80


LASTS = CreditRange(bucket="disk-iops", gone_s=None, full_load_s=1862)
GONE = CreditRange(
    bucket="vm-throughput", gone_s=11_469, earliest_s=8331, latest_s=18_242, full_load_s=1862,
    run=34, step="read",
)  # fmt: skip
SURE = GONE.model_copy(update={"earliest_s": 11_469.0, "latest_s": 11_469.0, "run": 1})


@pytest.mark.parametrize(
    ("credit", "told"),
    [
        (LASTS, "disk IOPS: not used up (full load uses it up in 31 min)"),
        (GONE, ("VM throughput: used up after 3 h 11 min, in read of run 34; "
                "2 h 19 min to 5 h 04 min, depending on request size")),
        (SURE, "VM throughput: used up after 3 h 11 min, in read"),
    ],
    ids=["lasts", "gone", "gone for sure"],
)  # fmt: skip
def test_credit_says_whether_where_and_in_which_range_it_is_gone(credit, told):
    assert plan_text.credit_words(credit) == told


def test_what_is_not_known_is_said_to_be_so():
    unknown = DiskPrice(storage_usd=None, transactions_usd=0.0, total_usd=None)
    assert list(price_lines(unknown)) == ["monthly price unknown"]
    found = expected(expected_step(0, "a"), unknown=("limits of z9.huge",))
    pairs = dict(plan_text.expected_pairs(found))
    assert pairs["unknown"] == "limits of z9.huge (not included in the expectation)"
    assert list(plan_text.expected_lines(None)) == list(plan_text.expected_pairs(None)) == []


def test_blocks_of_a_matrix_show_result_limit_and_price_in_80_columns():
    file = load_matrix("gp2-burst")
    blocks = outlook_of(file, SHIPPED, seed=1, offline=True).blocks
    table, prices = list(expected_table(blocks)), list(price_table(blocks))
    assert max(len(line) for line in [*table, *prices]) <= 80
    text = "\n".join(table)
    assert "3,000 IOPS" in text
    assert "  then" in text
    assert "VM throughput" in text
    assert "$20.00" in "\n".join(prices)
