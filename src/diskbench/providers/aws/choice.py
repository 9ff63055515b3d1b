"""The choice of the machine to measure from: pure.

A machine that sustains less than its disk promises would limit the measurement. So the default is
the cheapest machine whose *baseline* is MARGIN times the disk's ceiling, in IOPS and bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.model.base import Frozen
from diskbench.providers.skeleton.offer import MIN_VCPUS, Needs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.catalog.books import ProviderBook
    from diskbench.catalog.machines.machine_book import MachineEntry


MAX_ALTERNATIVES = 2
DEARER = 1.25
"""How many further types are tried without capacity, and how much more each may cost; our
choice."""


class EbsFigures(Frozen):
    """The EBS limits of a machine: the sustained ones, and the maxima for half an hour a day; None
    where AWS publishes no figure."""

    baseline_iops: float | None = None
    baseline_mb_per_s: float | None = None
    max_iops: float | None = None
    max_mb_per_s: float | None = None


def candidates(
    book: ProviderBook,
    need: Needs,
    *,
    arch: str,
    disks: int = 1,
    local_disks: int = 0,
) -> tuple[str, ...]:
    """The machine types that sustain the disk, cheapest first: current, not burstable, two
    processors or more. With `local_disks`, the machine has that many local NVMe disks."""
    good = [
        (usd, name)
        for name, entry in book.machines.types.items()
        if (usd := book.prices.machine_hourly_usd(name)) is not None
        and _is_fit(entry, arch, disks)
        and (_sustains(figures(entry), need))
        and (not local_disks or _has_local(entry, local_disks))
    ]
    return tuple(name for _, name in sorted(good))


def alternatives(book: ProviderBook, names: Sequence[str]) -> tuple[str, ...]:
    """The types of `names` (cheapest first) to rent where there is no capacity for the first: with
    as many processors, and no more than DEARER times its price, so that the plan stays true."""
    first, *others = names
    usd, entry = book.prices.machine_hourly_usd(first), book.machines.types[first]
    assert usd is not None, "candidates have prices"
    alike = [
        name
        for name in others
        if book.machines.types[name].vcpus == entry.vcpus
        and (book.prices.machine_hourly_usd(name) or 0) <= DEARER * usd
    ]
    return tuple(alike[:MAX_ALTERNATIVES])


def figures(entry: MachineEntry) -> EbsFigures:
    """The catalogue's EBS figures of a machine type; a single figure serves as baseline and
    maximum."""
    return EbsFigures(
        baseline_iops=entry.iops,
        baseline_mb_per_s=entry.mb_per_s,
        max_iops=entry.burst_iops or entry.iops,
        max_mb_per_s=entry.burst_mb_per_s or entry.mb_per_s,
    )


def too_small(name: str, ebs: EbsFigures, need: Needs, better: str | None) -> str | None:
    """Why a machine chosen by the user would limit the measurement; None when it does not."""
    if not need.iops and not need.mb_per_s:
        return None
    if ebs.baseline_iops is None or ebs.baseline_mb_per_s is None:
        return f"AWS publishes no EBS limit for {name}: it may measure itself, and not the disk"
    if _sustains(ebs, need):
        return None
    burst = ""
    if ebs.max_mb_per_s and ebs.max_mb_per_s > ebs.baseline_mb_per_s:
        burst = f" ({ebs.max_iops:,.0f} and {ebs.max_mb_per_s:,.0f} for half an hour a day)"
    instead = f"; {better} would do" if better and better != name else ""
    return (
        f"{name} sustains {ebs.baseline_iops:,.0f} IOPS and {ebs.baseline_mb_per_s:,.0f} MB/s"
        f"{burst}, the disk needs {need.iops:,.0f} and {need.mb_per_s:,.0f} of its machine: "
        f"it would measure itself{instead}"
    )


def _is_fit(entry: MachineEntry, arch: str, disks: int) -> bool:
    return (
        entry.current
        and not entry.burstable
        and entry.traits.get("hypervisor", "nitro") == "nitro"
        and entry.traits.get("ebs_optimized", "default") == "default"
        and entry.vcpus >= MIN_VCPUS
        and entry.arch == arch
        and room_for_disks(entry.max_disks, apart=entry.disks_apart) >= disks
    )


def room_for_disks(max_disks: int, *, apart: bool) -> int:
    """How many disks can be attached beside the root disk, less the network interface where they
    share slots."""
    return max_disks - (1 if apart else 2)


def _sustains(ebs: EbsFigures, need: Needs) -> bool:
    if not need.iops and not need.mb_per_s:
        return True
    return (ebs.baseline_iops or 0) >= need.iops and (ebs.baseline_mb_per_s or 0) >= need.mb_per_s


def _has_local(entry: MachineEntry, count: int) -> bool:
    return entry.local is not None and entry.local.nvme and entry.local.count >= count
