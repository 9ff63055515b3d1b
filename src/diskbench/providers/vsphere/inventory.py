"""The machines of one lease or of all leases, listed by their notes and never remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.ours import Which
from diskbench.plan.rent_options import field_of
from diskbench.providers.skeleton.leases import Tagged, by_lease
from diskbench.providers.vsphere.marks import Mark, mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.rental import Found, Scope
    from diskbench.providers.vsphere.client import Item, Vsphere, VsphereSessions
    from diskbench.providers.vsphere.timing import VsphereTiming

PATHS = ("name", "config.annotation", "config.template", "runtime.powerState")


@dataclass(frozen=True)
class VsphereMachine:
    """A machine of a lease."""

    item: Item
    mark: Mark

    @property
    def kind_and_id(self) -> str:
        """Kind and id: `machine vm-53`."""
        return f"machine {self.item.id}"

    @property
    def is_on(self) -> bool:
        """Whether it is switched on."""
        return str(self.item.values.get("runtime.powerState")) == "poweredOn"


def machines(vsphere: Vsphere, which: Which | None = None) -> tuple[VsphereMachine, ...]:
    """The machines of one lease, or of all leases, in the whole inventory: a renamed datacenter
    would look like an empty one. Raises diskbench's errors."""
    listed = []
    for item in vsphere.listed("VirtualMachine", PATHS):
        marked = mark(item.values.get("config.annotation"))
        if marked is None or (which is not None and marked.lease_id != which.lease_id):
            continue
        machine = VsphereMachine(item, marked)
        if which is None or which.takes(item.name, machine.kind_and_id):
            listed.append(machine)
    return tuple(sorted(listed, key=lambda machine: (len(machine.item.id), machine.item.id)))


def found_leases(sessions: VsphereSessions, scope: Scope, timing: VsphereTiming) -> Sequence[Found]:
    """See ports.Renter.found."""
    return by_lease(
        scope,
        (
            Tagged(
                lease_id=machine.mark.lease_id,
                told=machine.kind_and_id,
                name=machine.item.name,
                expires_at=machine.mark.expires_at,
                owner=machine.mark.owner,
            )
            for machine in machines(sessions.of_scope(scope, timing))
        ),
    )


def why_gone(
    lease_id: str, sessions: VsphereSessions, scope: Scope, timing: VsphereTiming
) -> str | None:
    """The reason why the lease's machine is gone; None while it may answer. Raises diskbench's
    errors."""
    listed = machines(sessions.of_scope(scope, timing), Which(lease_id))
    if not listed:
        return f"vSphere lists no machine of lease {lease_id}"
    if not any(machine.is_on for machine in listed):
        return f"{listed[-1].kind_and_id} is {listed[-1].item.values.get('runtime.powerState')}"
    return None


def named_or_only(kind: str, items: Sequence[Item], typed: str | None) -> Item:
    """The named object, or the only one. Raises UnknownName, or InvalidValue for several."""
    flag = f"--{kind.replace(' ', '-')}"
    if typed is not None:
        matches = [item for item in items if typed in {item.name, item.id}]
        if not matches:
            raise UnknownName(kind, typed, [item.name for item in items], field=field_of(flag))
        if len(matches) > 1:
            ids = ", ".join(item.id for item in matches)
            raise InvalidValue(
                f"{len(matches)} of the {kind}s are called {typed!r}",
                advice=f"name one by id: {ids}",
                field=field_of(flag),
            )
        return matches[0]
    if len(items) == 1:
        return items[0]
    if not items:
        raise InvalidValue(
            f"this vSphere user sees no {kind}",
            advice="look at the permissions of the user; docs/vsphere.md lists them",
        )
    raise InvalidValue(
        f"more than one {kind}: {', '.join(sorted(item.name for item in items))}",
        advice=f"name one with {flag}",
    )
