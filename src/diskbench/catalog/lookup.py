"""The limits of one disk: what a cloud promises for a type, a size and provisioned figures; the
promise in one line for a person; and the checks of a size and of bought figures against what is
sold.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from diskbench.catalog.bucket import (
    NO_RULE,
    OWN_ACCOUNTING,
    Allowance,
    IoAccounting,
    SharedLimits,
    lasts_s,
    of_duration,
    scaled,
)
from diskbench.catalog.shipped import Catalogue, DiskEntry, catalogue
from diskbench.catalog.sourced_figures import (
    FigureSource,
    LatencyFigure,
    Place,
    Quantity,
    RatioLimit,
    TimeShare,
)
from diskbench.errors import InvalidValue
from diskbench.model.rental import CUSTOM
from diskbench.units import KIB, MIB, format_duration_s, format_iops, format_mb_per_s

Bought = float | None
"""A provisioned figure; None: as the type has it by default."""


@dataclass(frozen=True)
class DiskLimits:
    """The limits of one disk. `accounting` is the rule by which its requests are counted. `pools`
    is empty if the catalogue has no figure. `sources` are the sources of all figures. `merges`: the
    cloud merges small sequential requests. `write_latency` is that of writes if it differs, `hit`
    that of the machine's host cache. `place` is where the disk is,
    `time_share` for how much of the time it is made to keep them. `until` is the last day of which
    they are known to hold, of limits that were replaced since.
    """

    disk_type: str
    size_gib: float
    pools: tuple[SharedLimits, ...]
    accounting: IoAccounting = NO_RULE
    tier: str | None = None
    sources: tuple[FigureSource, ...] = ()
    merges: bool = False
    latency: LatencyFigure | None = None
    write_latency: LatencyFigure | None = None
    hit: LatencyFigure | None = None
    place: Place = "network"
    until: str | None = None
    time_share: TimeShare | None = None

    @property
    def merges_to(self) -> int | None:
        """The largest request that the cloud makes of several in sequence; None where it says
        nothing of merging."""
        return self.accounting.max_io_bytes if self.merges else None


def disk_types(cloud: str) -> tuple[str, ...]:
    """Return the names of a cloud's disk types, in the catalogue's order. Raises UnknownName."""
    return tuple(catalogue(cloud).disks)


def limits(
    cloud: str, disk_type: str, size_gib: float, iops: Bought = None, throughput: Bought = None
) -> DiskLimits:
    """Return the limits of a disk; `throughput` is in the unit in which the type is sold.

    Raises UnknownName for a cloud or type that does not exist, InvalidValue with the allowed range
    for a size, IOPS, throughput or ratio that is not sold.
    """
    return limits_of(catalogue(cloud), disk_type, size_gib, iops, throughput)


def dated_limits(
    cloud: str, disk_type: str, size_gib: float, *bought: Bought, day: str | None
) -> tuple[DiskLimits, ...]:
    """Return the limits that a disk may have had on a day (`2018-03-16`), the latest first: one
    if the catalogue's dates decide, else all that fit; all versions without a day. Raises as
    `limits` does."""
    book = catalogue(cloud)
    versions, refused = [], None
    for version in book.disk(disk_type).versions(day):
        dated = book.model_copy(update={"disks": {**book.disks, disk_type: version}})
        try:
            versions.append(limits_of(dated, disk_type, size_gib, *bought))
        except InvalidValue as error:  # what is sold today was not sold then
            refused = refused or error
    if not versions and refused is not None:
        raise refused
    return tuple(versions)


def custom_limits(
    size_gib: float, iops: Bought = None, mib_per_s: Bought = None, io_kib: int | None = None
) -> DiskLimits:
    """Return the limits of a disk in no catalogue (`CUSTOM`): only those given. `io_kib` is the
    largest request that counts as one I/O; None: that of OWN_ACCOUNTING."""
    rate = Allowance(mib_per_s * MIB) if mib_per_s else None
    pool = SharedLimits("both", Allowance(iops) if iops else None, rate)
    accounting = IoAccounting(io_kib * KIB) if io_kib else OWN_ACCOUNTING
    return DiskLimits(CUSTOM, size_gib, (pool,), accounting)


def limits_of(
    book: Catalogue, disk_type: str, size_gib: float, iops: Bought = None, throughput: Bought = None
) -> DiskLimits:
    """Return the same as `limits`, from a given catalogue."""
    disk = book.disk(disk_type)
    if (sold := disk.size_gib) is not None:
        check_within(disk_type, "size", size_gib, sold.min, sold.max, "GiB", field="size")
    pools, tier = (
        _tier_pools(disk, disk_type, size_gib, iops, throughput)
        if disk.tiers is not None
        else (_pools(disk, disk_type, size_gib, iops, throughput), None)
    )
    accounting = disk.accounting
    return DiskLimits(
        disk_type=disk_type,
        size_gib=size_gib,
        pools=pools,
        accounting=accounting.rule() if accounting else NO_RULE,
        tier=tier,
        sources=tuple(book.sources[key] for key in disk.sources()),
        merges=bool(accounting and accounting.merges),
        latency=_latency(book, disk.latency),
        write_latency=_latency(book, disk.write_latency),
        hit=_latency(book, book.disks[book.host_cache].latency) if book.host_cache else None,
        place=disk.place,
        until=disk.until,
        time_share=disk.time_share,
    )


def _latency(book: Catalogue, figure: LatencyFigure | None) -> LatencyFigure | None:
    if figure is None:
        return None
    return figure.model_copy(update={"source": book.sources[figure.source].words()})


def _tier_pools(
    disk: DiskEntry, name: str, size_gib: float, iops: float | None, throughput: float | None
) -> tuple[tuple[SharedLimits, ...], str]:
    assert disk.tiers is not None
    refuse_given(name, iops=iops, throughput=throughput)
    row, unit = disk.tiers.row(size_gib), disk.tiers.unit_bytes
    seconds = disk.tier_burst.duration_s if disk.tier_burst else 0.0
    pool = SharedLimits(
        "both",
        of_duration(row.iops, row.burst_iops, seconds),
        of_duration(row.throughput * unit, (row.burst_throughput or 0) * unit or None, seconds),
    )
    return (pool,), row.name


def _pools(
    disk: DiskEntry, name: str, size_gib: float, iops: float | None, throughput: float | None
) -> tuple[SharedLimits, ...]:
    if disk.iops is None and disk.throughput is None:
        refuse_given(name, iops=iops, throughput=throughput)
        return ()
    asked = _asked(disk.throughput, disk.throughput_ratio, name, "throughput", size_gib, throughput)
    operations = _iops(disk, name, size_gib, iops, asked)
    check_ratio(disk.iops_ratio, name, "IOPS", iops, size_gib, operations)
    check_ratio(disk.throughput_ratio, name, "throughput", throughput, size_gib, operations)
    reads = SharedLimits(
        "read" if disk.apart else "both",
        _ranged(_allowance(operations, disk.iops_burst, size_gib), disk.iops),
        _throughput(disk.throughput, disk.throughput_burst, size_gib, asked, operations),
    )
    if not disk.apart:
        return (reads,)
    write_iops = disk.write_iops.value(size_gib) if disk.write_iops else operations
    written = disk.write_throughput or disk.throughput
    writes = SharedLimits(
        "write",
        _allowance(write_iops, disk.iops_burst, size_gib),
        _throughput(written, disk.throughput_burst, size_gib, asked, write_iops),
    )
    return (reads, writes)


def _iops(
    disk: DiskEntry, name: str, size_gib: float, iops: float | None, throughput: float | None
) -> float | None:
    if disk.iops is None:
        refuse_given(name, iops=iops)
        return None
    asked = _asked(disk.iops, disk.iops_ratio, name, "iops", size_gib, iops)
    return asked if asked is not None else disk.iops.value(size_gib, throughput)


def _asked(
    quantity: Quantity | None, ratio: RatioLimit | None, name: str, field: str, size_gib: float,
    value: Bought,
) -> float | None:  # fmt: skip
    """Return the provisioned value: as requested, or the default; None if the type has none."""
    if quantity is None or not quantity.provisioned:
        refuse_given(name, **{field: value})
        return None
    assert quantity.min is not None
    assert quantity.max is not None
    low, high = quantity.min, quantity.max
    least, most = ratio.range(low, high, size_gib) if ratio else (low, high)
    default = quantity.default_value(size_gib)
    chosen = value if value is not None or default is None else min(most, max(least, default))
    if chosen is None:
        sold = f"give a value from {least:,g} to {most:,g}"
        raise InvalidValue(f"{name} needs --{field}", advice=sold, field=field)
    # A value above the ratio is left to check_ratio, which names it.
    check_within(name, f"--{field}", chosen, least, high, quantity.unit or "IOPS", field=field)
    return chosen


def _throughput(
    quantity: Quantity | None, burst: Quantity | None, size_gib: float, asked: Bought, iops: Bought
) -> Allowance | None:
    if quantity is None:
        return None
    value = asked if asked is not None else quantity.value(size_gib, iops)
    return _ranged(_allowance(value * quantity.unit_bytes, burst, size_gib), quantity)


def _allowance(baseline: float | None, burst: Quantity | None, size_gib: float) -> Allowance | None:
    if baseline is None:
        return None
    ceiling = burst.value(size_gib) * burst.unit_bytes if burst else baseline
    if burst is None or ceiling <= baseline:
        return Allowance(baseline)
    capacity = burst.capacity_value(size_gib)
    # A throughput bucket is counted in MiB, whatever the unit's own megabyte is called.
    return Allowance(baseline, ceiling, capacity and capacity * burst.unit_bytes)


def _ranged(allowance: Allowance | None, quantity: Quantity | None) -> Allowance | None:
    if allowance is None or quantity is None or quantity.range is None:
        return allowance
    least, most = quantity.range
    unit = quantity.unit_bytes
    return replace(allowance, least=least * unit, most=most * unit)


def promise(limits: DiskLimits, time_scale: float = 1.0) -> str:
    """`100 IOPS, bursts to 3,000 for 31 min; 134 MB/s`, or "" where the catalogue knows no figure.

    The time is that of a full burst from a full bucket, C / (burst - baseline)
    (catalog/bucket.py), divided by `time_scale`. Limits that reads and writes have apart
    are named so.
    """
    parts = []
    for pool in limits.pools:
        kind = "" if pool.covers == "both" else f" {pool.covers}"
        sides = ((pool.iops, format_iops, "IOPS"), (pool.bytes_per_s, format_mb_per_s, "MB/s"))
        for allowance, shown, unit in sides:
            if allowance is not None:
                burst = burst_words(scaled(allowance, time_scale=time_scale), shown)
                parts.append(f"{shown(allowance.baseline)} {unit}{burst}{kind}")
    return "; ".join(parts)


def burst_words(allowance: Allowance, shown: Callable[[float], str]) -> str:
    """`, bursts to 3,000 for 31 min`; empty without a burst."""
    if allowance.ceiling <= allowance.baseline:
        return ""
    seconds = lasts_s(allowance)
    lasts = f" for {format_duration_s(seconds)}" if seconds else ""
    return f", bursts to {shown(allowance.ceiling)}{lasts}"


def check_ratio(
    ratio: RatioLimit | None, name: str, quantity: str, value: Bought, size_gib: float, iops: Bought
) -> None:
    """Refuse a bought `value` that is not sold with this size or with these IOPS."""
    if ratio is None or value is None or value <= ratio.free:
        return
    if ratio.max_per_gib is not None and value > (most := ratio.max_per_gib * size_gib):
        raise InvalidValue(
            f"{name}: {value:,g} {quantity} on {size_gib:g} GiB is {value / size_gib:,.4g} per GiB",
            advice=f"at most {ratio.max_per_gib:g} per GiB: {most:,.0f} for this size",
            field=quantity.lower(),
        )
    if ratio.max_per_iops is not None and iops and value > ratio.max_per_iops * iops:
        raise InvalidValue(
            f"{name}: a {quantity} of {value:,g} is too much for {iops:,g} IOPS",
            advice=f"at most {ratio.max_per_iops:g} per IOPS: {ratio.max_per_iops * iops:,.0f}",
            field=quantity.lower(),
        )


def refuse_given(name: str, **figures: float | None) -> None:
    """Refuse figures of a type that does not provision them."""
    for field in [field for field, value in figures.items() if value is not None]:
        raise InvalidValue(
            f"{name} does not accept --{field}: type and size set its performance",
            advice=f"leave --{field} out, or choose a type with provisioned {field}",
            field=field,
        )


def check_within(
    name: str, quantity: str, value: float, low: float, high: float, unit: str, *, field: str
) -> None:
    """Refuse a value outside what is sold."""
    if not low <= value <= high:
        sold = f"is available from {low:,g} to {high:,g}" if low < high else f"has {low:,g}"
        raise InvalidValue(
            f"{name}: {quantity} {value:,g} {unit} is too {'small' if value < low else 'large'}",
            advice=f"{name} {sold} {unit}",
            field=field,
        )
