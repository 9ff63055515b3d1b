"""The choice of the machine to measure from: pure.

The default is the cheapest size whose *baseline* on the path of the disk is MARGIN times the
disk's ceiling. A disk with a host cache reads on the cached path and writes on both paths, so
both limits count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.providers.skeleton.offer import MIN_VCPUS, Needs

if TYPE_CHECKING:
    from diskbench.catalog.books import ProviderBook
    from diskbench.catalog.machines.machine_book import MachineEntry
    from diskbench.providers.azure.disk_request import AzureDiskRequest
    from diskbench.providers.azure.resolved import AzureMachine, DiskPath


def candidates(book: ProviderBook, need: Needs, requested: AzureDiskRequest) -> tuple[str, ...]:
    """The sizes that sustain the disk, cheapest first: current sizes before retiring ones."""
    good = [
        (not entry.current, usd, name)
        for name, entry in book.machines.types.items()
        if (usd := book.prices.machine_hourly_usd(name)) is not None
        and _is_fit(entry, requested)
        and _sustains(entry, need)
    ]
    return tuple(name for _, _, name in sorted(good))


def too_small(
    machine: AzureMachine, need: Needs, requested: AzureDiskRequest, better: str | None
) -> str | None:
    """Why a machine chosen by the user would limit the measurement; None when it does not."""
    if not need.iops and not need.mb_per_s:
        return None
    instead = f"; {better} would do" if better and better != machine.size else ""
    cached = requested.caching not in {None, "None"}
    for name, path in (("uncached", machine.uncached), ("cached", machine.cached)):
        if name == "cached" and not cached:
            continue
        if path.iops is None or path.mb_per_s is None:
            return (
                f"Azure names no {name} limit for {machine.size}: it may measure itself, and not "
                f"the disk{instead}"
            )
        if path.iops < need.iops or path.mb_per_s < need.mb_per_s:
            return _words(machine.size, name, path, need) + instead
    return None


def _words(size: str, name: str, path: DiskPath, need: Needs) -> str:
    return (
        f"{size} sustains {path.iops:,.0f} IOPS and {path.mb_per_s:,.0f} MB/s ({name}), the disk "
        f"needs {need.iops:,.0f} and {need.mb_per_s:,.0f} of its machine: it would measure itself"
    )


def _is_fit(entry: MachineEntry, requested: AzureDiskRequest) -> bool:
    return (
        not entry.burstable
        and entry.vcpus >= MIN_VCPUS
        and entry.max_disks >= requested.count
        and (
            bool(entry.traits.get("premium", True))
            or not requested.type.startswith(("Premium", "Ultra"))
        )
        and (requested.kind != "local" or bool(entry.traits.get("temp_gib")))
        and (requested.caching in {None, "None"} or _has_cache(entry))
    )


def _has_cache(entry: MachineEntry) -> bool:
    is_scsi = entry.traits.get("interface", "scsi") == "scsi"
    return bool(entry.traits.get("cacheable", True)) and is_scsi


def _sustains(entry: MachineEntry, need: Needs) -> bool:
    return (entry.iops or 0) >= need.iops and (entry.mb_per_s or 0) >= need.mb_per_s
