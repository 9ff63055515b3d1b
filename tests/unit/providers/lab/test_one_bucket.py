"""Plan, lab and verdict agree on every bucket of the catalogue: when it is empty, what is left then
and what set the pace. The lab runs in simulated time: its governor, and no device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.books import SHIPPED
from tests.unit.plan.test_expectation import planned
from tests.unit.providers.lab.simulated import SimulatedDisk

from diskbench.analysis.phases import step_phases
from diskbench.analysis.setting import Setting
from diskbench.analysis.stretches import Measured, StepPromise
from diskbench.analysis.verdict import verdict
from diskbench.catalog.bucket import SharedLimits, capacity, lasts_s, scaled
from diskbench.catalog.expect import Stage, path_of, simulate
from diskbench.catalog.lookup import disk_types, limits
from diskbench.catalog.machine import machine_of
from diskbench.catalog.path import Path as Way
from diskbench.catalog.path import without_cache
from diskbench.catalog.shipped import catalogue, clouds
from diskbench.errors import UserError
from diskbench.model.expectation import Load
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Scope
from diskbench.plan.expectation import expected_afterwards
from diskbench.plan.limit_path import limit_path_of
from diskbench.providers.lab.devices import LoopDevice
from diskbench.providers.lab.disks import LabDisk, ordered
from diskbench.providers.lab.supervisor.rates import ThrottledDisk
from diskbench.providers.options import EmulationOptions
from diskbench.units import KIB, MIB

SIZES_GIB = (1, 20, 33, 100, 334, 500, 999, 1024, 2048, 8192, 12_000, 16_384)
"""Of types whose figures follow a formula: both ends, and where the formulas bend."""
BETWEEN = [pytest.param(n * KIB, marks=pytest.mark.thorough) for n in (64, 512)]
BLOCKS = [4 * KIB, *BETWEEN, MIB]
BURST_S = 30.0
"""To what each burst is scaled: long enough for phases, short enough for a test."""
FILLED = 64 * MIB
CLEAR_FALL = 1.3
"""A fall by less may be seen as no fall."""


def _with_bucket():
    for cloud in clouds():
        for name in disk_types(cloud):
            entry = catalogue(cloud).disks[name]
            sizes = [row.gib for row in entry.tiers.rows] if entry.tiers else SIZES_GIB
            for size in sizes:
                try:
                    found = limits(cloud, name, size)
                except UserError:  # a size that is not sold, a type that must be provisioned
                    continue
                if _buckets(found):
                    yield cloud, name, size


def _buckets(found):
    both = [one for pool in found.pools for one in (pool.iops, pool.bytes_per_s) if one]
    return [one for one in both if capacity(one)]


BUCKETS = list(_with_bucket())


def _of_each_type_the_ends():
    """All disks; those between a type's smallest and largest size are run by script/test."""
    sizes: dict[tuple[str, str], list[int]] = {}
    for cloud, name, size in BUCKETS:
        sizes.setdefault((cloud, name), []).append(size)
    for cloud, name, size in BUCKETS:
        of_type = sizes[cloud, name]
        between = size not in (of_type[0], of_type[-1])
        yield pytest.param(cloud, name, size, marks=[pytest.mark.slow] if between else [])


def test_every_type_with_a_burst_is_run():
    bursting = {
        (cloud, name)
        for cloud in clouds()
        for name, entry in catalogue(cloud).disks.items()
        if entry.iops_burst or entry.throughput_burst or entry.tier_burst
    }
    assert {(cloud, name) for cloud, name, _ in BUCKETS} == bursting


@pytest.mark.parametrize("block", BLOCKS, ids=lambda size: f"{size // KIB}k")
@pytest.mark.parametrize(("cloud", "name", "size"), list(_of_each_type_the_ends()))
def test_plan_lab_and_verdict_agree(cloud, name, size, block):
    found = limits(cloud, name, size)
    load = Load(block_bytes=block, depth=256)
    scale = max(1.0, _last_empty_s(path_of(found), load) / BURST_S)
    plan = _plan(cloud, name, size, scale, block)
    filled, measured = plan.expectation.steps
    expected = plan.expectation.of(measured)
    limit_path = limit_path_of(plan, SHIPPED)
    lab = _lab(plan, found, scale)
    lab.hold_credit(on=False)
    fill_s = len(lab.run(MIB, bytes_moved=FILLED)) or 1
    full = {_key(gate): gate.capacity for gate in limit_path.gates if gate.capacity}
    assert lab.left() == {key: pytest.approx(value) for key, value in full.items()}
    lab.hold_credit(on=True)
    assert expected.load == load
    seconds = round(_last_empty_s(limit_path, load) + 22)
    series = np.array(lab.run(block, seconds=seconds))

    # What the plan says that the step gets, and when, is what the lab gives.
    course = simulate(limit_path, [Stage(expected.load, seconds=seconds)])
    planned_blocks = sum(leg.iops * leg.seconds for leg in course.legs)
    assert series.sum() == pytest.approx(planned_blocks, rel=0.03)
    if filled.load is not None:
        assert filled.seconds == pytest.approx(fill_s, abs=1.5)
    assert measured.credit == dict.fromkeys(measured.credit, 1.0)  # the fill spent nothing
    assert series[3] == pytest.approx(expected.begin.iops, rel=0.06)
    assert np.median(series[-20:]) == pytest.approx(expected.lasting.iops, rel=0.06)
    _same_balances(lab, limit_path, course.left)

    # The verdict on what the lab gave names what the plan names.
    judged = _judged(series, block, StepPromise(expected, credit=measured.credit))
    last = judged.stands_for
    if expected.begin.iops < CLEAR_FALL * expected.lasting.iops:  # no fall, or one like noise
        # Where the credit ends within the step the rate is the mean of both levels: that of credit.
        assert last.limiter.name in {expected.begin.limited_by, "credit"}
        assert last.ratio == pytest.approx(1.0, abs=0.11)
        return
    assert last.limiter.name == "credit"
    assert last.ratio == pytest.approx(1.0, abs=0.06)
    first = judged.stretches[0]
    assert first.kind == "burst"
    assert first.limiter.name == expected.begin.limited_by
    assert first.ratio == pytest.approx(1.0, abs=0.06)
    assert first.end_s == pytest.approx(expected.lasts_s, abs=2.0)

    # What is reckoned afterwards from the rates alone is what the lab has left.
    after = expected_afterwards(limit_path, _stages(expected.load, series))[-1]
    for limit, share in after[1].items():
        gate = next(g for g in limit_path.gates if g.limit == limit and g.capacity)
        # An HDD at its baseline does a few requests a second: whole ones, of a broken rate.
        near = 0.04 + _nearly(gate) / gate.capacity
        assert lab.left()[_key(gate)] / gate.capacity == pytest.approx(share, abs=near)


MACHINES = [
    *(("aws", name) for name in sorted(SHIPPED.of("aws").machines.types)),
    *(("azure", name) for name in sorted(SHIPPED.of("azure").machines.types)),
]


@pytest.mark.slow
@pytest.mark.parametrize("cloud", ["aws", "azure"])
def test_every_bucket_of_a_machine_empties_when_the_plan_says(cloud):
    """No lab has machines of these types; a disk of a machine's gates stands for one."""
    seen = set()
    for at, name in MACHINES:
        gates = without_cache(machine_of(SHIPPED, at, name, "gp2").gates) if at == cloud else ()
        kept = tuple(replace(gate, refill_per_s=None, source="") for gate in gates)
        if not any(gate.capacity for gate in kept) or kept in seen:
            continue
        seen.add(kept)
        lasting = max(lasts_s(gate.allowance) or 0.0 for gate in kept)
        shorter = [scaled(gate.allowance, time_scale=lasting / BURST_S) for gate in kept]
        both = zip(kept, shorter, strict=True)
        path = Way(tuple(replace(gate, allowance=allowance) for gate, allowance in both))
        pool = SharedLimits("both", *(_of(path, limit) for limit in ("vm-iops", "vm-throughput")))
        lab = SimulatedDisk(ThrottledDisk("loop9", "7:9", (pool,), kept[0].accounting.max_io_bytes))
        load = Load(block_bytes=4 * KIB)
        course = simulate(path, [Stage(load, seconds=2 * BURST_S)])
        series = lab.run(4 * KIB, seconds=2 * BURST_S)
        expected = sum(leg.iops * leg.seconds for leg in course.legs)
        assert sum(series) == pytest.approx(expected, rel=0.03), name
        _same_balances(lab, path, course.left)
        after = expected_afterwards(path, _stages(load, series))[-1]
        for gate, balance in zip(path.gates, course.left, strict=True):
            if gate.capacity:
                assert after[1][gate.limit] == pytest.approx(balance / gate.capacity, abs=0.05)
    assert seen


def _stages(load, series):
    """What each five seconds reached, and the moment after them."""
    fives = (series[at : at + 5] for at in range(0, len(series), 5))
    return [*(Stage(load, len(five), reached=np.mean(five)) for five in fives), Stage(load, 0.0)]


def _of(path, limit):
    return next((gate.allowance for gate in path.gates if gate.limit == limit), None)


def _last_empty_s(path, load):
    """When, under a load from full, the last bucket that it uses is empty."""
    course = simulate(path, [Stage(load)])
    return max((leg.end_s for leg in course.legs if leg.emptied), default=0.0)


def _plan(cloud, name, size, scale, block):
    profile = (
        "---\ntitle: one bucket\nquestion: does it agree?\nsource: this test\n"
        "roles: {fill: fill}\n---\n"
        f"[global]\nioengine=libaio\ndirect=1\nsize={FILLED // MIB}m\n"
        "[fill]\nrw=write\nbs=1m\niodepth=32\n"
        f"[measure]\nstonewall\nrw=randread\nbs={block}\niodepth=256\ntime_based\nruntime=180\n"
    )
    return planned(
        profile, scope=Scope(provider="lab"), cloud=cloud, holds_credit=True,
        disk=DiskSpec(type=name, size_gib=size),
        spec=RentSpec(lab=EmulationOptions(time_scale=scale)),
    )  # fmt: skip


def _lab(plan, found, scale):
    known = limit_path_of(plan, SHIPPED).limits
    loop = LoopDevice("loop9", "7:9", Path("/nowhere"))
    (disk,) = ordered(LabDisk("vol", ("/dev/x",), loop, known), scale)
    assert [pool.covers for pool in disk.pools] == [pool.covers for pool in found.pools]
    rule = known.accounting
    return SimulatedDisk(disk, min(rule.max_io_bytes or 512 * KIB, 512 * KIB))


def _key(gate):
    return "0/iops" if gate.counts == "ios" else "0/bytes"


def _same_balances(lab, path, left):
    for gate, balance in zip(path.gates, left, strict=True):
        if gate.capacity:
            assert lab.left()[_key(gate)] == pytest.approx(balance, abs=_nearly(gate))


def _nearly(gate):
    """3 % of the bucket, and what the lab owes or saves up for its next look (credit.py)."""
    return 0.03 * gate.capacity + gate.allowance.baseline


def _judged(series, block, promise):
    phases = step_phases(series, series * block, shortest_s=10)
    iops = float(series.mean())
    measured = Measured(
        step_index=1, step="measure", iops=iops, bytes_per_s=iops * block,
        seconds=float(len(series)), phases=phases,
    )  # fmt: skip
    return verdict(measured, Setting(load=promise.expected.load, seconds=len(series)), promise)
