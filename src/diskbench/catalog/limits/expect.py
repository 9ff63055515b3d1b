"""The expected rate of one load on a disk of a machine, for how long, and what limits it.

    iops = min over gates of rate / cost, depth / latency and the load's own rate

with the cost of a block at each gate (catalog/limits/limit.py) and the latency of
catalog/limits/path.py. It is computed three times: with the assumed request sizes, latency and
cache hits, with the least favourable and with the most favourable plausible ones
(catalog/limits/io_requests.py). `begin` holds with the given credit; `lasting` is the final rate
of catalog/limits/simulate.py under the same endless load.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.catalog.limits.limit import disk_gates, promise_gates, without_cache
from diskbench.catalog.limits.lookup import limits
from diskbench.catalog.limits.path import Path, tightest
from diskbench.catalog.limits.simulate import Stage, simulate
from diskbench.catalog.machines.machine import MachineLimits, capped, machine_of
from diskbench.model.expectation import Expectation, ExpectedLevel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.catalog.limits.bucket import IoAccounting
    from diskbench.catalog.limits.io_requests import Case
    from diskbench.catalog.limits.lookup import DiskLimits
    from diskbench.catalog.limits.path import Cache
    from diskbench.model.expectation import Bound, Load, Promise

_CASES: tuple[Case, ...] = ("least", "assumed", "best")
_NOT_CAPS = frozenset({"latency", "offered"})


@dataclass(frozen=True)
class CatalogDisk:
    """One catalogue disk, or `count` equal ones that share a load evenly. `time_scale` divides the
    capacity of their buckets (the lab)."""

    limits: DiskLimits
    count: int = 1
    cache: Cache = "none"
    time_scale: float = 1.0


def disk_of(
    cloud: str, disk_type: str, size_gib: float, **provisioned: float | None
) -> CatalogDisk:
    """A disk of the catalogue; `iops` and `throughput` as `lookup.limits` takes them."""
    return CatalogDisk(limits(cloud, disk_type, size_gib, **provisioned))


def expect(
    disk: CatalogDisk, instance: MachineLimits, job: Load, *, credit: Sequence[float] | None = None
) -> Expectation | None:
    """Return what a load gets from a disk on a machine; None if no limit is known. `credit` has one
    balance per bucket of the path; default: full."""
    return expect_on(path_of(disk, instance), job, credit=credit)


def path_of(disk: CatalogDisk, instance: MachineLimits) -> Path:
    """Return the path through a machine to its disk."""
    limits = disk.limits
    cache: Cache = "local" if limits.place == "cache" else disk.cache
    gates = instance.gates if cache != "none" else without_cache(instance.gates)
    return Path(
        (*disk_gates(limits, count=disk.count, time_scale=disk.time_scale), *gates),
        cache=cache,
        latency=limits.latency,
        write_latency=limits.write_latency,
        hit=limits.hit if cache != "none" else None,
        merges_to=limits.accounting.max_io_bytes if limits.merges else None,
    )


def promised_path(promise: Promise, accounting: IoAccounting | None = None) -> Path:
    """Return the path to a disk that has only its owner's promise; `accounting` is its cloud's rule
    for counting requests, if known."""
    return Path(promise_gates(promise, accounting))


def expect_on(
    path: Path, load: Load, *, credit: Sequence[float] | None = None
) -> Expectation | None:
    """As `expect`, on a path."""
    held = tuple(path.full() if credit is None else credit)
    begin = _level(path, load, dict.fromkeys(_CASES, held))
    if begin is None:
        return None
    courses = {case: simulate(path, [Stage(load)], case=case, credit=held) for case in _CASES}
    lasting = _level(path, load, {case: course.left for case, course in courses.items()})
    assert lasting is not None, "what limits it at first limits it at last"
    first = courses["assumed"].legs[0]
    requests = path.requests(load, "assumed")
    return Expectation(
        load=load,
        reads=requests.get("read"),
        writes=requests.get("write"),
        begin=begin,
        lasting=lasting,
        lasts_s=None if math.isinf(first.seconds) else first.seconds,
    )


def _level(path: Path, load: Load, credit: dict[Case, Sequence[float]]) -> ExpectedLevel | None:
    bounds = {
        case: path.bounds(load, path.costs(load, case), credit[case], case) for case in _CASES
    }
    rates = [tightest(of_case) for of_case in bounds.values()]
    if math.isinf(max(rates)):
        return None
    assumed = bounds["assumed"]
    return ExpectedLevel(
        iops=assumed[0].iops,
        low_iops=min(rates),
        high_iops=max(rates),
        bytes_per_s=assumed[0].iops * load.block_bytes,
        limited_by=assumed[0].limit,
        bounds=assumed,
        others=_others(bounds),
    )


def _others(bounds: dict[Case, tuple[Bound, ...]]) -> tuple[Bound, ...]:
    """Return the tightest cap of the least and the best case, where the assumed case has no bound
    of its limit at its rate."""
    known = {(bound.limit, bound.iops) for bound in bounds["assumed"]}
    others = []
    for case in ("least", "best"):
        tightest_cap = next((b for b in bounds[case] if b.limit not in _NOT_CAPS), None)
        if tightest_cap is None or tightest_cap.is_range:
            continue
        if (tightest_cap.limit, tightest_cap.iops) not in known:
            others.append(tightest_cap)
            known.add((tightest_cap.limit, tightest_cap.iops))
    return tuple(others)


__all__ = [
    "CatalogDisk", "MachineLimits", "capped", "disk_of", "expect", "expect_on", "machine_of",
    "path_of", "promised_path",
]  # fmt: skip
