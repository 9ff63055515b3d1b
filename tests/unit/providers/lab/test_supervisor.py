"""The supervisor's own arithmetic, without a device or a clock; what a host cache holds. Latencies
repeat with their seed; the protocol's structures are the kernel's."""

import itertools
import json
import statistics
import struct
from dataclasses import asdict
from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rigs.cli import a_user

from diskbench.catalog.bucket import Allowance, SharedLimits, lasts_s, scaled
from diskbench.errors import InvalidValue
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec
from diskbench.plan.rent_options import words
from diskbench.providers.lab import fuse_file, machines
from diskbench.providers.lab.devices import Counters, ThrottleLimits, io_max
from diskbench.providers.lab.hostcache import BLOCK, CacheBlocks
from diskbench.providers.lab.latency import LOADED_BYTES, Loading, draws
from diskbench.providers.lab.request import LabRequest, real_limits
from diskbench.providers.lab.supervisor import rates
from diskbench.providers.lab.supervisor.__main__ import Hold
from diskbench.providers.lab.supervisor.governor import Governor
from diskbench.providers.lab.supervisor.rates import MachineGate, Orders, ThrottledDisk, Weather
from diskbench.providers.options import EmulationOptions
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


def test_large_requests_are_charged_as_several_and_small_ones_cost_an_hdd_a_whole_credit():
    governor = Governor(orders(gp2(scale=60)))
    run(governor, seconds=10, size=MIB)
    # 128 MiB/s are 512 I/Os of 256 KiB a second, 100 of them free.
    assert governor.balances_left()["loop9/0/iops"] == pytest.approx(90_000 - 10 * 412, rel=0.01)
    rate = Allowance(40 * MIB, 250 * MIB, 1000 * MIB)
    disk = ThrottledDisk("loop9", "7:9", (SharedLimits("both", Allowance(500), rate),), MIB, MIB)
    course = run(Governor(orders(disk)), seconds=12)
    assert course[0] == 250
    assert course[-1] == pytest.approx(40, rel=0.1)  # four operations a tick are coarse


def test_an_idle_disk_earns_credits_up_to_its_capacity_and_with_credit_off_none_is_spent():
    governor = Governor(orders(gp2(scale=5400)), {"loop9/0/iops": 0.0})
    run(governor, seconds=5, demand=0)
    assert governor.balances_left()["loop9/0/iops"] == pytest.approx(500)
    more = Governor(governor.orders, {"loop9/0/iops": 990.0})
    run(more, seconds=5, demand=0)
    assert more.balances_left()["loop9/0/iops"] == 1000
    governor = Governor(orders(gp2(scale=5400), credit=False))
    assert set(run(governor, seconds=5)) == {3000}
    assert governor.balances_left() == {"loop9/0/iops": 1000}


def test_new_orders_keep_the_balance_and_come_through_json_and_a_disk_has_a_size():
    governor = Governor(orders(gp2()))
    run(governor, seconds=5)
    before = governor.balances_left()
    governor.follow(orders(gp2(), credit=False))
    assert governor.balances_left() == before
    made = orders(gp2(), machine=(rates.MachineGate("ios", Allowance(5000.0)),))
    assert rates.parse_orders(json.dumps(asdict(made))) == made
    with pytest.raises(ValueError, match="size_gib"):
        DiskSpec(type="gp2", size_gib=0)


def test_a_disk_without_limits_is_told_none_but_a_stall_and_one_that_is_gone_is_left_out():
    free = ThrottledDisk("loop9", "7:9")
    assert Governor(orders(free)).tick(FRESH, 0.0, 0.0) == {"loop9": ThrottleLimits()}
    stalled = Governor(orders(free, stall_every_s=0.01, stall_for_s=100.0))
    assert stalled.tick(FRESH, 0.1, 50.0)["loop9"].read_iops == 1
    assert Governor(orders(gp2())).tick({}, 0.1, 0.1) == {}
    line = io_max("7:9", ThrottleLimits(read_iops=100, write_bps=5))
    assert line == "7:9 rbps=max wbps=5 riops=100 wiops=max"


USES = st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1e6), min_size=1)


@settings(deadline=None)  # two cores that others use too
@given(st.floats(1, 1e6), USES)
def test_no_stream_gets_more_than_the_limit_or_nothing(limit, used):
    for part in rates.share(limit, used).values():
        assert 0 < part <= limit


def test_those_that_press_on_a_limit_divide_it_and_without_a_bucket_the_rate_is_plain():
    assert rates.share(100.0, {"read": 100.0, "write": 0.0})["read"] == 100
    parts = rates.share(100.0, {"read": 140.0, "write": 60.0})
    assert (parts["read"], parts["write"]) == pytest.approx((71.4, 30.6))
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
    hold = Hold()
    hold.due("loop9", ThrottleLimits(write_bps=100))
    hold.note_written("loop9", ThrottleLimits(write_bps=100))
    noise = [ThrottleLimits(write_bps=value) for value in (104, 97, 103) for _ in range(10)]
    assert not any(hold.due("loop9", wanted, moved=False) for wanted in noise)
    stall = ThrottleLimits(write_bps=4)
    assert hold.due("loop9", stall, moved=False), "it begins all the same"
    at_rest = [hold.due("loop9", ThrottleLimits(write_bps=103)) for _ in range(3)]
    assert at_rest == [False, False, True]


SOLD = DiskSpec(type="Standard_LRS", size_gib=32)


def test_bytes_are_held_once_added_and_written_out_in_whole_blocks_once_for_each_time():
    blocks = CacheBlocks(10 * BLOCK)
    blocks.add(BLOCK, 2 * BLOCK)
    assert blocks.holds(BLOCK, 2 * BLOCK)
    assert blocks.holds(BLOCK + 512, 512)
    assert not blocks.holds(0, 2 * BLOCK)
    blocks = CacheBlocks(10 * BLOCK)
    blocks.write(512, 512)
    blocks.write(0, BLOCK)
    blocks.write(5 * BLOCK, 2 * BLOCK)
    out = [blocks.next_dirty() for _ in range(3)]
    assert out == [(0, BLOCK), (5 * BLOCK, 2 * BLOCK), None]
    blocks.write(0, BLOCK)
    assert blocks.next_dirty() == (0, BLOCK)


def test_cache_and_disk_have_limits_of_their_own_and_a_machines_bucket_refills_no_faster():
    cached = ThrottledDisk("loop8", "7:8", stage="cache")
    gates = (MachineGate("ios", Allowance(4000), stage="cache"), MachineGate("ios", Allowance(800)))
    governor = Governor(orders(gp2(), cached, machine=gates))
    limits = governor.tick(dict.fromkeys(("loop8", "loop9"), Counters(0, 0, 0, 0)), 0, 0)
    assert (limits["loop8"].read_iops, limits["loop9"].read_iops) == (4000, 800)
    gate = MachineGate("ios", Allowance(100, 1000, 900), refill_per_s=10)
    governor = Governor(orders(gp2(scale=1e-6), machine=(gate,)))
    governor.tick({"loop9": Counters(0, 0, 0, 0)}, 0, 0)
    emptied = governor.tick({"loop9": Counters(1000, 4096 * 1000, 0, 0)}, 1, 1)
    assert emptied["loop9"].read_iops == 100
    governor.tick({"loop9": Counters(1000, 4096 * 1000, 0, 0)}, 10, 11)
    assert governor.balances_left()["machine/0"] == pytest.approx(100)


def test_a_burst_that_no_catalogue_knows_is_the_labs_alone_and_needs_height_and_end():
    burst = {"hidden_burst": 4, "hidden_burst_for_s": 20, "time_scale": 60}
    request = LabRequest(style="azure", disk=SOLD, **burst)
    (pool,) = real_limits(request, SOLD).pools
    assert pool.iops.ceiling == 4 * pool.iops.baseline
    assert lasts_s(scaled(pool.iops, time_scale=60)) == pytest.approx(20)
    with pytest.raises(InvalidValue) as refused:
        machines.check(LabRequest(style="azure", disk=SOLD, hidden_burst=4))
    assert refused.value.field == "hidden_burst"


@pytest.mark.parametrize(
    ("disk", "code"), [("gp2", 2), ("pd-ssd", 2), ("Premium_LRS", 0), ("custom --iops 100", 0)]
)
def test_only_a_disk_that_its_machine_may_cache_is_cached(tmp_path, disk, code):
    words = f"plan --provider lab --size 20 --cache readonly --disk {disk}"
    assert a_user(tmp_path).call(*words.split()).returncode == code


def first(count: int, *, seed: int = 0, volume: str = "a", sigma: float = 0.5) -> list[float]:
    return list(itertools.islice(draws(seed, volume, 0.001, sigma), count))


def test_a_seed_gives_the_same_lognormal_latencies_again_and_another_seed_or_disk_others():
    assert first(1000, seed=7) == first(1000, seed=7)
    assert first(10, seed=7) != first(10, seed=8)
    assert first(10, volume="a") != first(10, volume="b")
    logs = [log(latency / 0.001) for latency in first(20_000, sigma=0.3)]
    # Four standard errors of the median and of the standard deviation of 20,000.
    assert statistics.median(logs) == pytest.approx(0, abs=4 * 1.2533 * 0.3 / 141)
    assert statistics.stdev(logs) == pytest.approx(0.3, abs=4 * 0.3 / 200)
    spec = RentSpec(disk="gp2", lab=EmulationOptions(latency_ms=0.5, latency_jitter=0.2))
    assert words(spec, "lab") == ["--disk", "gp2", "--latency", "0.5", "--latency-jitter", "0.2"]


@given(st.integers())
def test_without_jitter_each_latency_is_the_median(seed):
    assert first(10, seed=seed, sigma=0) == [0.001] * 10


U32, U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)


@given(unique=U64, offset=U64, size=U32)
def test_a_read_is_understood_as_the_kernel_writes_it(unique, offset, size):
    # struct fuse_in_header and fuse_read_in, member by member.
    head = struct.pack("<IIQQIIIHH", 80, 15, unique, 1, 0, 0, 99, 0, 0)
    request = memoryview(head + struct.pack("<QQIIQII", 0, offset, size, 0, 0, 0, 0))
    assert fuse_file.header(request) == (fuse_file.READ, unique)
    assert fuse_file.extent(request) == (offset, size)
    assert len(request) == fuse_file.WRITTEN


@given(offset=U64, length=U64, mode=U32)
def test_so_is_a_discard(offset, length, mode):
    head = struct.pack("<IIQQIIIHH", 72, 43, 2, 1, 0, 0, 99, 0, 0)
    request = memoryview(head + struct.pack("<QQQII", 0, offset, length, mode, 0))
    assert fuse_file.punched(request) == (offset, length, mode)


@given(unique=U64, size=st.integers(0, fuse_file.MAX_WRITE), error=st.integers(0, 511))
def test_an_answer_says_how_long_it_is_and_what_went_wrong(unique, size, error):
    head = struct.unpack("<IiQ", fuse_file.reply(unique, size, error))
    assert head == (16 + size, -error, unique)


@given(offered=U32)
def test_of_what_the_kernel_offers_only_what_is_needed_is_taken(offered):
    head = struct.pack("<IIQQIIIHH", 104, 26, 2, 0, 0, 0, 0, 0, 0)
    request = memoryview(head + struct.pack("<IIII", 7, 45, 131072, offered) + bytes(48))
    answer = struct.unpack_from("<IIIIHH", fuse_file.initiated(request))
    major, minor, _, taken, background, _ = answer
    assert (major, minor) == (7, 31)
    assert taken & ~offered == 0
    assert background >= 64


def test_the_answers_are_as_long_as_the_kernels_structures(tmp_path):
    # sizeof fuse_attr_out, fuse_open_out, fuse_statfs_out, fuse_init_out in linux/fuse.h.
    sizes = {"GETATTR": 104, "OPEN": 16, "STATFS": 80, "INIT": 64, "FLUSH": 0}
    request, status = memoryview(bytes(104)), tmp_path.stat()
    for name, size in sizes.items():
        head, body = fuse_file.without_io(getattr(fuse_file, name), 1, request, status)
        assert (len(head), len(body)) == (16, size)
    assert len(fuse_file.written(4096)) == 8  # fuse_write_out


def test_a_part_waits_until_it_was_loaded_and_never_again():
    loading = Loading(bytes_per_s=LOADED_BYTES)  # a part a second
    assert loading.read(0, 4096, 10.0) == 11.0
    assert loading.read(4096, 4096, 10.5) == 11.0, "the same part, on its way"
    assert loading.read(LOADED_BYTES - 1, 2, 10.5) == 12.0, "one part after another"
    assert loading.read(0, 2 * LOADED_BYTES, 20.0) == 20.0
