from tests.unit.plan.test_cost import HDD, job, rented

from diskbench.catalog.cost import TrialCost
from diskbench.model.rental import DiskSpec, PricePart
from diskbench.model.spec import Loop
from diskbench.report.terminal.cost_text import cost_line, price_lines
from diskbench.report.terminal.plan_text import render_plan


def cost(**more: object) -> TrialCost:
    values: dict[str, object] = {
        "seconds": 720, "hourly_usd": 0.0612, "known_usd": 0.01224, "total_usd": 0.01224,
        "trial_id": "t", "emulated": False, "ended": True,
    }  # fmt: skip
    return TrialCost.model_validate(values | more)


def without_price(**more: object):
    made = rented(job("bs=4k"))
    assert made.rental is not None
    rental = made.rental.model_copy(update=more)
    return made.model_copy(update={"rental": rental})


def test_a_price_is_told_by_the_hour_and_for_this_trial():
    premium = rented(job("bs=4k"), disk=DiskSpec(type="Premium_LRS", size_gib=256))
    assert list(price_lines(premium)) == ["$0.1481 an hour, about $0.06 for this"]


def test_transactions_are_told():
    (told,) = price_lines(rented(job("bs=4k", seconds=3600)))
    assert told == "$0.1115 an hour, about $0.21 for this, $0.0900 of it for transactions"


def test_a_loop_says_what_it_may_cost_at_most():
    loop = Loop(first=0, tracked="read", direction="read")
    premium = DiskSpec(type="Premium_LRS", size_gib=256)
    (told,) = price_lines(rented(job("bs=4k", seconds=600), disk=premium, loop=loop))
    assert told == "$0.1481 an hour, about $0.14 for this and at most $0.63"


def test_what_has_no_price_is_named():
    parts = (PricePart(name="machine x", hourly_usd=None), PricePart(name="disk", hourly_usd=1.0))
    (told,) = price_lines(without_price(prices=parts))
    assert told == "not known of machine x; the rest is about $0.13"
    assert "price    not known of machine x" in render_plan([without_price(prices=parts)])


def test_where_prices_are_known_is_told_where_they_are_not():
    made = without_price(prices=(PricePart(name="machine x", hourly_usd=None),))
    assert made.rental is not None
    scope = made.rental.scope.model_copy(update={"region": "westeurope"})
    rental = made.rental.model_copy(update={"scope": scope})
    _, told = price_lines(made.model_copy(update={"rental": rental}))
    assert told == "prices are known for eastus only: use --region eastus"


def test_a_lab_host_costs_nothing():
    made = without_price(prices=(), hourly_usd=0.0)
    assert made.rental is not None
    scope = made.rental.scope.model_copy(update={"provider": "lab"})
    rental = made.rental.model_copy(update={"scope": scope, "disk": HDD})
    assert list(price_lines(made.model_copy(update={"rental": rental}))) == ["nothing"]


def test_what_a_lease_has_cost_is_one_line():
    assert cost_line(cost()) == "$0.0122 (12 min at $0.0612/h)"
    assert cost_line(cost(ended=False)) == "$0.0122 so far (12 min at $0.0612/h)"
    more = cost(total_usd=1.5, fixed_usd=0.4, transactions_usd=1.0, transactions=20_000_000)
    assert cost_line(more) == (
        "$1.50 (12 min at $0.0612/h, $0.4000 for the least time that is billed, "
        "$1.00 for 20,000,000 transactions)"
    )


def test_an_emulated_lease_cost_nobody_anything():
    assert cost_line(cost(emulated=True)).endswith("; emulated: nothing was paid")
    free = cost(emulated=True, hourly_usd=0, known_usd=0, total_usd=0)
    assert cost_line(free) == "nothing"


def test_a_lease_without_a_price_says_of_what():
    dark = cost(hourly_usd=None, total_usd=None, unknown=("machine x",))
    assert cost_line(dark) == "not known of machine x, the rest $0.0122"
