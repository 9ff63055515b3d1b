"""`--provider azure` as the engine uses it."""

import math
import time
from collections.abc import Callable, Sequence
from datetime import datetime

from diskbench.catalog.books import Books, Overlay
from diskbench.errors import DiskbenchError
from diskbench.model.finding import Finding, Quota
from diskbench.model.metrics import CloudMetric
from diskbench.model.options import RentSpec
from diskbench.model.rental import Acquired, Claim, Found, LeaseEnd, Rental, Scope, Which
from diskbench.model.spec import Cell
from diskbench.ports import Host, RentWatch
from diskbench.providers import asked
from diskbench.providers.azure import client, teardown
from diskbench.providers.azure.attach import swapped
from diskbench.providers.azure.client import AzureSessions, AzureTiming
from diskbench.providers.azure.disk_request import CACHES, AzureResolved, disk_request
from diskbench.providers.azure.doctor import examine, permissions_of, policy, quotas, rehearse
from diskbench.providers.azure.errors import refused
from diskbench.providers.azure.handover import hand_over, metrics
from diskbench.providers.azure.lookup import AzureLookup
from diskbench.providers.azure.offer import foresee, rental
from diskbench.providers.azure.provision import provision, read_machine, snapshot, why_ended
from diskbench.providers.azure.refresh import refreshed
from diskbench.providers.azure.requests import AzureOrder
from diskbench.providers.cloud_init import age_s
from diskbench.providers.guest import move_timer
from diskbench.providers.networks import caller_cidr
from diskbench.providers.skeleton.cloud import CloudProvider, ordered, requested_disk, today
from diskbench.providers.skeleton.doctor import reported_time
from diskbench.providers.skeleton.leases import giving_back, tagged
from diskbench.providers.waits import while_looking

_TIMING = AzureTiming()


class AzureProvider(CloudProvider):
    """Machines and managed disks of Microsoft Azure, or of an emulator of it."""

    name = "azure"
    sessions: AzureSessions
    timing: AzureTiming
    reading: AzureTiming

    def __init__(
        self, timing: AzureTiming = _TIMING, ask_caller: Callable[[], str] = caller_cidr
    ) -> None:
        super().__init__(AzureSessions(), timing, ask_caller)
        self._sent: set[str] = set()
        """The leases for which this process sent a call to make something."""

    def check(self, cell: Cell) -> None:
        disk_request(cell.rent)
        asked.check_snapshot_kept(cell)

    def resolve(self, cell: Cell, books: Books) -> Rental:
        spec, requested = requested_disk(cell, disk_request)
        azure = self.sessions.at(spec.account, spec.endpoint_url)
        with while_looking():
            edge, known = azure.edge(self.reading), books.of("azure")
            details = AzureLookup(edge, spec, requested, known, self.ask_caller).resolved()
        return rental(books, spec, details, azure)

    def foresee(self, cell: Cell, books: Books) -> Rental:
        return foresee(books, *requested_disk(cell, disk_request))

    def refreshed(self, books: Books, region: str | None = None) -> Overlay:
        edge = self.sessions.at(None, None).edge(self.timing)
        return refreshed(edge, books.of("azure").asked_for(region), today())

    def acquire(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        order = self._order(claim, rental, watch)
        self._sent.add(claim.lease_id)
        return hand_over(order, provision(order))

    def check_swap(self, cell: Cell) -> None:
        spec, requested = requested_disk(cell, disk_request)
        is_apart = requested.kind == "disk"
        if is_apart and requested.type == "UltraSSD_LRS":
            raise refused("machine made for the disk", requested=requested)
        asked.check_shared_machine(spec, is_apart=is_apart, apart="managed disks")

    def swap(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        order = self._order(claim, rental, watch)
        return hand_over(order, swapped(order))

    def snapshot(
        self, claim: Claim, rental: Rental, fill: Callable[[], None], watch: RentWatch
    ) -> str:
        return snapshot(self._order(claim, rental, watch), fill)

    def _order(self, claim: Claim, rental: Rental, watch: RentWatch) -> AzureOrder:
        details = AzureResolved.model_validate(rental.details)
        if rental.spec.snapshot_of_fill and rental.spec.snapshot:
            requested = details.requested.model_copy(update={"snapshot": rental.spec.snapshot})
            details = details.model_copy(update={"requested": requested})
        edge = self.sessions.of_scope(rental.scope).edge(self.timing, watch, claim.expires_at)
        of_claim = ordered(claim, rental, watch)
        return AzureOrder(**of_claim, edge=edge, details=details, timing=self.timing)

    @while_looking()
    def found(self, scope: Scope) -> Sequence[Found]:
        """One listing covers all regions of a subscription. A lease's group has one name, so each
        group is either the lease's own or a copy of its tags."""
        azure = self.sessions.of_scope(scope)
        edge = azure.edge(self.reading)
        leases: dict[str, Found] = {}
        for group in teardown.tagged_groups(edge):
            region = str(group.get("location", "")).lower()
            if scope.region not in {None, region}:
                continue
            name = teardown.group_kind_and_name(group)
            told = tagged(group["tags"], name, None)
            assert told is not None, "only what carries a lease is listed"
            lease_id = told.lease_id
            here = scope.model_copy(update={"account": azure.subscription, "region": region})
            before = leases.get(lease_id) or Found(lease_id=lease_id, scope=here)
            added: dict[str, object] = {"not_ours": (*before.not_ours, name)}
            if teardown.is_ours(group):
                content = teardown.own_content(edge, lease_id, group)
                added = {
                    "scope": here,
                    "expires_at": told.expires_at,
                    "owner": told.owner,
                    "resources": (name, *(teardown.kind_and_name(item) for item in content)),
                }
            leases[lease_id] = before.model_copy(update=added)
        return [leases[lease_id] for lease_id in sorted(leases)]

    @while_looking()
    def present(self, scope: Scope) -> datetime:
        listed, told = permissions_of(self.sessions.of_scope(scope).edge(self.reading))
        if told is None and isinstance(listed, DiskbenchError):
            raise listed
        return reported_time("azure", told)

    def _why_gone(self, lease_id: str, scope: Scope) -> str | None:
        machine = read_machine(self.sessions.of_scope(scope).edge(self.reading), lease_id)
        return why_ended(machine) if machine else f"Azure lists no machine of lease {lease_id}"

    def examine(self, scope: Scope) -> Sequence[Finding]:
        return examine(self.sessions, scope, self.reading)

    def rehearse(self, rental: Rental) -> Sequence[Finding]:
        return rehearse(self.sessions, rental, self.reading)

    def release(
        self, lease_id: str, scope: Scope, *, made: Sequence[str] = (), copied: Sequence[str] = ()
    ) -> None:
        which = Which(lease_id, made, copied)
        with giving_back(lease_id):
            # Another process's lease is known by its age alone.
            young = lease_id in self._sent or (age_s(lease_id) or math.inf) < self.timing.young_s
            until = time.time() + self.timing.delete_s
            edge = self.sessions.of_scope(scope).edge(self.timing, until=until)
            teardown.release(edge, which, just_made=young and not copied)
            self._sent.discard(lease_id)

    def extend(
        self,
        lease_id: str,
        scope: Scope,
        end: LeaseEnd,
        guest: Host,
        made: Sequence[str] = (),  # noqa: ARG002 - what is in the lease's group has its name
    ) -> None:
        move_timer(guest, end)
        edge = self.sessions.of_scope(scope).edge(self.timing)
        for group in teardown.tagged_groups(edge, lease_id):
            if teardown.is_ours(group):
                teardown.moved(edge, lease_id, group, end)

    @while_looking()
    def quotas(self, scope: Scope) -> Sequence[Quota]:
        edge = self.sessions.of_scope(scope).edge(self.reading)
        region = client.region_of(RentSpec(region=scope.region))
        providers = ("Microsoft.Compute", "Microsoft.Network")
        paths = (edge.path(kind=f"{name}/locations/{region}/usages") for name in providers)
        return list(quotas([usage for path in paths for usage in edge.listed(path)], region))

    @while_looking()
    def metrics(
        self, rental: Rental, acquired: Acquired, since: datetime, until: datetime
    ) -> Sequence[CloudMetric]:
        edge = self.sessions.of_scope(rental.scope).edge(self.reading)
        return metrics(edge, rental, acquired, since, until)

    def ends_by(self) -> str:
        return "Azure deallocates the machine after the lease, by a shutdown schedule; disks stay"

    def provisioned(self) -> Sequence[str]:
        return asked.provisioned_types("azure")

    def host_caches(self) -> Sequence[str]:
        return tuple(CACHES)

    def policy(self, region: str | None = None) -> str:  # noqa: ARG002 - one for all regions
        return policy()
