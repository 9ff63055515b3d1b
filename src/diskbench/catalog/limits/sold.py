"""Checks of a disk's size and of its bought figures against what a cloud sells; each raises
InvalidValue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue

if TYPE_CHECKING:
    from diskbench.catalog.limits.sourced_figures import RatioLimit


def check_ratio(
    ratio: RatioLimit | None,
    name: str,
    quantity: str,
    value: float | None,
    size_gib: float,
    iops: float | None,
) -> None:
    """Refuse a bought `value` that is not sold with this size or with these IOPS."""
    if ratio is None or value is None or value <= ratio.free:
        return
    if ratio.max_per_gib is not None and value > ratio.max_per_gib * size_gib:
        raise InvalidValue(
            f"{name}: {value:,g} {quantity} on {size_gib:g} GiB is {value / size_gib:,.4g} per GiB",
            advice=f"at most {ratio.max_per_gib:g} per GiB: "
            f"{ratio.max_per_gib * size_gib:,.0f} for this size",
            field=quantity.lower(),
        )
    if ratio.max_per_iops is not None and iops and value > ratio.max_per_iops * iops:
        raise InvalidValue(
            f"{name}: a {quantity} of {value:,g} is too much for {iops:,g} IOPS",
            advice=f"at most {ratio.max_per_iops:g} per IOPS: {ratio.max_per_iops * iops:,.0f}",
            field=quantity.lower(),
        )


def refuse_given(name: str, field: str, value: float | None) -> None:
    """Refuse a figure of a type that does not provision it."""
    if value is not None:
        raise InvalidValue(
            f"{name} takes no --{field}: its performance follows from type and size",
            advice=f"leave --{field} out, or choose a type that provisions it",
            field=field,
        )


def check_within(
    name: str, quantity: str, value: float, low: float, high: float, unit: str, *, field: str
) -> None:
    """Refuse a value outside what is sold."""
    if not low <= value <= high:
        raise InvalidValue(
            f"{name}: {quantity} {value:,g} {unit} is not sold",
            advice=f"it goes from {low:,g} to {high:,g} {unit}",
            field=field,
        )
