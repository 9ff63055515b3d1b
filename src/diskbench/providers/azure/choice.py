"""Which machine to measure from: pure.

The default is the cheapest size whose *baseline* on the path of the disk is MARGIN times the disk's
ceiling. A disk with a host cache is read on the cached path and written on both, so both count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.providers.needs import MIN_VCPUS, Needs

if TYPE_CHECKING:
    from diskbench.catalog.azure_sizes import SizeCatalogue, SizeEntry
    from diskbench.providers.azure.resolved import DiskPath, Machine
    from diskbench.providers.azure.wanted import Wanted


def candidates(book: SizeCatalogue, need: Needs, wanted: Wanted) -> tuple[str, ...]:
    """The sizes that are good enough, cheapest first: current ones before those that are going."""
    good = [
        (not entry.current, entry.usd_per_hour or 0.0, name)
        for name, entry in book.sizes.items()
        if _is_fit(entry, wanted) and _sustains(entry, need)
    ]
    return tuple(name for _, _, name in sorted(good))


def too_small(found: Machine, need: Needs, wanted: Wanted, better: str | None) -> str | None:
    """Why a machine that somebody picked would measure itself; None when it is good enough."""
    if not need.iops and not need.mb_per_s:
        return None
    instead = f"; {better} would do" if better and better != found.size else ""
    cached = wanted.caching not in {None, "None"}
    for name, path in (("uncached", found.uncached), ("cached", found.cached)):
        if name == "cached" and not cached:
            continue
        if path.iops is None or path.mb_per_s is None:
            return (
                f"Azure names no {name} limit for {found.size}: it may measure itself, and not "
                f"the disk{instead}"
            )
        if path.iops < need.iops or path.mb_per_s < need.mb_per_s:
            return _words(found.size, name, path, need) + instead
    return None


def _words(size: str, name: str, path: DiskPath, need: Needs) -> str:
    return (
        f"{size} sustains {path.iops:,.0f} IOPS and {path.mb_per_s:,.0f} MB/s ({name}), the disk "
        f"needs {need.iops:,.0f} and {need.mb_per_s:,.0f} of its machine: it would measure itself"
    )


def _is_fit(entry: SizeEntry, wanted: Wanted) -> bool:
    return (
        not entry.burstable
        and entry.usd_per_hour is not None
        and entry.vcpus >= MIN_VCPUS
        and entry.max_disks >= wanted.count
        and (entry.premium or not wanted.type.startswith(("Premium", "Ultra")))
        and (wanted.kind != "local" or entry.temp_gib > 0)
        and (wanted.caching in {None, "None"} or _has_cache(entry))
    )


def _has_cache(entry: SizeEntry) -> bool:
    return entry.cacheable and entry.interface == "scsi"


def _sustains(entry: SizeEntry, need: Needs) -> bool:
    return entry.iops >= need.iops and entry.mb_per_s >= need.mb_per_s
