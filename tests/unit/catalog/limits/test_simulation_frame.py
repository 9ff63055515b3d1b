"""`diskbench.simulate` and `disk_price`: the catalogue for notebooks, with nothing measured."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.api_page import documented

import diskbench
from diskbench.errors import InvalidValue, UnknownName


def test_a_small_gp2_bursts_for_31_minutes_and_then_gives_100():
    course = diskbench.simulate("aws", "gp2", 20, seconds=7200)
    assert course["iops"].to_list() == [3000, 100]
    assert course["end_s"].to_list() == pytest.approx([1862, 7200], abs=1)
    assert set(course["limited_by"]) == {"disk IOPS"}


def test_columns_are_those_of_the_page():
    course = diskbench.simulate("aws", "gp2", 20, seconds=60)
    assert {name: str(kind) for name, kind in course.schema.items()} == documented("simulate")


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ({"credit": 0.0}, 100),
        ({"max_per_s": 50.0}, 50),
        ({"instance_type": "c4.large", "block_bytes": 262144}, 250),  # 62.5 MB/s of the machine
    ],
)
def test_credit_rate_and_machine_change_what_it_does(changes, first):
    course = diskbench.simulate("aws", "gp2", 20, seconds=60, **changes)
    assert course["iops"][0] == pytest.approx(first, rel=0.06)


@given(st.floats(1, 1000), st.floats(1, 1e6))
def test_time_scale_divides_how_long_credit_lasts_and_nothing_else(scale, seconds):
    whole = diskbench.simulate("aws", "gp2", 20, seconds=scale * seconds)
    scaled = diskbench.simulate("aws", "gp2", 20, seconds=seconds, time_scale=scale)
    assert scaled["iops"].to_list() == whole["iops"].to_list()
    assert (scaled["end_s"] * scale).to_list() == pytest.approx(whole["end_s"].to_list())


def test_a_burst_is_cheap_and_what_lasts_is_not():
    price = diskbench.disk_price("aws", "gp2", 20)
    assert price.total_usd == pytest.approx(2.0)
    assert price.per_1000_iops_usd == pytest.approx(20.0)
    assert price.per_1000_burst_iops_usd == pytest.approx(2 / 3)


def test_no_price_is_made_up_for_another_region():
    assert diskbench.disk_price("aws", "gp2", 20, region="eu-west-1").total_usd is None


def test_what_is_not_sold_is_refused():
    with pytest.raises(UnknownName):
        diskbench.simulate("aws", "gp9", 20, seconds=60)
    with pytest.raises(InvalidValue):
        diskbench.disk_price("aws", "io1", 4, iops=64_000)
