"""`--provider gcp` as the engine uses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from diskbench.catalog.books import Books
from diskbench.catalog.overlay import Overlay
from diskbench.model.finding import Quota
from diskbench.model.ours import Which
from diskbench.model.rental import Claim, Rental, Scope
from diskbench.model.spec import Cell
from diskbench.ports import RentWatch
from diskbench.providers.asked import check_shared_machine, provisioned_types
from diskbench.providers.gcp.attach import swapped
from diskbench.providers.gcp.client import GceTiming, GcpSessions
from diskbench.providers.gcp.disk_request import GcpDiskRequest, GcpResolved, disk_request
from diskbench.providers.gcp.doctor import examine, present, quotas, rehearse
from diskbench.providers.gcp.handover import hand_over
from diskbench.providers.gcp.lookup import resolve_details
from diskbench.providers.gcp.offer import foresee, rental
from diskbench.providers.gcp.policy import policy
from diskbench.providers.gcp.provision import GcpOrder, provision
from diskbench.providers.gcp.refresh import refreshed
from diskbench.providers.gcp.teardown import found_leases, release_lease, why_gone
from diskbench.providers.keys import lease_keys
from diskbench.providers.networks import caller_cidr
from diskbench.providers.skeleton.cloud import CloudCalls, CloudProvider, today
from diskbench.providers.waits import while_looking

_TIMING = GceTiming()


_CALLS: CloudCalls[GcpSessions, GceTiming, GcpDiskRequest, GcpOrder] = CloudCalls(
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


class GCPProvider(CloudProvider[GcpSessions, GceTiming, GcpDiskRequest, GcpOrder]):
    """Machines and disks of Google Cloud's Compute Engine, or of an emulator of it."""

    name = "gcp"

    def __init__(
        self,
        timing: GceTiming = _TIMING,
        ask_caller: Callable[[], str] = caller_cidr,
    ) -> None:
        super().__init__(GcpSessions(), timing, _CALLS)
        self.ask_caller = ask_caller

    def resolve(self, cell: Cell, books: Books) -> Rental:
        """See ports.Renter.resolve."""
        spec, requested = self._requested(cell)
        compute = self.sessions.at(spec.account, spec.endpoint_url, self.timing.for_reading())
        with while_looking():
            details = resolve_details(compute, spec, requested, self.ask_caller)
        return rental(books, spec, details, compute.login.endpoint)

    def foresee(self, cell: Cell, books: Books) -> Rental:
        """See ports.Foresees."""
        return foresee(books, *self._requested(cell))

    def refreshed(self, books: Books) -> Overlay:
        """See ports.Refreshes."""
        compute = self.sessions.at(None, None, self.timing)
        return refreshed(compute, books.of("gcp").prices, today())

    def check_swap(self, cell: Cell) -> None:
        """See ports.SwapsDisks.check_swap."""
        spec, requested = self._requested(cell)
        check_shared_machine(spec, is_apart=requested.kind == "disk", apart="persistent disks")

    def _order(self, claim: Claim, rental: Rental, watch: RentWatch) -> GcpOrder:
        details = GcpResolved.model_validate(rental.details)
        return GcpOrder(
            compute=self.sessions.of_scope(rental.scope, self.timing).watched(watch),
            claim=claim,
            spec=rental.spec,
            details=details,
            keys=lease_keys(watch.secret(), claim.lease_id),
            watch=watch,
            timing=self.timing.for_bare_metal() if details.machine.bare_metal else self.timing,
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
        release_lease(self.sessions, Which(lease_id, made, copied), scope, self.timing)

    def quotas(self, scope: Scope) -> Sequence[Quota]:
        """See ports.Metered.quotas."""
        with while_looking():
            return quotas(self.sessions, scope, self.timing.for_reading())

    def ends_by(self) -> str:
        """See ports.EndsMachines."""
        return "Google deletes the machine after the lease (maxRunDuration), disks and all"

    def provisioned(self) -> Sequence[str]:
        """See ports.Provisions."""
        return provisioned_types("gcp")
