"""What a cloud lists under the tags of leases, by lease: what was made for it, and what was not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.model.ours import is_named_for
from diskbench.model.rental import Found

if TYPE_CHECKING:
    from collections.abc import Iterable

    from diskbench.model.rental import Scope


@dataclass(frozen=True)
class Tagged:
    """Something that carries the tag of a lease: `told` is `kind id`, `name` what it is called.
    `expires_at` (Unix seconds) and `owner` are what its tags say, None where they do not."""

    lease_id: str
    told: str
    name: str | None
    expires_at: float | None = None
    owner: str | None = None

    @property
    def is_named_so(self) -> bool:
        """Whether it has the name of a thing of its lease."""
        return is_named_for(self.lease_id, self.name)


def by_lease(scope: Scope, things: Iterable[Tagged]) -> list[Found]:
    """The leases of which there is anything, sorted. Their expiry and owner are those of what was
    made for them: a copy of the tags prolongs nothing."""
    leases: dict[str, list[Tagged]] = {}
    for one in things:
        leases.setdefault(one.lease_id, []).append(one)
    found = []
    for lease_id, held in sorted(leases.items()):
        ours = [one for one in held if one.is_named_so]
        ends = [one.expires_at for one in ours if one.expires_at is not None]
        found.append(
            Found(
                lease_id=lease_id,
                scope=scope,
                expires_at=max(ends, default=None),
                owner=next((one.owner for one in ours if one.owner), None),
                resources=tuple(one.told for one in ours),
                not_ours=tuple(one.told for one in held if not one.is_named_so),
            )
        )
    return found
