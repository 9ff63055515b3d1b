"""`--provider aws` as the engine uses it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, InvalidValue
from diskbench.model.ours import Which
from diskbench.providers.asked import check_machine_is_named, provisioned_types
from diskbench.providers.aws.client import AwsSessions
from diskbench.providers.aws.disk_request import wanted
from diskbench.providers.aws.examine import examine, present
from diskbench.providers.aws.extend import extend
from diskbench.providers.aws.handover import hand_over
from diskbench.providers.aws.inventory import inventory, why_ended
from diskbench.providers.aws.lookup import resolve_details
from diskbench.providers.aws.offer import rental
from diskbench.providers.aws.offline import foresee
from diskbench.providers.aws.partitions import region_of
from diskbench.providers.aws.policy import policy
from diskbench.providers.aws.provision import AwsOrder, provision
from diskbench.providers.aws.quotas import quotas
from diskbench.providers.aws.refresh import refreshed
from diskbench.providers.aws.rehearse import rehearse
from diskbench.providers.aws.resolved import AwsResolved
from diskbench.providers.aws.swap import swapped
from diskbench.providers.aws.sweep import found, regions_of, release_everywhere
from diskbench.providers.aws.timing import AwsTiming
from diskbench.providers.caller import caller_cidr
from diskbench.providers.keys import lease_keys
from diskbench.providers.today import today
from diskbench.providers.unanswered import while_looking

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from diskbench.catalog.books import Books
    from diskbench.catalog.overlay import Overlay
    from diskbench.model.disk import Acquired
    from diskbench.model.finding import Finding, Quota
    from diskbench.model.rental import Claim, Found, LeaseEnd, Rental, Scope
    from diskbench.model.spec import Cell
    from diskbench.ports import Host, RentWatch

_TIMING = AwsTiming()


class AWSProvider:
    """Machines and EBS volumes of Amazon Web Services, or of an emulator of it."""

    name = "aws"

    def __init__(
        self,
        timing: AwsTiming = _TIMING,
        ask_caller: Callable[[], str] = caller_cidr,
    ) -> None:
        self.timing = timing
        self.ask_caller = ask_caller
        self.sessions = AwsSessions()

    def check(self, cell: Cell) -> None:
        """See ports.Provider.check."""
        wanted(cell.rent)

    def resolve(self, cell: Cell, books: Books) -> Rental:
        """See ports.Renter.resolve."""
        spec = cell.rent
        asked = wanted(spec)
        assert spec is not None, "wanted() refuses a cell that rents nothing"
        region = _region(spec.region, spec.zone)
        aws = self.sessions.at(spec.account, region, spec.endpoint_url)
        with while_looking():
            details = resolve_details(
                aws, spec, asked, books.of("aws"), self.timing.looking(), self.ask_caller
            )
        return rental(books, spec, details, aws.emulated_endpoint())

    def foresee(self, cell: Cell, books: Books) -> Rental:
        """See ports.Foresees."""
        asked = wanted(cell.rent)
        assert cell.rent is not None, "wanted() refuses a cell that rents nothing"
        return foresee(books, cell.rent, asked)

    def refreshed(self, books: Books) -> Overlay:
        """See ports.Refreshes."""
        known = books.of("aws")
        aws = self.sessions.at(None, known.prices.region, None)
        return refreshed(aws, self.timing, known, today())

    def acquire(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        """See ports.Renter.acquire."""
        order = self._order(claim, rental, watch)
        made = provision(order)
        return hand_over(order.at(made.place), made)

    def check_swap(self, cell: Cell) -> None:
        """See ports.SwapsDisks.check_swap."""
        assert cell.rent is not None, "check() refuses a cell that rents nothing"
        kind = wanted(cell.rent).kind
        if kind != "volume":
            raise InvalidValue(
                f"--disk {cell.rent.disk} comes with its machine, which reuse_host keeps",
                advice="measure volumes so, or leave reuse_host out",
                field="disk",
            )
        check_machine_is_named(cell.rent)

    def swap(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        """See ports.SwapsDisks.swap."""
        order = self._order(claim, rental, watch)
        made = swapped(order)
        return hand_over(order.at(made.place), made)

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

    def found(self, scope: Scope) -> Sequence[Found]:
        """See ports.Renter.found."""
        with while_looking():
            return found(self.sessions, scope, self.timing.looking())

    def present(self, scope: Scope) -> datetime:
        """See ports.TellsTime."""
        with while_looking():
            return present(self.sessions, scope, self.timing.looking())

    def examine(self, scope: Scope) -> Sequence[Finding]:
        """See ports.Examinable.examine."""
        return examine(self.sessions, scope, self.timing.looking())

    def rehearse(self, rental: Rental) -> Sequence[Finding]:
        """See ports.Rehearses.rehearse."""
        return rehearse(self.sessions, rental, self.timing.looking())

    def quotas(self, scope: Scope) -> Sequence[Quota]:
        """See ports.Metered.quotas."""
        with while_looking():
            return quotas(self.sessions, scope, self.timing.looking())

    def policy(self) -> str:
        """See ports.Governed.policy: a policy of IAM."""
        return policy()

    def regions(self, scope: Scope) -> Sequence[str]:
        """See ports.Regional.regions."""
        with while_looking():
            return regions_of(self.sessions, scope, self.timing.looking())

    def ends_by(self) -> str:
        """See ports.EndsMachines."""
        return "AWS terminates a machine that shuts down, and a timer in the guest shuts it down"

    def provisioned(self) -> Sequence[str]:
        """See ports.Provisions."""
        return provisioned_types("aws")

    def close(self) -> None:
        """See ports.KeepsSessions."""
        self.sessions.close()

    def gone(self, lease_id: str, scope: Scope) -> str | None:
        """See ports.Renter.gone. An unanswered call does not count as a lost machine."""
        with contextlib.suppress(DiskbenchError):
            timing = self.timing.looking()
            ec2 = self.sessions.of_scope(scope, timing).edge("ec2", timing)
            listing = inventory(ec2, Which(lease_id))
            going = [i for i in listing.live if i["State"]["Name"] in {"pending", "running"}]
            if going:
                return None
            last = max(listing.instances, key=lambda i: str(i.get("LaunchTime")), default=None)
            if last is None:
                return f"EC2 lists no instance of lease {lease_id}"
            return f"{last['InstanceId']} is {last['State']['Name']}: {why_ended(last)}"
        return None


def _region(region: str | None, zone: str | None) -> str | None:
    """The given region, or the region of the given zone, whose name contains it."""
    return region or (region_of(zone) if zone else None)
