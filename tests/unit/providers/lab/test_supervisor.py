"""The supervisor's own arithmetic, without a device or a clock."""

import json
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diskbench.catalog.bucket import Allowance, SharedLimits, lasts_s
from diskbench.model.rental import DiskSpec
from diskbench.providers.lab.devices import Counters, ThrottleLimits, io_max
from diskbench.providers.lab.supervisor import rates
from diskbench.providers.lab.supervisor.__main__ import Hold
from diskbench.providers.lab.supervisor.governor import Governor
from diskbench.providers.lab.supervisor.rates import Orders, ThrottledDisk, Weather
from diskbench.units import KIB, MIB

TICK = 0.1
FRESH = {"loop9": Counters(0, 0, 0, 0)}


def orders(*disks: ThrottledDisk, **more: object) -> Orders:
    return Orders(1, 1, "/nowhere", disks, **more)  # type: ignore[arg-type]


def gp2(*, size: int = 20, scale: float = 1.0) -> ThrottledDisk:
    iops = Allowance(max(100, 3 * size), 3000, 5_400_000 / scale)
    return ThrottledDisk(
        "loop9", "7:9", (SharedLimits("both", iops, Allowance(128 * MIB)),), 256 * KIB
    )


def run(governor: Governor, *, seconds: float, size: int = 4 * KIB, demand: float = 1e9):
    """Reads a second, tick by tick, of a load that takes all it is given."""
    done, course, at = 0, [], 0.0
    limits = governor.tick(FRESH, 0.0, at)["loop9"]
    for _ in range(round(seconds / TICK)):
        at += TICK
        rate = min(demand, limits.read_iops or demand, (limits.read_bps or demand * size) / size)
        done += round(rate * TICK)
        course.append(rate)
        counters = Counters(done, done * size, 0, 0)
        limits = governor.tick({"loop9": counters}, TICK, at)["loop9"]
    return course


def test_a_burst_empties_at_the_second_of_the_catalogues_model():
    course = run(Governor(orders(gp2(scale=60))), seconds=40)
    fell = next(i for i, rate in enumerate(course) if rate < 1550) * TICK
    assert fell == pytest.approx(lasts_s(Allowance(100, 3000, 90_000)), rel=0.01)
    assert course[-1] == pytest.approx(100, rel=0.05)


def test_large_requests_are_charged_as_several():
    governor = Governor(orders(gp2(scale=60)))
    run(governor, seconds=10, size=MIB)
    # 128 MiB/s are 512 I/Os of 256 KiB a second, 100 of them free.
    assert governor.balances_left()["loop9/0/iops"] == pytest.approx(90_000 - 10 * 412, rel=0.01)


def test_small_requests_cost_an_hdd_a_whole_credit():
    rate = Allowance(40 * MIB, 250 * MIB, 1000 * MIB)
    disk = ThrottledDisk("loop9", "7:9", (SharedLimits("both", Allowance(500), rate),), MIB, MIB)
    course = run(Governor(orders(disk)), seconds=12)
    assert course[0] == 250
    assert course[-1] == pytest.approx(40, rel=0.1)  # four operations a tick are coarse


def test_an_idle_disk_earns_credits_up_to_its_capacity():
    governor = Governor(orders(gp2(scale=5400)), {"loop9/0/iops": 0.0})
    run(governor, seconds=5, demand=0)
    assert governor.balances_left()["loop9/0/iops"] == pytest.approx(500)
    more = Governor(governor.orders, {"loop9/0/iops": 990.0})
    run(more, seconds=5, demand=0)
    assert more.balances_left()["loop9/0/iops"] == 1000


def test_with_credit_off_nothing_is_spent_and_the_burst_goes_on():
    governor = Governor(orders(gp2(scale=5400), credit=False))
    assert set(run(governor, seconds=5)) == {3000}
    assert governor.balances_left() == {"loop9/0/iops": 1000}


def test_new_orders_keep_the_balance_and_come_through_json_as_they_were():
    governor = Governor(orders(gp2()))
    run(governor, seconds=5)
    before = governor.balances_left()
    governor.follow(orders(gp2(), credit=False))
    assert governor.balances_left() == before
    made = orders(gp2(), machine=(rates.MachineGate("ios", Allowance(5000.0)),))
    assert rates.parse_orders(json.dumps(asdict(made))) == made


def test_a_disk_without_limits_is_told_none_but_a_stall_and_one_that_is_gone_is_left_out():
    free = ThrottledDisk("loop9", "7:9")
    assert Governor(orders(free)).tick(FRESH, 0.0, 0.0) == {"loop9": ThrottleLimits()}
    stalled = Governor(orders(free, stall_every_s=0.01, stall_for_s=100.0))
    assert stalled.tick(FRESH, 0.1, 50.0)["loop9"].read_iops == 1
    assert Governor(orders(gp2())).tick({}, 0.1, 0.1) == {}


USES = st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1e6), min_size=1)


@settings(deadline=None)  # two cores that others use too
@given(st.floats(1, 1e6), USES)
def test_no_stream_gets_more_than_the_limit_or_nothing(limit, used):
    for part in rates.share(limit, used).values():
        assert 0 < part <= limit


def test_a_stream_alone_has_the_whole_limit_and_those_that_press_on_it_divide_it():
    assert rates.share(100.0, {"read": 100.0, "write": 0.0})["read"] == 100
    parts = rates.share(100.0, {"read": 140.0, "write": 60.0})
    assert (parts["read"], parts["write"]) == pytest.approx((71.4, 30.6))


def test_without_a_bucket_the_rate_is_plain_and_a_burst_that_is_paid_for_is_served():
    assert rates.allowed(Allowance(100), balance=0.0) == 100
    assert rates.allowed(Allowance(5000, burst=30_000), balance=0.0) == 30_000


def test_weather_repeats_with_its_seed():
    def series(seed: int) -> list[float]:
        weather = Weather(seed, noise=0.1, stall_every_s=20, stall_for_s=2)
        return [weather.factor(at / 10) for at in range(2000)]

    assert series(1) == series(1) != series(2)
    assert 0.0 in series(1)
    assert Weather(1).factor(5.0) == 1.0


def test_ripples_are_not_followed_but_rest_is():
    hold = Hold()
    told = []
    for value in (100, 104, 97, 120, 140, 101, 101, 101):
        if hold.due("loop9", ThrottleLimits(read_iops=value)):
            hold.note_written("loop9", ThrottleLimits(read_iops=value))
            told.append(value)
    assert told == [100, 140, 101]


def test_a_large_request_that_waits_is_not_made_to_wait_anew():
    hold = Hold()
    hold.due("loop9", ThrottleLimits(write_bps=100))
    hold.note_written("loop9", ThrottleLimits(write_bps=100))
    noise = [ThrottleLimits(write_bps=value) for value in (104, 97, 103) for _ in range(10)]
    assert not any(hold.due("loop9", wanted, moved=False) for wanted in noise)
    stall = ThrottleLimits(write_bps=4)
    assert hold.due("loop9", stall, moved=False), "it begins all the same"
    at_rest = [hold.due("loop9", ThrottleLimits(write_bps=103)) for _ in range(3)]
    assert at_rest == [False, False, True]


def test_cgroup_v2_is_told_in_one_line():
    line = io_max("7:9", ThrottleLimits(read_iops=100, write_bps=5))
    assert line == "7:9 rbps=max wbps=5 riops=100 wiops=max"


def test_the_spec_of_a_disk_has_a_size():
    with pytest.raises(ValueError, match="size_gib"):
        DiskSpec(type="gp2", size_gib=0)
