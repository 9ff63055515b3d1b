"""How a machine is to behave that is asked for by a user of an emulated cloud.

diskbench hands `--time-scale`, `--noise` and their like to an emulated cloud in a tag,
`diskbench-lab: noise=0.05 time_scale=60.0`; no real cloud would know what to do with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from diskbench.units import MIB
from emulators.guests import Guest

TAG = "diskbench-lab"
_NUMBERS = (
    "time_scale", "noise", "latency_ms", "latency_jitter", "stall_every_s", "stall_for_s",
    "vm_iops",
)  # fmt: skip


def behaving(guest: Guest, tags: Mapping[str, str]) -> Guest:
    """The guest as its tags ask for it. Raises ValueError for a figure that is none."""
    told = dict(pair.split("=", 1) for pair in tags.get(TAG, "").split())
    figures: dict[str, float] = {key: float(told[key]) for key in _NUMBERS if key in told}
    changed = replace(guest, **figures)  # type: ignore[arg-type]  # all are floats
    if "vm_throughput_mib_per_s" in told:
        changed = replace(changed, vm_bytes_per_s=float(told["vm_throughput_mib_per_s"]) * MIB)
    return replace(changed, seed=int(told["seed"])) if "seed" in told else changed
