"""Zones in turn: the next one is tried where one has no capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from diskbench.errors import NoCapacity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from diskbench.ports import RentWatch

Z = TypeVar("Z")
T = TypeVar("T")


def zones_from(zones: Sequence[Z], held: Z | None) -> Sequence[Z]:
    """The zones to try: from `held` on, where the lease has a machine already."""
    return zones[zones.index(held) :] if held is not None and held in zones else zones


def in_first_with_capacity(
    zones: Sequence[Z],
    rent: Callable[[Z], T],
    undo: Callable[[], None],
    watch: RentWatch,
    *,
    region: str,
    name: Callable[[Z], str] = str,
) -> T:
    """What `rent` makes in the first zone that has capacity. `undo` takes back what a zone without
    capacity had given so far; `name` is how a person calls a zone.

    Raises NoCapacity with the answer of each zone when none has any.
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
