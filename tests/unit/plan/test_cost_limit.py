"""Whether what is planned stays within a limit of money."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.catalog.cost import CellCost
from diskbench.cli.asked import cost_limit
from diskbench.errors import CostRefused, InvalidValue
from diskbench.plan.cost_limit import CostLimit, check_cost

SUMS = st.lists(st.floats(0, 1000), max_size=6)


def priced(usd: float, transactions: float = 0.0) -> CellCost:
    return CellCost(
        seconds=3600,
        hourly_usd=usd,
        known_usd=usd,
        total_usd=usd,
        transactions_usd=transactions,
    )


DARK = CellCost(
    seconds=1800, hourly_usd=None, known_usd=0.2, total_usd=None, unknown=("machine x1.big",)
)


def test_all_trials_count_together():
    assert check_cost([priced(0.5), priced(0.4)], 1.0, None) == pytest.approx(0.9)
    with pytest.raises(CostRefused, match=r"--max-cost 1: it may cost \$1\.10"):
        check_cost([priced(0.5), priced(0.6)], 1.0, None)


def test_a_refusal_is_the_users_and_says_what_transactions_are_of_it():
    with pytest.raises(CostRefused, match=r"\$3\.00, \$2\.00 of it for transactions") as refused:
        check_cost([priced(3.0, transactions=2.0)], 1.0, None)
    assert refused.value.exit_code == 2
    assert "raise --max-cost" in refused.value.advice


def test_an_unknown_price_is_refused_by_name_unless_one_is_assumed():
    with pytest.raises(CostRefused, match=r"no price is known for machine x1\.big") as refused:
        check_cost([priced(0.5), DARK], 100, None)
    assert "--assume-price USD" in refused.value.advice
    assert check_cost([priced(0.5), DARK], 100, 2.0) == pytest.approx(0.5 + 1.0)
    with pytest.raises(CostRefused, match=r"it may cost \$1\.50"):
        check_cost([priced(0.5), DARK], 1.4, 2.0)


def test_without_a_limit_it_is_summed_as_far_as_it_is_known():
    assert check_cost([priced(0.5), DARK], None, None) == pytest.approx(0.7)


def test_a_matrix_calls_its_limit_by_its_own_name():
    with pytest.raises(CostRefused, match="budget 1: it may cost"):
        check_cost([priced(2)], 1, None, limit_name="budget")


@given(SUMS, st.floats(0, 1000))
def test_it_is_refused_when_and_only_when_the_sum_is_above_the_limit(
    sums: list[float], limit: float
):
    costs = [priced(usd) for usd in sums]
    if math.fsum(sums) > limit:
        with pytest.raises(CostRefused):
            check_cost(costs, limit, None)
    else:
        assert check_cost(costs, limit, None) == math.fsum(sums)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_what_is_no_sum_of_money_is_refused(value: float):
    with pytest.raises(InvalidValue, match="--max-cost"):
        cost_limit("aws", value, None, rents=True)
    with pytest.raises(InvalidValue, match="--assume-price"):
        cost_limit("aws", 1.0, value, rents=True)


@pytest.mark.parametrize("provider", ["local", "ssh"])
def test_where_nothing_is_rented_a_limit_means_nothing(provider: str):
    with pytest.raises(InvalidValue, match=f"--provider {provider}, which rents nothing"):
        cost_limit(provider, 1.0, None, rents=False)
    assert cost_limit(provider, None, None, rents=False) == CostLimit()


def test_a_price_is_assumed_for_a_limit_only():
    with pytest.raises(InvalidValue, match="has no effect without --max-cost"):
        cost_limit("vsphere", None, 0.1, rents=True)
    assert cost_limit("vsphere", 5, 0, rents=True) == CostLimit(5, 0)
