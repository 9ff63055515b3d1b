"""The supervisor's orders and report as files; what counted operations are charged, what a bucket's
last credits allow, how streams share a limit, and the weather on all of it, repeatable by seed. No
clock. catalog/bucket.py defines a bucket's content and the charges; credit here sets only the
kernel's rate until the next tick, by a supervisor that runs ten times a second.

A lab disk splits requests (catalog/bucket.py, `cut_at`), so the kernel counts parts. Parts no
larger than one charged I/O are counted as a cloud counts: ceil(s / max_io_bytes) of a request of s
bytes. Where one I/O is larger than a part (st1, sc1: 1 MiB), whole parts are charged by their
bytes: two halves of a request of 1 MiB cost 1 MiB together, and not 2. The kernel has a limit for
each device and direction: one that a cloud has for several is divided by how much each uses."""

import json
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from diskbench.catalog.bucket import Allowance, Covers, IoAccounting, SharedLimits, capacity, rate


@dataclass(frozen=True)
class MachineGate:
    """A limit of the machine that all its devices of a `stage` share: `disk`, before the disks
    themselves, or `cache`, before its host cache. `counts` is `ios` or `bytes`, `covers` as of
    SharedLimits; `refill_per_s` is the fastest refill of an idle bucket (None: the baseline)."""

    counts: Literal["ios", "bytes"]
    allowance: Allowance
    covers: Covers = "both"
    stage: Literal["disk", "cache"] = "disk"
    refill_per_s: float | None = None


@dataclass(frozen=True)
class ThrottledDisk:
    """One device and its limits; requests are counted as by IoAccounting with the three sizes. Of a
    disk behind a host cache there are two: the disk's own, and what the guest sees, of the stage
    `cache`."""

    kernel: str
    number: str
    pools: tuple[SharedLimits, ...] = ()
    max_io_bytes: int | None = None
    min_charge_bytes: int | None = None
    parts_from_bytes: int | None = None
    stage: str = "disk"

    @property
    def accounting(self) -> IoAccounting:
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


def parse_orders(text: str) -> Orders:
    """Orders from JSON."""
    data: dict[str, Any] = json.loads(text)
    data["disks"] = tuple(_disk(disk) for disk in data.get("disks", ()))
    data["machine"] = tuple(
        MachineGate(**{**gate, "allowance": Allowance(**gate["allowance"])})
        for gate in data.get("machine", ())
    )
    return Orders(**data)


def read_report(path: Path) -> tuple[int, dict[str, float]] | None:
    """The generation of the orders that the supervisor followed at its last report, and the credits
    left in each bucket; None when there is no report yet."""
    try:
        report = json.loads(path.read_text("utf-8"))
        return report["generation"], report["balances"]
    except FileNotFoundError:
        return None


def _disk(data: dict[str, Any]) -> ThrottledDisk:
    def rate_of(pool: dict[str, Any], name: str) -> Allowance | None:
        return Allowance(**pool[name]) if pool.get(name) is not None else None

    pools = [
        SharedLimits(pool["covers"], rate_of(pool, "iops"), rate_of(pool, "bytes_per_s"))
        for pool in data.get("pools", ())
    ]
    return ThrottledDisk(**{**data, "pools": tuple(pools)})


MOSTLY_WHOLE = 0.9
"""From this share of a part on in the mean, the operations are taken to be whole parts with a few
small ones between them (a journal's), below it for requests of one size; our choice."""


@dataclass(frozen=True)
class Cost:
    """The mean charge of one operation in I/Os and bytes, and its real size in bytes."""

    ios: float
    bytes: float
    size: float


def cost_of(accounting: IoAccounting, ops: int, moved_bytes: int) -> Cost:
    """The mean cost of `ops` operations that moved that many bytes together; without operations,
    the cost of a small one."""
    mean = moved_bytes / ops if ops else 0.0
    part = accounting.parts_from_bytes
    if part is None or mean < MOSTLY_WHOLE * part:
        # Not rounded up: bytes may be counted slightly before their operation.
        whole_io = accounting.max_io_bytes
        ios = max(1.0, mean / whole_io) if whole_io else 1.0
        return Cost(ios, accounting.bytes(mean), mean)
    whole_share = min(1.0, mean / part)
    ios = mean / part * accounting.ios(part) + (1 - whole_share)
    return Cost(ios, mean + (1 - whole_share) * accounting.bytes(0), mean)


HORIZON_S = 0.3
"""The seconds within which the rest of a bucket may be spent. The last credits thus run out
over a few ticks, never past zero; a drop spread over so little is still sharp. Our choice."""
CRUMBS = 0.05
"""A smaller part of the baseline is not worth a new limit and is left in the bucket; our choice."""
DEBT_S = 1.0
"""How many seconds of baseline a bucket may owe: a burst that was under way when it emptied."""


def allowed(allowance: Allowance, balance: float) -> float:
    """The rate allowed until the next tick."""
    if not capacity(allowance):
        return rate(allowance, has_credit=True)
    extra = balance / HORIZON_S
    if extra < CRUMBS * allowance.baseline:
        return rate(allowance, has_credit=False)
    return min(rate(allowance, has_credit=True), allowance.baseline + extra)


def owed(allowance: Allowance) -> float:
    """How far below zero the balance may fall."""
    return allowance.baseline * DEBT_S


Name = TypeVar("Name")

FLOOR = 0.05
"""The part of the limit that a stream which uses nothing may begin with; our choice."""
STEP = 0.25
"""Unused limit of other streams is given in steps of this part of the limit: following each ripple
would make the kernel begin anew each tick, and let through more than the limit. Our choice."""
IDLE = 0.02
"""Below this part of the whole use a stream counts as using nothing; our choice."""
SLACK = 1.02
"""Streams that divide a limit get this multiple of it together: their parts ripple, and a stream
that reaches its part would slow the other. Our choice."""
MEMORY = 0.05
"""Weight of the newest tick in the use that is remembered: about two seconds' worth; our choice."""

JUMP, QUICK = 0.4, 0.3
"""A tick that differs by more than JUMP of what is remembered is another load, and weighs QUICK;
a tick of a few dozen operations ripples by half of that. Our choice."""


def share(limit: float, used: Mapping[Name, float]) -> dict[Name, float]:
    """The limit of each stream, from the recent use of all. Each gets its part of the limit in
    proportion to its use, or all that the others leave, whichever is more: a single stream has the
    whole limit, several busy streams divide it."""
    total = sum(used.values())
    active = {name: use if use > IDLE * total else 0.0 for name, use in used.items()}
    total = sum(active.values())

    def part(use: float) -> float:
        if math.isinf(limit) or total <= use:
            return limit
        in_proportion = limit * SLACK * use / total
        left_over = math.floor((1 - (total - use) / limit) / STEP) * STEP * limit
        return min(limit, max(in_proportion, left_over, limit * FLOOR))

    return {name: part(use) for name, use in active.items()}


def remembered(before: float, now: float) -> float:
    """The recent use: the newest tick has the weight MEMORY, or QUICK where the use itself
    changed."""
    weight = QUICK if abs(now - before) > JUMP * before else MEMORY
    return before + weight * (now - before)


LEAST = 0.05
"""The lowest factor of the noise; our choice."""


@dataclass
class Weather:
    """A factor on all limits: `noise` is the standard deviation of one second to the next; every
    `stall_every_s` on average (exponential) no request is served for `stall_for_s`."""

    seed: int
    noise: float = 0.0
    stall_every_s: float = 0.0
    stall_for_s: float = 0.0
    _second: int = -1
    _factor: float = 1.0
    _stall_at: float | None = None
    _random: random.Random = field(init=False)
    _stalls: random.Random = field(init=False)

    def __post_init__(self) -> None:
        # Two random streams: the number of noise draws must not change the times of stalls.
        self._random = random.Random(f"{self.seed}/noise")  # noqa: S311 - not a secret
        self._stalls = random.Random(f"{self.seed}/stalls")  # noqa: S311 - not a secret

    def factor(self, at_s: float) -> float:
        """The factor at `at_s` seconds after the start; call with non-decreasing times."""
        if self._stalled(at_s):
            return 0.0
        while self.noise > 0 and self._second < int(at_s):
            self._second += 1
            self._factor = max(LEAST, self._random.gauss(1.0, self.noise))
        return self._factor

    def _stalled(self, at_s: float) -> bool:
        if self.stall_every_s <= 0 or self.stall_for_s <= 0:
            return False
        if self._stall_at is None:
            self._stall_at = self._stalls.expovariate(1 / self.stall_every_s)
        while at_s >= self._stall_at + self.stall_for_s:
            self._stall_at += self.stall_for_s + self._stalls.expovariate(1 / self.stall_every_s)
        return at_s >= self._stall_at
