"""A cloud's tagged resources grouped by lease: those made for the lease, and others that carry
its tag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.model.rental import Found, is_named_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from diskbench.model.rental import Scope


@dataclass(frozen=True)
class Tagged:
    """A resource that carries the tag of a lease: `told` is its kind and id (`volume vol-0abc`).
    `expires_at` (Unix seconds) and `owner` come from its tags, None where absent."""

    lease_id: str
    told: str
    name: str | None
    expires_at: float | None = None
    owner: str | None = None

    @property
    def is_named_so(self) -> bool:
        """Whether its name is one that diskbench gives to resources of its lease."""
        return is_named_for(self.lease_id, self.name)


def by_lease(scope: Scope, tagged: Iterable[Tagged]) -> list[Found]:
    """The leases with any resource, sorted. Expiry and owner come from resources made for the
    lease: a copy of the tags prolongs nothing."""
    leases: dict[str, list[Tagged]] = {}
    for resource in tagged:
        leases.setdefault(resource.lease_id, []).append(resource)
    listed = []
    for lease_id, resources in sorted(leases.items()):
        ours = [resource for resource in resources if resource.is_named_so]
        ends = [resource.expires_at for resource in ours if resource.expires_at is not None]
        listed.append(
            Found(
                lease_id=lease_id,
                scope=scope,
                expires_at=max(ends, default=None),
                owner=next((resource.owner for resource in ours if resource.owner), None),
                resources=tuple(resource.told for resource in ours),
                not_ours=tuple(resource.told for resource in resources if not resource.is_named_so),
            )
        )
    return listed
