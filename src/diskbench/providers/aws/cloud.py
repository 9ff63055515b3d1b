"""`--provider aws` as the engine uses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from diskbench.catalog.books import Books
from diskbench.catalog.yaml_loader import Overlay
from diskbench.model.finding import Finding, Quota
from diskbench.model.metrics import CloudMetric
from diskbench.model.rental import Acquired, Claim, Found, LeaseEnd, Rental, Scope, Which
from diskbench.model.spec import Cell
from diskbench.ports import Host, RentWatch
from diskbench.providers.asked import check_shared_machine, check_snapshot_kept, provisioned_types
from diskbench.providers.aws.attach import snapshot, swapped
from diskbench.providers.aws.client import AwsSessions, AwsTiming
from diskbench.providers.aws.disk_request import (
    AwsResolved,
    disk_request,
    region_of,
)
from diskbench.providers.aws.doctor import examine, present, quotas, rehearse
from diskbench.providers.aws.handover import hand_over
from diskbench.providers.aws.lookup import resolve_details
from diskbench.providers.aws.metrics import metrics
from diskbench.providers.aws.offer import foresee, rental
from diskbench.providers.aws.policy import policy
from diskbench.providers.aws.provision import AwsOrder, provision
from diskbench.providers.aws.refresh import refreshed
from diskbench.providers.aws.teardown import (
    extend,
    found_leases,
    regions_of,
    release_everywhere,
    why_gone,
)
from diskbench.providers.keys import lease_keys
from diskbench.providers.networks import caller_cidr
from diskbench.providers.skeleton.cloud import CloudProvider, requested_disk, today
from diskbench.providers.waits import while_looking

_TIMING = AwsTiming()


class AWSProvider(CloudProvider[AwsSessions, AwsTiming]):
    """Machines and EBS volumes of Amazon Web Services, or of an emulator of it."""

    name = "aws"

    def __init__(
        self,
        timing: AwsTiming = _TIMING,
        ask_caller: Callable[[], str] = caller_cidr,
    ) -> None:
        super().__init__(AwsSessions(), timing)
        self.ask_caller = ask_caller

    def check(self, cell: Cell) -> None:
        disk_request(cell.rent)
        check_snapshot_kept(cell)

    def resolve(self, cell: Cell, books: Books) -> Rental:
        spec, requested = requested_disk(cell, disk_request)
        region = spec.region or (region_of(spec.zone) if spec.zone else None)
        aws = self.sessions.at(spec.account, region, spec.endpoint_url)
        with while_looking():
            details = resolve_details(
                aws, spec, requested, books.of("aws"), self.reading, self.ask_caller
            )
        return rental(books, spec, details, aws.emulated_endpoint())

    def foresee(self, cell: Cell, books: Books) -> Rental:
        return foresee(books, *requested_disk(cell, disk_request))

    def refreshed(self, books: Books, region: str | None = None) -> Overlay:
        known = books.of("aws").asked_for(region)
        aws = self.sessions.at(None, known.prices.region, None)
        return refreshed(aws, self.timing, known, today())

    def acquire(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        order = self._order(claim, rental, watch)
        made = provision(order)
        return hand_over(order.at(made.place), made)

    def check_swap(self, cell: Cell) -> None:
        spec, requested = requested_disk(cell, disk_request)
        check_shared_machine(spec, is_apart=requested.kind == "volume", apart="volumes")

    def swap(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        order = self._order(claim, rental, watch)
        made = swapped(order)
        return hand_over(order.at(made.place), made)

    def snapshot(
        self, claim: Claim, rental: Rental, fill: Callable[[], None], watch: RentWatch
    ) -> str:
        return snapshot(self._order(claim, rental, watch), fill)

    def _order(self, claim: Claim, rental: Rental, watch: RentWatch) -> AwsOrder:
        aws = self.sessions.of_scope(rental.scope, self.timing)
        details = AwsResolved.model_validate(rental.details)
        machines = (details.machine, *details.others)
        metal = any(machine.bare_metal for machine in machines)
        return AwsOrder(
            ec2=aws.edge("ec2", self.timing, watch),
            claim=claim,
            spec=rental.spec,
            details=details,
            keys=lease_keys(watch.secret(), claim.lease_id),
            watch=watch,
            timing=self.timing.for_bare_metal() if metal else self.timing,
        )

    @while_looking()
    def found(self, scope: Scope) -> Sequence[Found]:
        return found_leases(self.sessions, scope, self.reading)

    @while_looking()
    def metrics(
        self, rental: Rental, acquired: Acquired, since: datetime, until: datetime
    ) -> Sequence[CloudMetric]:
        aws = self.sessions.of_scope(rental.scope, self.reading)
        return metrics(aws.edge("cloudwatch", self.reading), acquired.facts, since, until)

    @while_looking()
    def present(self, scope: Scope) -> datetime:
        return present(self.sessions, scope, self.reading)

    def _why_gone(self, lease_id: str, scope: Scope) -> str | None:
        return why_gone(lease_id, self.sessions, scope, self.reading)

    def examine(self, scope: Scope) -> Sequence[Finding]:
        return examine(self.sessions, scope, self.reading, Books().of("aws"))

    def rehearse(self, rental: Rental) -> Sequence[Finding]:
        return rehearse(self.sessions, rental, self.reading)

    def release(
        self,
        lease_id: str,
        scope: Scope,
        *,
        made: Sequence[str] = (),
        copied: Sequence[str] = (),
    ) -> None:
        release_everywhere(self.sessions, Which(lease_id, made, copied), scope, self.timing)

    def extend(
        self, lease_id: str, scope: Scope, end: LeaseEnd, guest: Host, made: Sequence[str] = ()
    ) -> None:
        extend(self.sessions, Which(lease_id, made), scope, self.timing, end, guest)

    @while_looking()
    def quotas(self, scope: Scope) -> Sequence[Quota]:
        return quotas(self.sessions, scope, self.reading)

    @while_looking()
    def regions(self, scope: Scope) -> Sequence[str]:
        return regions_of(self.sessions, scope, self.reading)

    def ends_by(self) -> str:
        return "AWS terminates a machine that shuts down, and a timer in the guest shuts it down"

    def provisioned(self) -> Sequence[str]:
        return provisioned_types("aws")

    def policy(self, region: str | None = None) -> str:
        return policy(region)
