"""Lines of benchmarks/rates.py about buckets that refill in pauses and under light load.

The truth is a loop over tenths of a second with the balance of each bucket; the rules step from
event to event (catalog/expect.py) and know rates and times of steps alone.
"""

import random
from functools import partial
from itertools import pairwise

from diskbench.catalog.expect import Stage, path_of, simulate
from diskbench.catalog.lookup import limits
from diskbench.model.expectation import Load
from diskbench.plan.expectation import expected_afterwards

CASES = 40
STEPS = 6
NEAR = 0.02
TICK_S = 0.1
SCALE = 60.0
"""Of the capacity, as on the lab, so that the loop over tenths stays short."""
DISKS = (
    ("aws", "gp2", 20),
    ("aws", "gp2", 123),
    ("aws", "gp2", 500),
    ("aws", "st1", 1024),
    ("aws", "sc1", 2048),
    ("azure", "StandardSSD_LRS", 64),
    ("azure", "Premium_LRS", 4),
    ("azure", "Premium_LRS", 256),
)
LOADS = (Load(block_bytes=4096, depth=None), Load(block_bytes=1 << 20, random=False))


def line(cloud, disk_type, size):
    """All courses of one disk."""
    path = path_of(limits(cloud, disk_type, size), time_scale=SCALE)
    near = full = cliffs = wanted = false = flat = right = told = 0
    worst = 0.0
    for seed in range(CASES):
        stages = drawn(path, random.Random(f"{cloud}:{disk_type}:{size} {seed}"))
        course = simulate(path, stages)
        truth = ticked(path, stages)
        done = []
        idle_s = 0.0
        for number, (stage, true) in enumerate(zip(stages, truth, strict=True)):
            if stage.load is None:
                idle_s = stage.seconds
                continue
            load = stage.load
            done.append(Stage(load, stage.seconds, reached=true.mean, idle_s=idle_s))
            idle_s = 0.0
            if load.max_per_s is not None:
                continue
            legs = course.of_stage(number)
            mean = sum(leg.iops * leg.seconds for leg in legs) / stage.seconds
            off = abs(mean / true.mean - 1)
            worst = max(worst, off)
            near += off <= NEAR
            full += 1
            said = falls_at(legs)
            if true.falls_s is None:
                flat += 1
                false += said is not None
            else:
                wanted += 1
                within = max(2.0, 0.01 * stage.seconds)
                cliffs += said is not None and abs(said - true.falls_s) <= within
        begun = [one for stage, one in zip(stages, truth, strict=True) if stage.load is not None]
        for one, true in zip(expected_afterwards(path, done), begun, strict=True):
            told += 1
            left = min(one[1].values())
            right += (left > NEAR) == (true.left > NEAR) or abs(left - true.left) <= NEAR
    return (near, full), f"{worst:.1%}", (cliffs, wanted), (false, flat), (right, told)


class Truth:
    """What a step did: its mean, the second of its fall, and the least fill of a bucket at its
    start (1 is full)."""

    def __init__(self, mean, falls_s, left):
        self.mean, self.falls_s, self.left = mean, falls_s, left


def drawn(path, draw):
    """Steps and pauses: what a full bucket gives lasts for one to three of the full ones."""
    lasts_s = max(
        gate.capacity / (gate.allowance.ceiling - gate.allowance.baseline)
        for gate in path.gates
        if gate.capacity
    )
    stages = []
    for _ in range(STEPS):
        load = draw.choice(LOADS)
        seconds = round(draw.uniform(0.2, 1.2) * lasts_s, 1)
        if draw.random() < 0.5:
            stages.append(Stage(None, seconds=round(draw.uniform(0.1, 2) * lasts_s, 1)))
        if draw.random() < 0.4:
            lasting = simulate(path, [Stage(load)]).legs[-1].iops
            light = load.model_copy(update={"max_per_s": draw.uniform(0.05, 0.95) * lasting})
            stages.append(Stage(light, seconds=seconds))
        else:
            stages.append(Stage(load, seconds=seconds))
    return stages


def ticked(path, stages):
    """The truth of each stage."""
    balances = list(path.full())
    found = []
    for stage in stages:
        held = [b / full for b, full in zip(balances, path.full(), strict=True) if full]
        costs = path.costs(stage.load, "assumed") if stage.load else [0.0] * len(path.gates)
        done, falls_s, before = 0.0, None, None
        for tick in range(round(stage.seconds / TICK_S)):
            rate = 0.0
            if stage.load is not None:
                rates = [
                    allowed(gate, balance, cost)
                    for gate, balance, cost in zip(path.gates, balances, costs, strict=True)
                    if cost
                ]
                rate = min([*rates, stage.load.max_per_s or float("inf")])
            for index, (gate, cost) in enumerate(zip(path.gates, costs, strict=True)):
                gained = (gate.allowance.baseline - rate * cost) * TICK_S
                balances[index] = min(gate.capacity, max(0.0, balances[index] + gained))
            if before is not None and rate < 0.8 * before and falls_s is None:
                falls_s = tick * TICK_S
            before = rate
            done += rate * TICK_S
        found.append(Truth(done / stage.seconds, falls_s, min(held)))
    return found


def allowed(gate, balance, cost):
    """Blocks a second for a tenth of a second: the burst, as far as the balance holds it."""
    baseline, burst = gate.allowance.baseline, gate.allowance.ceiling
    return min(burst, baseline + balance / TICK_S) / cost if gate.capacity else baseline / cost


def falls_at(legs):
    """The second of a stage at which its rate falls by a fifth; None without."""
    at = 0.0
    for leg, later in pairwise(legs):
        at += leg.seconds
        if later.iops < 0.8 * leg.iops:
            return at
    return None


LINES = {f"`{c}:{t}:{s}`": partial(line, c, t, s) for c, t, s in DISKS}
