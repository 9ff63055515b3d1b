"""A fio job that repeats the percentiles of a recorded load: a step at the rate of each, in the
open loop, with the block size and the mix of the samples around it. Pure."""

import json
from bisect import bisect_left
from collections.abc import Sequence
from importlib import resources
from itertools import accumulate

from diskbench.importers.load import Recorded, Sample
from diskbench.units import counted

PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 100.0)
_SECTOR = 512
_STREAMS = 64
_LEAST_IOPS = 20.0


def load_profile(load: Recorded, name: str) -> str:
    """The text of the profile."""
    ordered = sorted(load.samples, key=lambda sample: sample.ios)
    steps, names, rates = list[str](), list[str](), list[str]()
    before, passed = 0.0, list(accumulate(sample.seconds for sample in ordered))
    for percentile in PERCENTILES:
        # The rate below which the load is for so much of the time.
        rate = ordered[bisect_left(passed, passed[-1] * percentile / 100 * (1 - 1e-9))].ios
        label = "most" if percentile == 100 else f"p{percentile:g}"
        if rate < max(1.0, before * (1 + 1e-9)):
            continue  # the disk is idle for so much of the time, or the step before is the same
        near = [sample for sample in ordered if before < sample.ios <= rate]
        before = rate
        names.append(label)
        rates.append(f"{label} {rate:,.0f}")
        steps.append(_step(label, rate, near))
    head = (resources.files("diskbench.plan") / "load_profile.fio").read_text(encoding="utf-8")
    head = head.format(
        title=json.dumps(f"The load of {name} in {counted(len(names), 'step')}"),
        question=json.dumps(f"Does this disk carry the load of {name}?"),
        source=json.dumps(f"{name}, {load.device}, read by diskbench"),
        notes=json.dumps(
            f"IOPS at percentiles of the time: {', '.join(rates)}. Each step has the blocks and "
            "the mix of the samples up to it."
        ),
        roles=", ".join(f"{label}: offered" for label in names),
    )
    return head + "".join(steps)


def _step(label: str, rate: float, near: Sequence[Sample]) -> str:
    ios = sum(sample.ios * sample.seconds for sample in near)
    reads = sum(sample.reads * sample.seconds for sample in near)
    moved = sum((s.read_bytes + s.write_bytes) * s.seconds for s in near)
    block = max(_SECTOR, round(moved / ios / _SECTOR) * _SECTOR)
    streams = max(1, min(_STREAMS, int(rate // _LEAST_IOPS)))
    each = max(1, round(rate / streams))
    mix = round(reads / ios * each)
    kind, rates = ("randread" if mix else "randwrite"), str(each)
    if mix not in (0, each):
        kind, rates = f"randrw\nrwmixread={round(reads / ios * 100)}", f"{mix},{each - mix}"
    return f"\n[{label}]\nstonewall\nrw={kind}\nbs={block}\nnumjobs={streams}\nrate_iops={rates}\n"
