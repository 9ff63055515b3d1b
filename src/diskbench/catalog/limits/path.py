"""The path from a load to a disk: its gates, the host cache, and the latency of a request.

A block passes the gates of disk and machine. With a host cache (MicrosoftDocs
disks-performance.md, 2026-09-09) it takes

    read, hit                   the machine's cached limits only
    read, miss                  cached limits, uncached limits and the disk
    written, read-only cache    all of them
    written, read-write cache   the cached limits; what is flushed later takes the others

Reads are assumed to hit, and writes to end in a read-write cache; the least that is plausible is
that none does. A load of `depth` blocks under way at once cannot pass more than

    depth / latency,  latency = Σ over directions  share × latency of the direction

blocks a second (Little's law), with the best, usual and worst latency of the disk, or of a hit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from diskbench.catalog.limits.bucket import Allowance
from diskbench.catalog.limits.io_requests import issued
from diskbench.catalog.limits.limit import Gate, ways
from diskbench.model.expectation import Bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.catalog.limits.io_requests import Case
    from diskbench.catalog.limits.limit import Way
    from diskbench.catalog.limits.lookup import RequestLatency
    from diskbench.model.expectation import Issued, Load

Cache = Literal["none", "read-only", "read-write", "local"]
"""Host caching; `local` is a disk that is where the cache is."""
_Part = Literal["disk", "vm", "cached"]
_THROUGH: frozenset[_Part] = frozenset({"disk", "vm"})
_HIT: frozenset[_Part] = frozenset({"cached"})
_ALL: frozenset[_Part] = _THROUGH | _HIT


@dataclass(frozen=True)
class Path:
    """Gates of disk and machine together. `latency` and `write_latency` are the disk's own, `hit`
    is that of the host cache; `merges_to` is the largest request that the cloud makes of several in
    sequence."""

    gates: tuple[Gate, ...]
    cache: Cache = "none"
    latency: RequestLatency | None = None
    write_latency: RequestLatency | None = None
    hit: RequestLatency | None = None
    merges_to: int | None = None

    def requests(self, load: Load, case: Case) -> dict[Way, Issued]:
        """The requests of each direction of a load."""
        return {way: issued(load, way, case, merges_to=self.merges_to) for way in ways(load)}

    def costs(self, load: Load, case: Case) -> tuple[float, ...]:
        """Return the cost of one block at each gate; 0 if it bypasses the gate."""
        made = self.requests(load, case)
        costs = []
        for gate in self.gates:
            part = _part(gate)
            passing = {
                w: issued_ for w, issued_ in made.items() if part in self._route(load, w, case)
            }
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
                counts=self._counts(gate, load, cost),
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
        if load.depth is None:
            return None
        seconds, source = 0.0, ""
        for way, share in ways(load).items():
            latency = self.write_latency if way == "write" and self.write_latency else self.latency
            latency = latency if "disk" in self._route(load, way, case) else self.hit
            if latency is None:
                return None
            ms = {"least": latency.worst_ms, "assumed": latency.usual, "best": latency.best_ms}[
                case
            ]
            if ms is None:
                return None
            seconds += share * ms / 1000
            source = latency.source
        return Bound(limit="latency", iops=load.depth / seconds, source=source)

    @staticmethod
    def _counts(gate: Gate, load: Load, cost: float) -> float:
        return cost if gate.counts == "ios" else max(1.0, cost / load.block_bytes)


def tightest(bounds: Sequence[Bound]) -> float:
    """Return the rate of the tightest bound; infinite without bounds."""
    return bounds[0].iops if bounds else math.inf


def _part(gate: Gate) -> _Part:
    if gate.limit.startswith("vm-cached"):
        return "cached"
    return "vm" if gate.limit.startswith("vm") else "disk"
