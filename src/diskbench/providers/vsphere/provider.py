"""`--provider vsphere` as the engine uses it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.model.ours import Which
from diskbench.model.rental import Rental
from diskbench.providers.emulation import EmulationOptions
from diskbench.providers.keys import lease_keys
from diskbench.providers.listed import Tagged, by_lease
from diskbench.providers.skeleton.release import giving_back
from diskbench.providers.unanswered import while_looking
from diskbench.providers.vsphere.client import VsphereSessions
from diskbench.providers.vsphere.disk_request import wanted
from diskbench.providers.vsphere.examine import examine, present
from diskbench.providers.vsphere.extend import extend
from diskbench.providers.vsphere.handover import hand_over
from diskbench.providers.vsphere.inventory import machines
from diskbench.providers.vsphere.login import server_of
from diskbench.providers.vsphere.lookup import resolve_details
from diskbench.providers.vsphere.offer import lab_words, rental
from diskbench.providers.vsphere.offline import foresee
from diskbench.providers.vsphere.options import VsphereOptions
from diskbench.providers.vsphere.provision import VsphereOrder, provision
from diskbench.providers.vsphere.rehearse import rehearse
from diskbench.providers.vsphere.resolved import VsphereResolved
from diskbench.providers.vsphere.rights import policy
from diskbench.providers.vsphere.swap import swapped
from diskbench.providers.vsphere.teardown import release
from diskbench.providers.vsphere.timing import VsphereTiming

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from diskbench.catalog.books import Books
    from diskbench.model.disk import Acquired
    from diskbench.model.finding import Finding
    from diskbench.model.rental import Claim, Found, LeaseEnd, Scope
    from diskbench.model.spec import Cell
    from diskbench.ports import Host, RentWatch

_TIMING = VsphereTiming()


class VsphereProvider:
    """Machines of a vSphere installation, with a virtual disk on the datastore to measure."""

    name = "vsphere"

    def __init__(self, timing: VsphereTiming = _TIMING) -> None:
        self.timing = timing
        self.sessions = VsphereSessions()

    def check(self, cell: Cell) -> None:
        """See ports.Provider.check."""
        wanted(cell.rent)

    def resolve(self, cell: Cell, books: Books) -> Rental:  # noqa: ARG002 - it has no prices
        """See ports.Renter.resolve."""
        spec = cell.rent
        asked = wanted(spec)
        assert spec is not None, "wanted() refuses a cell that rents nothing"
        server = server_of(spec)
        with while_looking():
            vsphere = self.sessions.at(server, self.timing.looking())
            details = resolve_details(vsphere, server, VsphereOptions.of(spec), asked)
            installation = str(vsphere.content.about.instanceUuid)
        return rental(spec, details, server, installation, cell.promise)

    def foresee(self, cell: Cell, books: Books) -> Rental:  # noqa: ARG002 - it has no prices
        """See ports.Foresees."""
        asked = wanted(cell.rent)
        assert cell.rent is not None, "wanted() refuses a cell that rents nothing"
        return foresee(cell.rent, asked, cell.promise)

    def acquire(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        """See ports.Renter.acquire."""
        order = self._order(claim, rental, watch)
        return hand_over(order, provision(order))

    def check_swap(self, cell: Cell) -> None:
        """See ports.SwapsDisks.check_swap: every disk is virtual and can be swapped."""

    def swap(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        """See ports.SwapsDisks.swap."""
        order = self._order(claim, rental, watch)
        return hand_over(order, swapped(order))

    def _order(self, claim: Claim, rental: Rental, watch: RentWatch) -> VsphereOrder:
        details = VsphereResolved.model_validate(rental.details)
        return VsphereOrder(
            vsphere=self.sessions.of_scope(rental.scope, self.timing, watch),
            claim=claim,
            spec=rental.spec,
            details=details,
            keys=lease_keys(watch.secret(), claim.lease_id),
            watch=watch,
            timing=self.timing,
            lab=lab_words(EmulationOptions.of(rental.spec)) if details.emulated else "",
        )

    def release(
        self,
        lease_id: str,
        scope: Scope,
        *,
        made: Sequence[str] = (),
        copied: Sequence[str] = (),
    ) -> None:
        """See ports.Renter.release."""
        with giving_back(lease_id):
            vsphere = self.sessions.of_scope(scope, self.timing)
            release(vsphere, Which(lease_id, made, copied), self.timing)

    def extend(
        self, lease_id: str, scope: Scope, end: LeaseEnd, guest: Host, made: Sequence[str] = ()
    ) -> None:
        """See ports.ExtendsLeases."""
        vsphere = self.sessions.of_scope(scope, self.timing)
        extend(vsphere, Which(lease_id, made), self.timing, end, guest)

    def found(self, scope: Scope) -> Sequence[Found]:
        """See ports.Renter.found."""
        with while_looking():
            found = machines(self.sessions.of_scope(scope, self.timing.looking()))
        return by_lease(
            scope,
            (
                Tagged(
                    lease_id=machine.mark.lease_id,
                    told=machine.told,
                    name=machine.item.name,
                    expires_at=machine.mark.expires_at,
                    owner=machine.mark.owner,
                )
                for machine in found
            ),
        )

    def present(self, scope: Scope) -> datetime:
        """See ports.TellsTime."""
        with while_looking():
            return present(self.sessions.of_scope(scope, self.timing.looking()))

    def examine(self, scope: Scope) -> Sequence[Finding]:
        """See ports.Examinable.examine. vSphere has no quotas of an account."""
        return examine(lambda: self.sessions.of_scope(scope, self.timing.looking()))

    def rehearse(self, rental: Rental) -> Sequence[Finding]:
        """See ports.Rehearses.rehearse."""
        details = VsphereResolved.model_validate(rental.details)
        return rehearse(self.sessions.of_scope(rental.scope, self.timing.looking()), details)

    def policy(self) -> str:
        """See ports.Governed.policy: a list of privileges."""
        return policy()

    def close(self) -> None:
        """See ports.KeepsSessions."""
        self.sessions.close()

    def gone(self, lease_id: str, scope: Scope) -> str | None:
        """See ports.Renter.gone. An unanswered call does not count as a lost machine."""
        with contextlib.suppress(DiskbenchError):
            vsphere = self.sessions.of_scope(scope, self.timing.looking())
            listed = machines(vsphere, Which(lease_id))
            if not listed:
                return f"vSphere lists no machine of lease {lease_id}"
            if not any(machine.is_on for machine in listed):
                return f"{listed[-1].told} is {listed[-1].item.values.get('runtime.powerState')}"
        return None
