"""A gate: one limit of the disk or the machine that blocks pass, with its bucket.

The cost of one block at a gate:

    cost = Σ over directions  share × per_block × charged

with the requests of catalog/limits/io_requests.py, each charged by catalog/limits/bucket.py in
I/Os or in bytes. The buckets of disk and machine are separate: the tightest gate at a moment
limits the rate (MicrosoftDocs disks-performance.md, 2026-09-09; EC2 User Guide, "optimized
instances", 2023-05-11).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from diskbench.catalog.limits import bucket
from diskbench.catalog.limits.bucket import NO_RULE, OWN_ACCOUNTING, Allowance, IoAccounting
from diskbench.units import KIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from diskbench.catalog.limits.io_requests import Case
    from diskbench.catalog.limits.lookup import Covers, DiskLimits
    from diskbench.model.expectation import Issued, LimitName, Load, Promise

Way = Literal["read", "write"]


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
        """Return the cost of one block of the load in I/Os or bytes; 0 if it bypasses the gate."""
        return sum(
            share * of_way[way].per_block * self._charged(of_way[way].request_bytes)
            for way, share in ways(load).items()
            if way in of_way and self.covers in {"both", way}
        )

    def balance_after(self, balance: float, used_per_s: float, seconds: float) -> float:
        """Return the balance after a usage for a time, between 0 and the capacity."""
        return bucket.balance_after(
            self.allowance, balance, used_per_s, seconds, refill_per_s=self.refill_per_s
        )

    def _charged(self, request_bytes: int) -> float:
        if self.counts == "ios":
            return self.accounting.ios(request_bytes)
        return self.accounting.bytes(request_bytes)


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
