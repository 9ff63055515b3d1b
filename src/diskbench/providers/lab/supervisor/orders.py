"""The supervisor's orders: JSON, written by the provider, read again when it changes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diskbench.catalog.bucket import Allowance, IoAccounting


@dataclass(frozen=True)
class LabPool:
    """Limits that reads, writes or both share. None is no limit."""

    covers: str
    iops: Allowance | None = None
    bytes: Allowance | None = None


@dataclass(frozen=True)
class MachineGate:
    """A limit of the machine that all its devices of a `stage` share: `disk`, before the disks
    themselves, or `cache`, before its host cache. `counts` is `ios` or `bytes`, `covers` as of a
    LabPool; `refill_per_s` is the fastest refill of an idle bucket (None: the baseline)."""

    counts: str
    allowance: Allowance
    covers: str = "both"
    stage: str = "disk"
    refill_per_s: float | None = None


@dataclass(frozen=True)
class ThrottledDisk:
    """One device and its limits; requests are counted as by IoAccounting with the three sizes. Of a
    disk behind a host cache there are two: the disk's own, and what the guest sees, of the stage
    `cache`."""

    kernel: str
    number: str
    pools: tuple[LabPool, ...] = ()
    max_io_bytes: int | None = None
    min_charge_bytes: int | None = None
    parts_from_bytes: int | None = None
    stage: str = "disk"

    @property
    def accounting(self) -> IoAccounting:
        """The accounting of its requests."""
        return IoAccounting(self.max_io_bytes, self.min_charge_bytes, self.parts_from_bytes)


@dataclass(frozen=True)
class Orders:
    """All orders of one supervisor. With `credit` off, buckets neither empty nor fill, and disks
    run as with a full bucket. `machine` are the machine's limits for all its disks together."""

    generation: int
    version: int
    throttle: str
    disks: tuple[ThrottledDisk, ...] = ()
    credit: bool = True
    machine: tuple[MachineGate, ...] = ()
    seed: int = 0
    noise: float = 0.0
    stall_every_s: float = 0.0
    stall_for_s: float = 0.0


@dataclass(frozen=True)
class SupervisorReport:
    """The supervisor's report: the orders in force, and the credits left in each bucket."""

    generation: int
    balances: dict[str, float] = field(default_factory=dict)


def parse_orders(text: str) -> Orders:
    """Orders from JSON."""
    data: dict[str, Any] = json.loads(text)
    data["disks"] = tuple(_disk(disk) for disk in data.get("disks", ()))
    data["machine"] = tuple(_gate(gate) for gate in data.get("machine", ()))
    return Orders(**data)


def read_report(path: Path) -> SupervisorReport | None:
    """The supervisor's last report; None when there is none yet."""
    try:
        return SupervisorReport(**json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return None


def _disk(data: dict[str, Any]) -> ThrottledDisk:
    pools = tuple(
        LabPool(pool["covers"], _rate(pool.get("iops")), _rate(pool.get("bytes")))
        for pool in data.pop("pools", ())
    )
    return ThrottledDisk(pools=pools, **data)


def _gate(data: dict[str, Any]) -> MachineGate:
    return MachineGate(**{**data, "allowance": Allowance(**data["allowance"])})


def _rate(data: dict[str, Any] | None) -> Allowance | None:
    return Allowance(**data) if data is not None else None
