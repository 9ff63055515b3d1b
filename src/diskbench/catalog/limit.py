"""A gate: one limit that blocks pass on their way, with its bucket, of the disk or of the machine.

What one block costs a gate:

    cost = Σ over directions  share × per_block × charged

with the requests of catalog/io_requests.py, each charged by catalog/bucket.py in I/Os or in bytes.
The buckets of disk and machine are separate: whichever gate is tightest at a moment limits the rate
(MicrosoftDocs disks-performance.md, 2026-09-09; EC2 User Guide, "optimized instances", 2023-05-11).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from diskbench.catalog import bucket
from diskbench.catalog.bucket import NO_RULE, OWN_ACCOUNTING, Allowance, IoAccounting
from diskbench.units import KIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from diskbench.catalog.lookup import Covers, DiskLimits
    from diskbench.model.expectation import Issued, LimitName, Load
    from diskbench.model.promise import Promise

Way = Literal["read", "write"]


@dataclass(frozen=True)
class Gate:
    """One limit. `refill_per_s` is the most that an idle bucket gains a second; None: the baseline.
    `source` says where the figure stands."""

    limit: LimitName
    counts: Literal["ios", "bytes"]
    allowance: Allowance
    covers: Covers = "both"
    accounting: IoAccounting = NO_RULE
    refill_per_s: float | None = None
    source: str = ""

    @property
    def capacity(self) -> float:
        """What the bucket holds; 0 where there is none."""
        return bucket.capacity(self.allowance)

    def rate(self, *, has_credit: bool) -> float:
        """What it lets through a second, in I/Os or bytes."""
        return bucket.rate(self.allowance, has_credit=has_credit)

    def cost(self, load: Load, of_way: Mapping[Way, Issued]) -> float:
        """What one block of the load costs here, in I/Os or bytes; 0 where nothing of it passes."""
        return sum(
            share * of_way[way].per_block * self._charged(of_way[way].request_bytes)
            for way, share in ways(load).items()
            if way in of_way and self.covers in {"both", way}
        )

    def balance_after(self, balance: float, used_per_s: float, seconds: float) -> float:
        """The balance after so much was used for a time; never above the capacity or below 0."""
        return bucket.balance_after(
            self.allowance, balance, used_per_s, seconds, refill_per_s=self.refill_per_s
        )

    def _charged(self, request_bytes: int) -> float:
        if self.counts == "ios":
            return self.accounting.ios(request_bytes)
        return self.accounting.bytes(request_bytes)


def ways(load: Load) -> dict[Way, float]:
    """The directions of a load with their shares, those with none left out."""
    shares: dict[Way, float] = {"read": load.read_share, "write": 1 - load.read_share}
    return {way: share for way, share in shares.items() if share > 0}


def disk_gates(limits: DiskLimits, *, count: int = 1, time_scale: float = 1.0) -> tuple[Gate, ...]:
    """The gates of `count` equal disks that share a load evenly. `time_scale` divides the capacity
    of their buckets (the lab)."""
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
    """What a disk's owner expects of it: a limit for reads and one for writes each. Its IOPS are of
    requests up to `io_kib`, else as `accounting` counts them, else as OWN_ACCOUNTING does."""
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
    """Those that are not about the machine's host cache."""
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
