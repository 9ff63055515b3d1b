"""The host cache of a lab disk: what it holds, and what a request for one asks for."""

import pytest
from tests.rigs.cli import a_user
from tests.unit.providers.lab.test_supervisor import gp2, orders

from diskbench.catalog.bucket import Allowance, lasts_s, scaled
from diskbench.errors import InvalidValue
from diskbench.model.rental import DiskSpec
from diskbench.providers.lab import machines
from diskbench.providers.lab.devices import Counters
from diskbench.providers.lab.hostcache import BLOCK, CacheBlocks
from diskbench.providers.lab.request import LabRequest, real_limits
from diskbench.providers.lab.supervisor.governor import Governor
from diskbench.providers.lab.supervisor.rates import MachineGate, ThrottledDisk

SOLD = DiskSpec(type="Standard_LRS", size_gib=32)


def test_bytes_are_held_once_they_were_added_and_not_before():
    blocks = CacheBlocks(10 * BLOCK)
    blocks.add(BLOCK, 2 * BLOCK)
    assert blocks.holds(BLOCK, 2 * BLOCK)
    assert blocks.holds(BLOCK + 512, 512)
    assert not blocks.holds(0, 2 * BLOCK)


def test_what_was_written_is_written_out_in_whole_blocks_once_for_each_time():
    blocks = CacheBlocks(10 * BLOCK)
    blocks.write(512, 512)
    blocks.write(0, BLOCK)
    blocks.write(5 * BLOCK, 2 * BLOCK)
    out = [blocks.next_dirty() for _ in range(3)]
    assert out == [(0, BLOCK), (5 * BLOCK, 2 * BLOCK), None]
    blocks.write(0, BLOCK)
    assert blocks.next_dirty() == (0, BLOCK)


def test_cache_and_disk_have_limits_of_their_own():
    cached = ThrottledDisk("loop8", "7:8", stage="cache")
    gates = (MachineGate("ios", Allowance(4000), stage="cache"), MachineGate("ios", Allowance(800)))
    governor = Governor(orders(gp2(), cached, machine=gates))
    limits = governor.tick(dict.fromkeys(("loop8", "loop9"), Counters(0, 0, 0, 0)), 0, 0)
    assert (limits["loop8"].read_iops, limits["loop9"].read_iops) == (4000, 800)


def test_the_bucket_of_a_machine_empties_and_refills_no_faster_than_it_may():
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
