"""`--provider gcp` as the engine uses it."""

import itertools
from collections.abc import Callable, Sequence
from datetime import datetime

from diskbench.catalog.books import Books, Overlay
from diskbench.model.finding import Finding, Quota
from diskbench.model.options import RentSpec
from diskbench.model.rental import Acquired, Claim, Found, Rental, Scope, Which
from diskbench.model.spec import Cell
from diskbench.ports import RentWatch
from diskbench.providers.asked import check_shared_machine, check_snapshot_kept, provisioned_types
from diskbench.providers.gcp import leases
from diskbench.providers.gcp.attach import snapshot, swapped
from diskbench.providers.gcp.client import GceTiming, GcpSessions
from diskbench.providers.gcp.disk_request import GcpResolved, disk_request
from diskbench.providers.gcp.doctor import examine, policy, quotas, rehearse, tested
from diskbench.providers.gcp.handover import hand_over
from diskbench.providers.gcp.lookup import region_of, resolve_details
from diskbench.providers.gcp.offer import foresee, rental
from diskbench.providers.gcp.provision import provision
from diskbench.providers.gcp.refresh import refreshed
from diskbench.providers.gcp.requests import GcpOrder
from diskbench.providers.networks import caller_cidr
from diskbench.providers.skeleton.cloud import CloudProvider, ordered, requested_disk, today
from diskbench.providers.skeleton.doctor import http_date, reported_time
from diskbench.providers.skeleton.leases import by_lease, giving_back
from diskbench.providers.waits import while_looking

_TIMING = GceTiming()


class GCPProvider(CloudProvider):
    """Machines and disks of Google Cloud's Compute Engine, or of an emulator of it."""

    name = "gcp"
    sessions: GcpSessions
    timing: GceTiming
    reading: GceTiming

    def __init__(
        self, timing: GceTiming = _TIMING, ask_caller: Callable[[], str] = caller_cidr
    ) -> None:
        super().__init__(GcpSessions(), timing, ask_caller)

    def check(self, cell: Cell) -> None:
        disk_request(cell.rent)
        check_snapshot_kept(cell)

    def resolve(self, cell: Cell, books: Books) -> Rental:
        spec, requested = requested_disk(cell, disk_request)
        compute = self.sessions.at(spec.account, spec.endpoint_url, self.reading)
        with while_looking():
            details = resolve_details(compute, spec, requested, self.ask_caller)
        return rental(books, spec, details, compute.login.endpoint)

    def foresee(self, cell: Cell, books: Books) -> Rental:
        return foresee(books, *requested_disk(cell, disk_request))

    def refreshed(self, books: Books, region: str | None = None) -> Overlay:
        compute = self.sessions.at(None, None, self.timing)
        return refreshed(compute, books.of("gcp").asked_for(region).prices, today())

    def acquire(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        order = self._order(claim, rental, watch)
        return hand_over(order, provision(order))

    def check_swap(self, cell: Cell) -> None:
        spec, requested = requested_disk(cell, disk_request)
        check_shared_machine(spec, is_apart=requested.kind == "disk", apart="persistent disks")

    def swap(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        order = self._order(claim, rental, watch)
        return hand_over(order, swapped(order))

    def snapshot(
        self, claim: Claim, rental: Rental, fill: Callable[[], None], watch: RentWatch
    ) -> str:
        return snapshot(self._order(claim, rental, watch), fill)

    def _order(self, claim: Claim, rental: Rental, watch: RentWatch) -> GcpOrder:
        details = GcpResolved.model_validate(rental.details)
        if rental.spec.snapshot_of_fill and rental.spec.snapshot:
            details = details.model_copy(update={"snapshot": rental.spec.snapshot})
        return GcpOrder(
            **ordered(claim, rental, watch),
            compute=self.sessions.of_scope(rental.scope, self.timing).watched(watch),
            details=details,
            timing=self.timing.for_bare_metal() if details.machine.bare_metal else self.timing,
        )

    @while_looking()
    def found(self, scope: Scope) -> Sequence[Found]:
        """A lease belongs to a region when one of its resources is in a zone of the region or in no
        zone."""
        compute = self.sessions.of_scope(scope, self.reading)
        listed = itertools.starmap(leases.mark, leases.inventory(compute).meant.items())
        tagged = [one for one in listed if one]
        here = scope.model_copy(update={"account": compute.project, "region": None})

        def is_here(found: Found) -> bool:
            ours = (one.item for one in tagged if one.lease_id == found.lease_id)
            zones = {leases.scope_of(item) for item in ours} - {""}
            in_region = [zone for zone in zones if f"{zone}-".startswith(f"{scope.region}-")]
            return scope.region is None or not zones or bool(in_region)

        return list(filter(is_here, by_lease(here, tagged)))

    @while_looking()
    def present(self, scope: Scope) -> datetime:
        answer = tested(self.sessions.of_scope(scope, self.reading).login, self.reading)
        return reported_time("gcp", http_date(answer.headers.get("Date")))

    def _why_gone(self, lease_id: str, scope: Scope) -> str | None:
        compute = self.sessions.of_scope(scope, self.reading)
        listing = leases.inventory(compute, Which(lease_id))
        if leases.live_in(listing):
            return None
        why = leases.last_end(lease_id, compute)
        stopped = next(iter(listing.of("instance")), None)  # none of them is live
        if stopped is not None:
            state = str(stopped.get("status")).lower()
            reason = str(stopped.get("statusMessage") or why or "Google gives no reason")
            return f"{leases.place(stopped)} is {state}: {reason}"
        return f"Google lists no machine of lease {lease_id}{f': {why}' if why else ''}"

    def examine(self, scope: Scope) -> Sequence[Finding]:
        return examine(self.sessions, scope, self.reading)

    def rehearse(self, rental: Rental) -> Sequence[Finding]:
        return rehearse(self.sessions, rental, self.reading)

    def release(
        self, lease_id: str, scope: Scope, *, made: Sequence[str] = (), copied: Sequence[str] = ()
    ) -> None:
        with giving_back(lease_id):
            compute = self.sessions.of_scope(scope, self.timing)
            leases.release(compute, Which(lease_id, made, copied))

    @while_looking()
    def quotas(self, scope: Scope) -> Sequence[Quota]:
        compute = self.sessions.of_scope(scope, self.reading)
        project = compute.call("projects", "get")
        region = region_of(RentSpec(region=scope.region), project)
        here = compute.call("regions", "get", {"region": region})
        return list(quotas(here.get("quotas", []), project.get("quotas", []), region))

    def ends_by(self) -> str:
        return "Google deletes the machine after the lease (maxRunDuration), disks and all"

    def provisioned(self) -> Sequence[str]:
        return provisioned_types("gcp")

    def policy(self, region: str | None = None) -> str:  # noqa: ARG002 - one for all regions
        return policy()
