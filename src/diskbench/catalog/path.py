"""The path from a load to a disk: the gates of disk and machine, the requests that blocks become on
the way, the host cache, and the latency of a request (docs/METHOD.md, "What a run should measure").

A gate is one limit of the disk or the machine, with a bucket of its own: the tightest at a moment
limits the rate. A cloud may merge sequential requests that the guest did not (EC2 User Guide, "I/O
characteristics", 2023-01-19). It did not merge the reads of 2018 (cunnie/cloud_storage_benchmarks),
so merging is the best case and is not assumed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from diskbench.catalog import bucket
from diskbench.catalog.bucket import NO_RULE, OWN_ACCOUNTING, Allowance, Covers, IoAccounting
from diskbench.catalog.lookup import DiskLimits
from diskbench.model.expectation import Bound, Issued, LimitName, Load, Promise
from diskbench.units import KIB

Cache = Literal["none", "read-only", "read-write", "local"]
"""Host caching; `local` is a disk that is where the cache is."""
_Part = Literal["disk", "vm", "cached"]
_THROUGH: frozenset[_Part] = frozenset({"disk", "vm"})
_HIT: frozenset[_Part] = frozenset({"cached"})
_ALL: frozenset[_Part] = _THROUGH | _HIT
Way = Literal["read", "write"]


@dataclass(frozen=True)
class Path:
    """Gates of a machine, of a disk, or of both together, and what is known of them. `limits` are
    those of one disk, with its latencies; None if it is in no catalogue. `sources` are those of its
    figures, `unknown` is what has none. `holds_credit`: filling the disk spends no burst credit."""

    gates: tuple[Gate, ...] = ()
    cache: Cache = "none"
    limits: DiskLimits | None = None
    sources: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    holds_credit: bool = False

    def requests(self, load: Load, case: Case) -> dict[Way, Issued]:
        """The requests of each direction of a load."""
        merges_to = self.limits.merges_to if self.limits else None
        return {way: issued(load, way, case, merges_to=merges_to) for way in ways(load)}

    def costs(self, load: Load, case: Case) -> tuple[float, ...]:
        """Return the cost of one block at each gate; 0 if it bypasses the gate."""
        costs, made = [], self.requests(load, case)
        routes = {way: self._route(load, way, case) for way in made}
        for gate in self.gates:
            passing = {way: of for way, of in made.items() if gate.part in routes[way]}
            costs.append(gate.cost(load, passing))
        return tuple(costs)

    def bounds(
        self, load: Load, costs: Sequence[float], credit: Sequence[float], case: Case
    ) -> tuple[Bound, ...]:
        """Return the rate that each limit allows now, tightest first; `credit` is each bucket's
        balance. If IOPS and throughput limit at the same rate (st1 at 1 MiB), throughput comes
        first, because such disks are sold by throughput."""
        bounds = [
            Bound(
                limit=gate.limit,
                iops=gate.rate(has_credit=balance > 0, case=case) / cost,
                counts=cost if gate.counts == "ios" else max(1.0, cost / load.block_bytes),
                source=gate.source,
                is_range=gate.allowance.is_range,
            )
            for gate, cost, balance in zip(self.gates, costs, credit, strict=True)
            if cost > 0
        ]
        by_latency = self._by_latency(load, case)
        if by_latency is not None:
            bounds.append(by_latency)
        if load.max_per_s is not None:
            bounds.append(Bound(limit="offered", iops=load.max_per_s))
        return tuple(sorted(bounds, key=lambda bound: (bound.iops, bound.limit.endswith("iops"))))

    def full(self) -> tuple[float, ...]:
        """Return the balance of every bucket when all are full."""
        return tuple(gate.capacity for gate in self.gates)

    def shares(self, credit: Sequence[float]) -> dict[LimitName, float]:
        """Return the fill of each bucket (1 is full); of two with one name the emptier."""
        shares: dict[LimitName, float] = {}
        for gate, balance in zip(self.gates, credit, strict=True):
            if gate.capacity:
                share = balance / gate.capacity
                shares[gate.limit] = min(shares.get(gate.limit, 1.0), share)
        return shares

    def with_held_credit(self) -> Path:
        """Return the path while credit is held: every gate allows its burst without end."""
        gates = (replace(gate, allowance=Allowance(gate.allowance.ceiling)) for gate in self.gates)
        return replace(self, gates=tuple(gates))

    def _route(self, load: Load, way: Way, case: Case) -> frozenset[_Part]:
        if self.cache == "none":
            return _THROUGH
        if self.cache == "local":
            return _HIT
        missed = way == "read" and not load.warm
        passed = way == "write" and self.cache == "read-only"
        return _ALL if missed or passed or case == "least" else _HIT

    def _by_latency(self, load: Load, case: Case) -> Bound | None:
        disk = self.limits
        if disk is None or load.depth is None or load.direct is None:
            return None  # what memory serves has no latency of a disk
        seconds, source = 0.0, ""
        for way, share in ways(load).items():
            latency = disk.write_latency if way == "write" and disk.write_latency else disk.latency
            latency = latency if "disk" in self._route(load, way, case) else disk.hit
            if latency is None:
                return None
            ms = {"least": latency.worst_ms, "best": latency.best_ms}.get(case, latency.usual)
            if ms is None:
                return None
            seconds += share * ms / 1000
            source = latency.source
        return Bound(limit="latency", iops=load.depth / seconds, source=source)


def tightest(bounds: Sequence[Bound]) -> float:
    """Return the rate of the tightest bound; infinite without bounds."""
    return bounds[0].iops if bounds else math.inf


@dataclass(frozen=True)
class Gate:
    """One limit. `refill_per_s` is the fastest refill of an idle bucket per second; None: the
    baseline. `source` names the source of the figure."""

    limit: LimitName
    counts: Literal["ios", "bytes"]
    allowance: Allowance
    covers: Covers = "both"
    accounting: IoAccounting = NO_RULE
    refill_per_s: float | None = None
    source: str = ""

    @property
    def part(self) -> _Part:
        """Where on the way it is."""
        if self.limit.startswith("vm-cached"):
            return "cached"
        return "vm" if self.limit.startswith("vm") else "disk"

    @property
    def capacity(self) -> float:
        """The capacity of the bucket; 0 if there is none."""
        return bucket.capacity(self.allowance)

    def rate(self, *, has_credit: bool, case: Case = "assumed") -> float:
        """Return the rate that the gate allows, in I/Os or bytes per second; of a documented range
        its lower end in the least case and its upper end in the best."""
        of_range = {"least": self.allowance.least, "best": self.allowance.most}.get(case)
        if of_range is not None:
            return of_range
        return bucket.rate(self.allowance, has_credit=has_credit)

    def cost(self, load: Load, of_way: Mapping[Way, Issued]) -> float:
        """Return the cost of one block of the load in I/Os or bytes; 0 if it bypasses the gate, as
        sequential I/O does that of the seeks of a magnetic disk: an average is documented of
        them."""
        if self.counts == "ios" and self.allowance.is_range and not load.random:
            return 0.0
        charged = self.accounting.ios if self.counts == "ios" else self.accounting.bytes
        return sum(
            share * of_way[way].per_block * charged(of_way[way].request_bytes)
            for way, share in ways(load).items()
            if way in of_way and self.covers in {"both", way}
        )

    def balance_after(self, balance: float, used_per_s: float, seconds: float) -> float:
        """Return the balance after a usage for a time, between 0 and the capacity."""
        return bucket.balance_after(
            self.allowance, balance, used_per_s, seconds, refill_per_s=self.refill_per_s
        )


def ways(load: Load) -> dict[Way, float]:
    """Return the directions of a load with their shares, without those of share 0."""
    shares: dict[Way, float] = {"read": load.read_share, "write": 1 - load.read_share}
    return {way: share for way, share in shares.items() if share > 0}


def disk_gates(limits: DiskLimits, *, count: int = 1, time_scale: float = 1.0) -> tuple[Gate, ...]:
    """Return the gates of `count` equal disks that share a load evenly. `time_scale` divides the
    capacity of their buckets (the lab)."""
    source = "; ".join(source_.words() for source_ in limits.sources)
    return tuple(
        Gate(
            limit=limit,
            counts=counts,
            allowance=bucket.scaled(allowance, count=count, time_scale=time_scale),
            covers=pool.covers,
            accounting=limits.accounting,
            source=source,
        )
        for pool in limits.pools
        for limit, counts, allowance in _sides(pool.iops, pool.bytes_per_s)
    )


def promise_gates(promise: Promise, accounting: IoAccounting | None = None) -> tuple[Gate, ...]:
    """Return the limits that a disk's owner promised, separately for reads and writes. IOPS are of
    requests up to `io_kib`, else counted by `accounting`, else by OWN_ACCOUNTING."""
    rate = None if promise.mb_per_s is None else promise.mb_per_s * 1e6
    iops = None if promise.iops is None else Allowance(promise.iops)
    sides = _sides(iops, None if rate is None else Allowance(rate))
    covers: tuple[Covers, ...] = ("read", "write")
    counted = accounting or OWN_ACCOUNTING
    if promise.io_kib is not None:
        counted = IoAccounting(promise.io_kib * KIB)
    return tuple(
        Gate(limit, counts, allowance, covers=way, accounting=counted, source="--promise")
        for way in covers
        for limit, counts, allowance in sides
    )


def without_cache(gates: Iterable[Gate]) -> tuple[Gate, ...]:
    """Return the gates that do not belong to the machine's host cache."""
    return tuple(gate for gate in gates if not gate.limit.startswith("vm-cached"))


def _sides(
    iops: Allowance | None, rate: Allowance | None
) -> list[tuple[LimitName, Literal["ios", "bytes"], Allowance]]:
    sides: list[tuple[LimitName, Literal["ios", "bytes"], Allowance]] = []
    if iops is not None:
        sides.append(("disk-iops", "ios", iops))
    if rate is not None:
        sides.append(("disk-throughput", "bytes", rate))
    return sides


Case = Literal["least", "assumed", "best"]
"""Which of the plausible request sizes (and latencies, and cache hits) is meant."""

PAGE_BYTES = 4 * KIB
WRITEBACK_BYTES = 256 * KIB
"""What the page cache writes at once, as measured in 2018 (above)."""
LEAST_MERGED_BYTES = 128 * KIB
"""The smallest request that sequential work through the page cache is taken to make: the kernel's
read-ahead unless it is set (Documentation/block/queue-sysfs.rst, read_ahead_kb); our choice for
writes."""


def issued(
    load: Load, way: Literal["read", "write"], case: Case, *, merges_to: int | None = None
) -> Issued:
    """What blocks of one direction become. `merges_to` is the largest request that the cloud makes
    of several in sequence; None where it says nothing of merging."""
    block = load.block_bytes
    if load.direct is None:
        return Issued(request_bytes=block, per_block=1.0)  # nothing says what would merge it
    if load.random:
        size = block if load.direct else math.ceil(block / PAGE_BYTES) * PAGE_BYTES
        return Issued(request_bytes=size, per_block=1.0)
    if load.direct:
        # One request alone in the queue has no other to be merged with.
        merged = case == "best" and merges_to is not None and (load.depth is None or load.depth > 1)
        size = max(block, merges_to or 0) if merged else block
        return Issued(request_bytes=size, per_block=block / size)
    size = WRITEBACK_BYTES if way == "write" else max(load.read_ahead_bytes, PAGE_BYTES)
    if case == "least":
        size = min(size, LEAST_MERGED_BYTES)
    elif case == "best":
        size = max(size, WRITEBACK_BYTES, merges_to or 0)
    return Issued(request_bytes=size, per_block=block / size)
