"""`--provider vsphere` as the engine uses it."""

from __future__ import annotations

from collections.abc import Sequence

from diskbench.catalog.books import Books
from diskbench.model.ours import Which
from diskbench.model.rental import Claim, LeaseEnd, Rental, Scope
from diskbench.model.spec import Cell
from diskbench.ports import Host, RentWatch
from diskbench.providers.keys import lease_keys
from diskbench.providers.skeleton.cloud import CloudCalls, CloudProvider
from diskbench.providers.skeleton.leases import giving_back
from diskbench.providers.vsphere.attach import swapped
from diskbench.providers.vsphere.client import VsphereSessions, VsphereTiming
from diskbench.providers.vsphere.disk_request import (
    VsphereDiskRequest,
    VsphereResolved,
    disk_request,
)
from diskbench.providers.vsphere.doctor import examine, present, rehearse
from diskbench.providers.vsphere.handover import hand_over
from diskbench.providers.vsphere.inventory import found_leases, why_gone
from diskbench.providers.vsphere.login import server_of
from diskbench.providers.vsphere.lookup import resolve_details
from diskbench.providers.vsphere.offer import foresee, rental
from diskbench.providers.vsphere.options import VsphereOptions
from diskbench.providers.vsphere.policy import policy
from diskbench.providers.vsphere.provision import VsphereOrder, provision
from diskbench.providers.vsphere.teardown import extend, release
from diskbench.providers.waits import while_looking

_TIMING = VsphereTiming()


_CALLS: CloudCalls[VsphereSessions, VsphereTiming, VsphereDiskRequest, VsphereOrder] = CloudCalls(
    disk_request=disk_request,
    rented=lambda order: hand_over(order, provision(order)),
    swapped=lambda order: hand_over(order, swapped(order)),
    found=found_leases,
    present=present,
    examine=examine,
    rehearse=rehearse,
    why_gone=why_gone,
    policy=policy,
)


class VsphereProvider(
    CloudProvider[VsphereSessions, VsphereTiming, VsphereDiskRequest, VsphereOrder]
):
    """Machines of a vSphere installation, with a virtual disk on the datastore to measure. vSphere
    has neither prices nor quotas of an account."""

    name = "vsphere"

    def __init__(self, timing: VsphereTiming = _TIMING) -> None:
        super().__init__(VsphereSessions(), timing, _CALLS)

    def resolve(self, cell: Cell, books: Books) -> Rental:  # noqa: ARG002 - it has no prices
        """See ports.Renter.resolve."""
        spec, requested = self._requested(cell)
        server = server_of(spec)
        with while_looking():
            vsphere = self.sessions.at(server, self.timing.for_reading())
            details = resolve_details(vsphere, server, VsphereOptions.of(spec), requested)
            installation = str(vsphere.content.about.instanceUuid)
        return rental(spec, details, server, installation, cell.promise)

    def foresee(self, cell: Cell, books: Books) -> Rental:  # noqa: ARG002 - it has no prices
        """See ports.Foresees."""
        return foresee(*self._requested(cell), cell.promise)

    def check_swap(self, cell: Cell) -> None:
        """See ports.SwapsDisks.check_swap: every disk is virtual and can be swapped."""

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
