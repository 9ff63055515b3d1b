"""Zones in turn: the next zone is tried where one lacks capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from diskbench.errors import NoCapacity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from diskbench.ports import RentWatch

Z = TypeVar("Z")
T = TypeVar("T")


def zones_from(zones: Sequence[Z], held_zone: Z | None) -> Sequence[Z]:
    """The zones to try: from `held_zone` on, the zone where the lease has a machine already."""
    return (
        zones[zones.index(held_zone) :] if held_zone is not None and held_zone in zones else zones
    )


def in_first_with_capacity(
    zones: Sequence[Z],
    rent: Callable[[Z], T],
    undo: Callable[[], None],
    watch: RentWatch,
    *,
    region: str,
    name: Callable[[Z], str] = str,
) -> T:
    """The result of `rent` in the first zone with capacity. `undo` deletes what was made in a zone
    that then lacked capacity; `name` is a zone's name in messages.

    Raises NoCapacity with the answer of each zone when all lack capacity.
    """
    refused: list[str] = []
    for position, zone in enumerate(zones):
        try:
            return rent(zone)
        except NoCapacity as error:
            refused.append(f"{name(zone)}: {error.message}")
            following = [f"; trying {name(after)}" for after in zones[position + 1 : position + 2]]
            watch.note(f"no capacity in {name(zone)}{''.join(following)}")
            undo()
    raise NoCapacity(
        f"no zone of {region} has capacity: {'; '.join(refused) or 'it has no zone to rent in'}",
        advice="try another --zone, --region or --instance-type, or later",
    )
