"""Lines of benchmarks/rates.py about writes that end with a part of them still in memory.

The kernel begins to hold a writer back between the mean of vm.dirty_background_ratio and
vm.dirty_ratio (15 % with its defaults) and the latter (20 %), of the memory that is free or can be
freed: freerun and limit in mm/page-writeback.c. What is unwritten at the end lies between them.
"""

import random
from functools import partial
from statistics import median

from diskbench.analysis.setting import Setting, Stretch, device_rate
from diskbench.model.expectation import Load

CASES = 200
NEAR = 0.10
HELD = (0.15, 0.20)
DIRTYABLE = (0.80, 1.00)
BLOCK = 1 << 20
LOAD = Load(block_bytes=BLOCK, read_share=0.0, random=False, direct=False)


def tail(multiple):
    """The figures of writes of `multiple` times the memory, before and after the correction."""
    before = corrected = said = 0
    errors = []
    for seed in range(CASES):
        draw = random.Random(f"{multiple} {seed}")
        true = draw.uniform(10, 500)
        left = draw.uniform(*HELD) * draw.uniform(*DIRTYABLE) / multiple
        measured = true / (1 - left) if left < 1 else float("inf")
        setting = Setting(load=LOAD, memory_share=1 / multiple)
        found = device_rate(Stretch(measured, None), setting)
        before += abs(measured / true - 1) <= NEAR
        if found == measured:
            continue
        said += 1
        error = found / true - 1
        corrected += abs(error) <= NEAR
        errors.append(error)
    most = max(errors, key=abs, default=None)
    middle, worst = ("–", "–") if most is None else (f"{median(errors):+.1%}", f"{most:+.1%}")
    return (before, CASES), (said, CASES), (corrected, said), middle, worst


LINES = {f"{multiple:g}": partial(tail, multiple) for multiple in (0.5, 1.0, 2.0, 8.0)}
