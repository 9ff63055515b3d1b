"""What Azure sells as a disk, and what it refuses. Pure, and its figures are its own: it proves
diskbench's catalogue.

Sizes and figures: azure-compute-docs disks-types.md (2026-08-11) and the tables of tiers included
by it; bursting: managed-disks-bursting-2.md (2025-01-14). Wordings as quoted in public reports.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from emulators.azure.call import Refusal, wrong

GIB = 2**30
CACHED_GIB = 4095
"""Host caching ends here: disks-performance.md, "disk caching isn't supported for disks 4 TiB and
larger"."""
UNCACHED = {"UltraSSD_LRS", "PremiumV2_LRS"}
_STEPS = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32767)


@dataclass(frozen=True)
class Tier:
    """A size step: GiB, IOPS and MB/s."""

    name: str
    gib: int
    iops: int
    mbps: int


def _tiers(letter: str, numbers: str, rows: list[tuple[int, int]]) -> tuple[Tier, ...]:
    names = numbers.split()
    steps = _STEPS[-len(names) :]
    return tuple(
        Tier(f"{letter}{number}", gib, *row)
        for number, gib, row in zip(names, steps, rows, strict=True)
    )


_ALL = "1 2 3 4 6 10 15 20 30 40 50 60 70 80"
TIERS = {
    "Standard_LRS": _tiers(
        "S",
        "4 6 10 15 20 30 40 50 60 70 80",
        [(500, 60)] * 8 + [(1300, 300), (2000, 500), (2000, 500)],
    ),
    "StandardSSD_LRS": _tiers(
        "E", _ALL, [(500, 60)] * 11 + [(2000, 400), (4000, 600), (6000, 750)]
    ),
    "Premium_LRS": _tiers(
        "P",
        _ALL,
        [
            (120, 25), (120, 25), (120, 25), (120, 25), (240, 50), (500, 100), (1100, 125),
            (2300, 150), (5000, 200), (7500, 250), (7500, 250), (16000, 500), (18000, 750),
            (20000, 900),
        ],
    ),
}  # fmt: skip
PLUS = {
    "Standard_LRS": ((1500, 150), (3000, 300), (3000, 500), (3000, 500), (3000, 500), (3000, 500)),
    "StandardSSD_LRS": (
        (1500, 150), (3000, 300), (6000, 600), (6000, 750), (6000, 750), (6000, 750),
    ),
    "Premium_LRS": (
        (8000, 300), (16000, 600), (20000, 900), (20000, 900), (20000, 900), (20000, 900),
    ),
}  # fmt: skip
"""Expanded IOPS and MB/s of the six largest steps (disk-storage-…-sizes.md, 2023-02 and -03)."""
PLUS_GIB = 513
ZRS = {"Premium_ZRS": "Premium_LRS", "StandardSSD_ZRS": "StandardSSD_LRS"}
SKU_TIERS = {"Standard_LRS": "Standard", "StandardSSD_LRS": "Standard", "Premium_LRS": "Premium",
             "PremiumV2_LRS": "Premium", "UltraSSD_LRS": "Ultra", "Premium_ZRS": "Premium",
             "StandardSSD_ZRS": "Standard"}  # fmt: skip


def sku_name(asked: str | None) -> str:
    """The SKU's own name, whatever its case; Standard_LRS where none is asked for, as recorded."""
    return next((one for one in SKU_TIERS if one.lower() == (asked or "").lower()), "Standard_LRS")


def figures(sku: str, size: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """What Azure shows of a disk's performance: diskIOPSReadWrite, diskMBpsReadWrite, tier,
    burstingEnabled. Raises Refusal for what is not sold."""
    if sku in UNCACHED:
        return _provisioned(sku, size, given)
    _within("disk.diskSizeGB", size, 1, 32767)
    for name in ("diskIOPSReadWrite", "diskMBpsReadWrite"):
        # Whoever writes back what was read sends the size's own figures.
        if given.get(name) is not None and given[name] != _tier(sku, size, given)[name]:
            raise wrong(
                f"The property '{name}' is not supported for disks of sku '{sku}'. It can be set "
                "only for UltraSSD_LRS and PremiumV2_LRS disks.",
                name,
            )
    shown = _tier(sku, size, given)
    if (given.get("creationData") or {}).get("performancePlus"):
        if size < PLUS_GIB:
            raise wrong("Performance plus needs a disk of 513 GiB or more.", "performancePlus")
        steps, expanded = _STEPS[-6:], PLUS[ZRS.get(sku, sku)]
        iops, mbps = next(one for gib, one in zip(steps, expanded, strict=True) if size <= gib)
        shown |= {"diskIOPSReadWrite": iops, "diskMBpsReadWrite": mbps}
    if given.get("burstingEnabled"):
        if not sku.startswith("Premium") or size <= 512:
            raise wrong(
                "On-demand bursting is supported only for Premium SSD disks larger than 512 GiB.",
                "burstingEnabled",
            )
        shown["burstingEnabled"] = True
    return shown


def check_cache(sku: str, size: int, caching: str) -> None:
    """Raise Refusal for a disk that cannot be cached so."""
    if caching.lower() == "none":
        return
    if sku in UNCACHED:
        raise wrong(f"Disk caching is not supported for disks with sku '{sku}'.", "caching")
    if size > CACHED_GIB:
        raise wrong(
            f"Host caching is not supported for disks larger than {CACHED_GIB} GiB; the disk has "
            f"{size} GiB.",
            "caching",
        )


def _tier(sku: str, size: int, given: Mapping[str, Any]) -> dict[str, Any]:
    rows = TIERS[ZRS.get(sku, sku)]
    own = next(row for row in rows if size <= row.gib)
    asked = given.get("tier")
    if asked is None:
        tier = {"tier": own.name} if sku.startswith("Premium") else {}
        return {"diskIOPSReadWrite": own.iops, "diskMBpsReadWrite": own.mbps} | tier
    if not sku.startswith("Premium"):
        raise wrong(f"Performance tier is not supported for disks of sku '{sku}'.", "tier")
    better = next((row for row in rows if row.name == asked), None)
    if better is None:
        raise wrong(f"'{asked}' is no performance tier.", "tier")
    # disks-change-performance.md: at least the size's own; P60 to P80 are for such sizes only.
    if better.gib < own.gib or (better.gib > 4096) != (own.gib > 4096):
        raise wrong(
            f"The performance tier '{asked}' is not supported for a disk of {size} GiB, whose "
            f"baseline is '{own.name}'.",
            "tier",
        )
    return {
        "diskIOPSReadWrite": better.iops,
        "diskMBpsReadWrite": better.mbps,
        "tier": better.name,
    }


def _provisioned(sku: str, size: int, given: Mapping[str, Any]) -> dict[str, Any]:
    for name in ("tier", "burstingEnabled"):
        if given.get(name):
            raise wrong(f"The property '{name}' is not supported for disks of sku '{sku}'.", name)
    if sku == "PremiumV2_LRS":
        _within("disk.diskSizeGB", size, 1, 65536)
        iops, mbps = given.get("diskIOPSReadWrite", 3000), given.get("diskMBpsReadWrite", 125)
        _within("disk.diskIOPSReadWrite", iops, 3000, min(80000, max(3000, 500 * size)))
        _within("disk.diskMBpsReadWrite", mbps, 125, min(2000, max(125, math.floor(iops / 4))))
        return {"diskIOPSReadWrite": iops, "diskMBpsReadWrite": mbps}
    _within("disk.diskSizeGB", size, 4, 65536)
    most = min(400_000, 1000 * size)
    iops = given.get("diskIOPSReadWrite", min(most, 500))
    mbps = given.get("diskMBpsReadWrite", 8)
    _within("disk.diskIOPSReadWrite", iops, 100, most)
    _within("disk.diskMBpsReadWrite", mbps, 1, min(10_000, max(1, math.floor(iops / 4))))
    return {"diskIOPSReadWrite": iops, "diskMBpsReadWrite": mbps}


def _within(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise Refusal(
            "InvalidParameter",
            f"The value of parameter '{name}' is out of range. The value '{value}' must be between "
            f"'{low}' and '{high}', inclusive.",
            target=name,
        )
