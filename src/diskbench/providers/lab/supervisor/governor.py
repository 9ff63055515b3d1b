"""The disks' limits for the next tick, from their counters in the last one. No clock, no files."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from diskbench.catalog.bucket import Allowance, SharedLimits, balance_after, capacity, rate
from diskbench.providers.lab.devices import Counters, ThrottleLimits
from diskbench.providers.lab.supervisor import rates
from diskbench.providers.lab.supervisor.rates import MachineGate, Orders, ThrottledDisk

READ, WRITE = "read", "write"
STALLED_BPS = 4096
"""The lowest byte limit written to the kernel: with one operation per second it is practically a
stall."""

Stream = tuple[str, str]
"""A device's kernel name, and READ or WRITE."""


@dataclass
class Governor:
    """The buckets of one host's disks, and the limits that follow from them."""

    orders: Orders
    balances: Mapping[str, float] = field(default_factory=dict)
    _limits_of: dict[str, Allowance] = field(default_factory=dict)
    _left: dict[str, float] = field(default_factory=dict)
    _seen: dict[str, Counters] = field(default_factory=dict)
    _use: dict[Stream, tuple[float, float]] = field(default_factory=dict)
    """A stream's recent charge per second, in I/Os and bytes."""
    _cost: dict[Stream, rates.Cost] = field(default_factory=dict)
    """The cost of one of its operations."""
    _weather: rates.Weather = field(init=False)

    def __post_init__(self) -> None:
        self._adopt(self.orders)

    def follow(self, orders: Orders) -> None:
        """Adopt new orders; buckets of disks that stay keep their balance."""
        self.balances = self.balances_left()
        self.orders = orders
        self._adopt(orders)

    def balances_left(self) -> dict[str, float]:
        """The credits in each bucket, by device, pool and kind."""
        return {key: self._left[key] for key, one in self._limits_of.items() if capacity(one)}

    def tick(
        self, counters: Mapping[str, Counters], seconds: float, at_s: float
    ) -> dict[str, ThrottleLimits]:
        """Account for `seconds` in which the devices came to `counters`; the limits from now on,
        by device. A device without counters is left out."""
        spent: dict[Stream, tuple[float, float]] = {}
        for disk in self.orders.disks:
            now = counters.get(disk.kernel)
            if now is not None:
                before = self._seen.setdefault(disk.kernel, now)
                if seconds > 0:
                    spent |= self._account(disk, before, now, seconds)
                self._seen[disk.kernel] = now
        if seconds > 0 and self.orders.credit:
            for index, gate in enumerate(self.orders.machine):
                streams = self._streams_of(gate)
                amount = sum(_of(gate, spent[stream]) for stream in streams if stream in spent)
                self._charge(_machine_key(index), amount, seconds, gate.refill_per_s)
        return self._limits(set(counters), self._weather.factor(at_s))

    def _adopt(self, orders: Orders) -> None:
        self._weather = rates.Weather(
            orders.seed, orders.noise, orders.stall_every_s, orders.stall_for_s
        )
        self._limits_of, self._left = {}, {}
        for disk in orders.disks:
            for direction in (READ, WRITE):
                self._use.setdefault((disk.kernel, direction), (0.0, 0.0))
                cost = rates.cost_of(disk.accounting, 0, 0)
                self._cost.setdefault((disk.kernel, direction), cost)
            for index, pool in enumerate(disk.pools):
                for kind, limit in (("iops", pool.iops), ("bytes", pool.bytes_per_s)):
                    if limit is not None:
                        self._add(_key(disk, index, kind), limit)
        for index, gate in enumerate(orders.machine):
            self._add(_machine_key(index), gate.allowance)

    def _add(self, key: str, limit: Allowance) -> None:
        full = capacity(limit)
        self._limits_of[key] = limit
        self._left[key] = min(full, self.balances.get(key, full))

    def _charge(
        self, key: str, amount: float, seconds: float, refill_per_s: float | None = None
    ) -> None:
        """Account for `seconds` in which `amount` of a bucket was used."""
        allowance = self._limits_of[key]
        self._left[key] = balance_after(
            allowance, self._left[key], amount / seconds, seconds,
            refill_per_s=refill_per_s, owed=rates.owed(allowance),
        )  # fmt: skip

    def _account(
        self, disk: ThrottledDisk, before: Counters, now: Counters, seconds: float
    ) -> dict[Stream, tuple[float, float]]:
        """Charge a disk's buckets; the charge in I/Os and bytes of each stream."""
        done = {
            READ: (now.read_ops - before.read_ops, now.read_bytes - before.read_bytes),
            WRITE: (now.write_ops - before.write_ops, now.write_bytes - before.write_bytes),
        }
        spent: dict[str, tuple[float, float]] = {}
        for direction, (ops, size) in done.items():
            stream = disk.kernel, direction
            if ops:
                self._cost[stream] = rates.cost_of(disk.accounting, ops, size)
            cost = self._cost[stream]
            spent[direction] = charge = (ops * cost.ios, ops * cost.bytes)
            recent = zip(self._use[stream], charge, strict=True)
            ios, charged = (rates.remembered(was, one / seconds) for was, one in recent)
            self._use[stream] = ios, charged
        of_stream = {(disk.kernel, direction): amounts for direction, amounts in spent.items()}
        if not self.orders.credit:
            return of_stream
        for index, pool in enumerate(disk.pools):
            covered = zip(*(spent[direction] for direction in _covered(pool)), strict=True)
            for kind, amount in zip(("iops", "bytes"), map(sum, covered), strict=True):
                if (key := _key(disk, index, kind)) in self._limits_of:
                    self._charge(key, amount, seconds)
        return of_stream

    def _streams_of(self, gate: MachineGate) -> list[Stream]:
        return [
            (disk.kernel, direction)
            for disk in self.orders.disks
            if disk.stage == gate.stage
            for direction in _covered(gate)
        ]

    def _limits(self, present: set[str], factor: float) -> dict[str, ThrottleLimits]:
        disks = [disk for disk in self.orders.disks if disk.kernel in present]
        ios, size = self._allowances(disks)
        # All streams together are held under the machine's own limits.
        for index, gate in enumerate(self.orders.machine):
            granted = ios if gate.counts == "ios" else size
            streams = [stream for stream in self._streams_of(gate) if stream in granted]
            use = {stream: _of(gate, self._use[stream]) for stream in streams}
            for stream, part in rates.share(self._allowed(_machine_key(index)), use).items():
                granted[stream] = min(granted[stream], part)

        def limits(disk: ThrottledDisk) -> ThrottleLimits:
            streams = ((disk.kernel, direction) for direction in (READ, WRITE))
            (read_ops, read_bytes), (write_ops, write_bytes) = (
                self._kernel_limits(disk, stream, ios[stream], size[stream], factor)
                for stream in streams
            )
            return ThrottleLimits(read_ops, write_ops, read_bytes, write_bytes)

        return {disk.kernel: limits(disk) for disk in disks}

    def _allowances(
        self, disks: list[ThrottledDisk]
    ) -> tuple[dict[Stream, float], dict[Stream, float]]:
        """The charged I/Os and bytes per second that each stream's own disk allows."""
        ios: dict[Stream, float] = {}
        size: dict[Stream, float] = {}
        for disk in disks:
            ios |= {(disk.kernel, d): math.inf for d in (READ, WRITE)}
            size |= {(disk.kernel, d): math.inf for d in (READ, WRITE)}
            for index, pool in enumerate(disk.pools):
                streams = [(disk.kernel, d) for d in _covered(pool)]
                of_ios = self._allowed(_key(disk, index, "iops"))
                of_bytes = self._allowed(_key(disk, index, "bytes"))
                ios |= rates.share(of_ios, {s: self._use[s][0] for s in streams})
                size |= rates.share(of_bytes, {s: self._use[s][1] for s in streams})
        return ios, size

    def _allowed(self, key: str) -> float:
        allowance = self._limits_of.get(key)
        if allowance is None:
            return math.inf
        if not self.orders.credit:
            return rate(allowance, has_credit=True)
        return rates.allowed(allowance, self._left[key])

    def _kernel_limits(
        self, disk: ThrottledDisk, stream: Stream, ios: float, size: float, factor: float
    ) -> tuple[int | None, int | None]:
        """A stream's operations and bytes as the kernel counts them, before charging."""
        cost = self._cost[stream]
        ops, moved = ios / cost.ios, size
        if cost.bytes > cost.size:  # a small request is charged as a larger one
            ops = min(ops, size / cost.bytes)
        if disk.max_io_bytes:
            # Kernels differ in whether a split request counts once; its bytes always count.
            moved = min(moved, ios * disk.max_io_bytes)
        return _rounded(ops, factor, 1), _rounded(moved, factor, STALLED_BPS)


def _key(disk: ThrottledDisk, index: int, kind: str) -> str:
    return f"{disk.kernel}/{index}/{kind}"


def _machine_key(index: int) -> str:
    return f"machine/{index}"


def _of(gate: MachineGate, amounts: tuple[float, float]) -> float:
    return amounts[0] if gate.counts == "ios" else amounts[1]


def _covered(pool: SharedLimits | MachineGate) -> tuple[str, ...]:
    return (READ, WRITE) if pool.covers == "both" else (pool.covers,)


def _rounded(value: float, factor: float, least: int) -> int | None:
    """A rounded limit for the kernel; None where there is neither a limit nor a stall."""
    if math.isinf(value) and factor:
        return None
    return max(least, round(value * factor if factor else 0.0))
