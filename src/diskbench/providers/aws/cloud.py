"""`--provider aws` as the engine uses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from diskbench.catalog.books import Books
from diskbench.catalog.overlay import Overlay
from diskbench.model.disk import Acquired
from diskbench.model.finding import Quota
from diskbench.model.ours import Which
from diskbench.model.rental import Claim, LeaseEnd, Rental, Scope
from diskbench.model.spec import Cell
from diskbench.ports import Host, RentWatch
from diskbench.providers.asked import check_shared_machine, provisioned_types
from diskbench.providers.aws.attach import swapped
from diskbench.providers.aws.client import AwsSessions, AwsTiming
from diskbench.providers.aws.disk_request import (
    AwsDiskRequest,
    AwsResolved,
    disk_request,
    region_of,
)
from diskbench.providers.aws.doctor import examine, present, quotas, rehearse
from diskbench.providers.aws.handover import hand_over
from diskbench.providers.aws.lookup import resolve_details
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
from diskbench.providers.skeleton.cloud import CloudCalls, CloudProvider, today
from diskbench.providers.waits import while_looking

_TIMING = AwsTiming()


def _rented(order: AwsOrder) -> Acquired:
    made = provision(order)
    return hand_over(order.at(made.place), made)


def _swapped(order: AwsOrder) -> Acquired:
    made = swapped(order)
    return hand_over(order.at(made.place), made)


_CALLS: CloudCalls[AwsSessions, AwsTiming, AwsDiskRequest, AwsOrder] = CloudCalls(
    disk_request=disk_request,
    rented=_rented,
    swapped=_swapped,
    found=found_leases,
    present=present,
    examine=examine,
    rehearse=rehearse,
    why_gone=why_gone,
    policy=policy,
)


class AWSProvider(CloudProvider[AwsSessions, AwsTiming, AwsDiskRequest, AwsOrder]):
    """Machines and EBS volumes of Amazon Web Services, or of an emulator of it."""

    name = "aws"

    def __init__(
        self,
        timing: AwsTiming = _TIMING,
        ask_caller: Callable[[], str] = caller_cidr,
    ) -> None:
        super().__init__(AwsSessions(), timing, _CALLS)
        self.ask_caller = ask_caller

    def resolve(self, cell: Cell, books: Books) -> Rental:
        """See ports.Renter.resolve."""
        spec, requested = self._requested(cell)
        region = _region(spec.region, spec.zone)
        aws = self.sessions.at(spec.account, region, spec.endpoint_url)
        with while_looking():
            details = resolve_details(
                aws, spec, requested, books.of("aws"), self.timing.for_reading(), self.ask_caller
            )
        return rental(books, spec, details, aws.emulated_endpoint())

    def foresee(self, cell: Cell, books: Books) -> Rental:
        """See ports.Foresees."""
        return foresee(books, *self._requested(cell))

    def refreshed(self, books: Books) -> Overlay:
        """See ports.Refreshes."""
        known = books.of("aws")
        aws = self.sessions.at(None, known.prices.region, None)
        return refreshed(aws, self.timing, known, today())

    def check_swap(self, cell: Cell) -> None:
        """See ports.SwapsDisks.check_swap."""
        spec, requested = self._requested(cell)
        check_shared_machine(spec, is_apart=requested.kind == "volume", apart="volumes")

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

    def release(
        self,
        lease_id: str,
        scope: Scope,
        *,
        made: Sequence[str] = (),
        copied: Sequence[str] = (),
    ) -> None:
        """See ports.Renter.release."""
        release_everywhere(self.sessions, Which(lease_id, made, copied), scope, self.timing)

    def extend(
        self, lease_id: str, scope: Scope, end: LeaseEnd, guest: Host, made: Sequence[str] = ()
    ) -> None:
        """See ports.ExtendsLeases."""
        extend(self.sessions, Which(lease_id, made), scope, self.timing, end, guest)

    def quotas(self, scope: Scope) -> Sequence[Quota]:
        """See ports.Metered.quotas."""
        with while_looking():
            return quotas(self.sessions, scope, self.timing.for_reading())

    def regions(self, scope: Scope) -> Sequence[str]:
        """See ports.Regional.regions."""
        with while_looking():
            return regions_of(self.sessions, scope, self.timing.for_reading())

    def ends_by(self) -> str:
        """See ports.EndsMachines."""
        return "AWS terminates a machine that shuts down, and a timer in the guest shuts it down"

    def provisioned(self) -> Sequence[str]:
        """See ports.Provisions."""
        return provisioned_types("aws")


def _region(region: str | None, zone: str | None) -> str | None:
    """The given region, or the region of the given zone, whose name contains it."""
    return region or (region_of(zone) if zone else None)
