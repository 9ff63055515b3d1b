"""From what the disks did in the last tick to what they may do in the next. No clock, no files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from diskbench.providers.lab.supervisor.credit import Bucket, make_bucket
from diskbench.providers.lab.supervisor.orders import Disk, Orders, Pool, Rate
from diskbench.providers.lab.supervisor.share import remembered, share
from diskbench.providers.lab.supervisor.weather import Weather
from diskbench.providers.lab.throttle import Counters, Limits

READ, WRITE = "read", "write"
STALLED_BPS = 4096
"""The least the kernel is told: with one operation a second it is as good as nothing."""

Stream = tuple[str, str]
"""A device's kernel name, and READ or WRITE."""


@dataclass
class _Use:
    """What a stream did a second, of late."""

    ops: float = 0.0
    bytes: float = 0.0


@dataclass
class Governor:
    """The buckets of one host's disks, and the limits that follow from them."""

    orders: Orders
    balances: Mapping[str, float] = field(default_factory=dict)
    _buckets: dict[str, Bucket] = field(default_factory=dict)
    _seen: dict[str, Counters] = field(default_factory=dict)
    _use: dict[Stream, _Use] = field(default_factory=dict)
    _weather: Weather = field(init=False)

    def __post_init__(self) -> None:
        self._adopt(self.orders)

    def follow(self, orders: Orders) -> None:
        """Take new orders; buckets of disks that stay keep their balance."""
        self.balances = self.left()
        self.orders = orders
        self._adopt(orders)

    def left(self) -> dict[str, float]:
        """The credits in each bucket, by device, pool and kind."""
        return {key: bucket.balance for key, bucket in self._buckets.items() if bucket.capacity}

    def tick(
        self, counters: Mapping[str, Counters], seconds: float, at_s: float
    ) -> dict[str, Limits]:
        """Account for `seconds` in which the devices came to `counters`; the limits from now on,
        by device. A device without counters is left out."""
        for disk in self.orders.disks:
            now = counters.get(disk.kernel)
            if now is not None:
                before = self._seen.setdefault(disk.kernel, now)
                if seconds > 0:
                    self._account(disk, before, now, seconds)
                self._seen[disk.kernel] = now
        return self._limits(set(counters), self._weather.factor(at_s))

    def _adopt(self, orders: Orders) -> None:
        self._weather = Weather(orders.seed, orders.noise, orders.stall_every_s, orders.stall_for_s)
        self._buckets = {}
        for disk in orders.disks:
            for direction in (READ, WRITE):
                self._use.setdefault((disk.kernel, direction), _Use())
            for index, pool in enumerate(disk.pools):
                for kind, rate in (("iops", pool.iops), ("bytes", pool.bytes)):
                    if rate is not None:
                        self._add(_key(disk, index, kind), rate)

    def _add(self, key: str, rate: Rate) -> None:
        bucket = make_bucket(rate.baseline, rate.burst, rate.capacity)
        bucket.balance = min(bucket.capacity, self.balances.get(key, bucket.balance))
        self._buckets[key] = bucket

    def _account(self, disk: Disk, before: Counters, now: Counters, seconds: float) -> None:
        done = {
            READ: (now.read_ops - before.read_ops, now.read_bytes - before.read_bytes),
            WRITE: (now.write_ops - before.write_ops, now.write_bytes - before.write_bytes),
        }
        for direction, (ops, size) in done.items():
            use = self._use[disk.kernel, direction]
            use.ops = remembered(use.ops, _counted_ops(disk, ops, size) / seconds)
            use.bytes = remembered(use.bytes, size / seconds)
        if not self.orders.credit:
            return
        for index, pool in enumerate(disk.pools):
            covered = [done[d] for d in _covered(pool)]
            spent = {
                "iops": sum(_counted_ops(disk, ops, size) for ops, size in covered),
                "bytes": sum(_charged_bytes(disk, ops, size) for ops, size in covered),
            }
            for kind, amount in spent.items():
                if bucket := self._buckets.get(_key(disk, index, kind)):
                    bucket.flow(amount, seconds)

    def _limits(self, present: set[str], factor: float) -> dict[str, Limits]:
        disks = [disk for disk in self.orders.disks if disk.kernel in present]
        ops, size = self._allowances(disks)
        self._cap(ops, size)
        return {disk.kernel: _kernel_limits(disk, ops, size, factor) for disk in disks}

    def _allowances(self, disks: list[Disk]) -> tuple[dict[Stream, float], dict[Stream, float]]:
        """Operations and bytes a second that each stream's own disk allows it."""
        ops: dict[Stream, float] = {}
        size: dict[Stream, float] = {}
        for disk in disks:
            ops |= {(disk.kernel, d): math.inf for d in (READ, WRITE)}
            size |= {(disk.kernel, d): math.inf for d in (READ, WRITE)}
            for index, pool in enumerate(disk.pools):
                streams = [(disk.kernel, d) for d in _covered(pool)]
                allowed_ops = self._allowed(_key(disk, index, "iops"))
                allowed_bytes = self._allowed(_key(disk, index, "bytes"))
                if disk.min_charge_bytes:
                    allowed_ops = min(allowed_ops, allowed_bytes / disk.min_charge_bytes)
                ops |= share(allowed_ops, {s: self._use[s].ops for s in streams})
                size |= share(allowed_bytes, {s: self._use[s].bytes for s in streams})
        return ops, size

    def _cap(self, ops: dict[Stream, float], size: dict[Stream, float]) -> None:
        """Hold all streams together under the machine's own limits."""
        for cap, allowed, use in (
            (self.orders.cap_iops, ops, {s: self._use[s].ops for s in ops}),
            (self.orders.cap_bytes, size, {s: self._use[s].bytes for s in size}),
        ):
            if cap is not None:
                for stream, part in share(cap, use).items():
                    allowed[stream] = min(allowed[stream], part)

    def _allowed(self, key: str) -> float:
        bucket = self._buckets.get(key)
        if bucket is None:
            return math.inf
        return bucket.allowed() if self.orders.credit else bucket.burst


def _key(disk: Disk, index: int, kind: str) -> str:
    return f"{disk.kernel}/{index}/{kind}"


def _covered(pool: Pool) -> tuple[str, ...]:
    return (READ, WRITE) if pool.covers == "both" else (pool.covers,)


def _counted_ops(disk: Disk, ops: int, size: int) -> int:
    """Operations as the cloud counts them: large requests are several."""
    return max(ops, math.ceil(size / disk.max_io_bytes)) if disk.max_io_bytes else ops


def _charged_bytes(disk: Disk, ops: int, size: int) -> int:
    """Bytes as the cloud charges credits for them: small requests cost a whole one."""
    return max(size, ops * disk.min_charge_bytes) if disk.min_charge_bytes else size


def _kernel_limits(
    disk: Disk, ops: Mapping[Stream, float], size: Mapping[Stream, float], factor: float
) -> Limits:
    def iops(direction: str) -> int | None:
        value = ops[disk.kernel, direction]
        return None if math.isinf(value) and factor else max(1, round(_times(value, factor)))

    def bps(direction: str) -> int | None:
        value = size[disk.kernel, direction]
        if disk.max_io_bytes:
            # The kernel counts a large request once; what it may move follows from what it costs.
            value = min(value, ops[disk.kernel, direction] * disk.max_io_bytes)
        if math.isinf(value) and factor:
            return None
        return max(STALLED_BPS, round(_times(value, factor)))

    return Limits(iops(READ), iops(WRITE), bps(READ), bps(WRITE))


def _times(value: float, factor: float) -> float:
    return value * factor if factor else 0.0
