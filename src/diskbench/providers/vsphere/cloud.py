"""`--provider vsphere` as the engine uses it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from diskbench.catalog.books import Books
from diskbench.model.finding import Finding
from diskbench.model.rental import Acquired, Claim, Found, LeaseEnd, Rental, Scope, Which
from diskbench.model.spec import Cell
from diskbench.ports import Host, RentWatch
from diskbench.providers.keys import lease_keys
from diskbench.providers.skeleton.cloud import CloudProvider, requested_disk
from diskbench.providers.skeleton.doctor import reported_time
from diskbench.providers.skeleton.leases import Tagged, by_lease, giving_back
from diskbench.providers.vsphere.attach import swapped
from diskbench.providers.vsphere.client import VsphereSessions, VsphereTiming
from diskbench.providers.vsphere.disk_request import VsphereResolved, disk_request
from diskbench.providers.vsphere.doctor import examine, policy, rehearse
from diskbench.providers.vsphere.handover import hand_over
from diskbench.providers.vsphere.inventory import attribute_keys, machines
from diskbench.providers.vsphere.login import server_of
from diskbench.providers.vsphere.lookup import resolve_details
from diskbench.providers.vsphere.offer import foresee, rental
from diskbench.providers.vsphere.plugin import VsphereOptions
from diskbench.providers.vsphere.provision import VsphereOrder, provision
from diskbench.providers.vsphere.teardown import extend, release
from diskbench.providers.waits import while_looking

_TIMING = VsphereTiming()


class VsphereProvider(CloudProvider[VsphereSessions, VsphereTiming]):
    """Machines of a vSphere installation, with a virtual disk on the datastore to measure. vSphere
    has neither prices nor quotas of an account."""

    name = "vsphere"

    def __init__(self, timing: VsphereTiming = _TIMING) -> None:
        super().__init__(VsphereSessions(), timing)

    def check(self, cell: Cell) -> None:
        disk_request(cell.rent)

    def resolve(self, cell: Cell, books: Books) -> Rental:  # noqa: ARG002 - it has no prices
        spec, requested = requested_disk(cell, disk_request)
        server = server_of(spec)
        with while_looking():
            vsphere = self.sessions.at(server, self.reading)
            attribute_keys(vsphere, spec.tags)
            details = resolve_details(vsphere, server, VsphereOptions.of(spec), requested)
            installation = str(vsphere.content.about.instanceUuid)
        return rental(spec, details, server, installation, cell.promise)

    def foresee(self, cell: Cell, books: Books) -> Rental:  # noqa: ARG002 - it has no prices
        return foresee(*requested_disk(cell, disk_request), cell.promise)

    def acquire(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        order = self._order(claim, rental, watch)
        return hand_over(order, provision(order))

    def check_swap(self, cell: Cell) -> None:
        """Every disk is virtual and can be swapped."""

    def swap(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
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
        )

    @while_looking()
    def found(self, scope: Scope) -> Sequence[Found]:
        listed = machines(self.sessions.of_scope(scope, self.reading))
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
                for machine in listed
            ),
        )

    @while_looking()
    def present(self, scope: Scope) -> datetime:
        vsphere = self.sessions.of_scope(scope, self.reading)
        cloud_time = vsphere.call("CurrentTime", vsphere.instance.CurrentTime)
        return reported_time("vsphere", cloud_time.astimezone(UTC))

    def _why_gone(self, lease_id: str, scope: Scope) -> str | None:
        listed = machines(self.sessions.of_scope(scope, self.reading), Which(lease_id))
        if not listed:
            return f"vSphere lists no machine of lease {lease_id}"
        if not any(machine.is_on for machine in listed):
            return f"{listed[-1].kind_and_id} is {listed[-1].item.values.get('runtime.powerState')}"
        return None

    def examine(self, scope: Scope) -> Sequence[Finding]:
        return examine(self.sessions, scope, self.reading)

    def rehearse(self, rental: Rental) -> Sequence[Finding]:
        return rehearse(self.sessions, rental, self.reading)

    def release(
        self, lease_id: str, scope: Scope, *, made: Sequence[str] = (), copied: Sequence[str] = ()
    ) -> None:
        with giving_back(lease_id):
            vsphere = self.sessions.of_scope(scope, self.timing)
            release(vsphere, Which(lease_id, made, copied), self.timing)

    def extend(
        self, lease_id: str, scope: Scope, end: LeaseEnd, guest: Host, made: Sequence[str] = ()
    ) -> None:
        vsphere = self.sessions.of_scope(scope, self.timing)
        extend(vsphere, Which(lease_id, made), self.timing, end, guest)

    def policy(self, region: str | None = None) -> str:  # noqa: ARG002 - one for all regions
        return policy()
