"""`--provider aws` as the engine uses it."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from diskbench.catalog.books import Books, Overlay
from diskbench.errors import DiskbenchError, InvalidValue, ReleaseFailed
from diskbench.model.finding import Finding, Quota
from diskbench.model.metrics import CloudMetric
from diskbench.model.rental import Acquired, Claim, Found, LeaseEnd, Rental, Scope, Which
from diskbench.model.spec import Cell
from diskbench.ports import Host, RentWatch
from diskbench.providers.asked import check_shared_machine, check_snapshot_kept, provisioned_types
from diskbench.providers.aws import leases, requests
from diskbench.providers.aws.attach import snapshot, swapped
from diskbench.providers.aws.client import ANY_REGION, AwsClient, AwsSessions, AwsTiming
from diskbench.providers.aws.disk_request import AwsResolved, disk_request, region_of
from diskbench.providers.aws.doctor import date_of, examine, policy, quotas, rehearse
from diskbench.providers.aws.handover import hand_over, metrics
from diskbench.providers.aws.lookup import resolve_details
from diskbench.providers.aws.offer import foresee, rental
from diskbench.providers.aws.provision import provision
from diskbench.providers.aws.refresh import refreshed
from diskbench.providers.aws.requests import AwsOrder
from diskbench.providers.guest import move_timer
from diskbench.providers.networks import caller_cidr
from diskbench.providers.skeleton.cloud import CloudProvider, ordered, requested_disk, today
from diskbench.providers.skeleton.doctor import Bystander, nobody, reported_time
from diskbench.providers.skeleton.leases import by_lease, giving_back
from diskbench.providers.waits import while_looking

_TIMING = AwsTiming()
_AT_ONCE = 8
"""Regions that are asked together."""


class AWSProvider(CloudProvider):
    """Machines and EBS volumes of Amazon Web Services, or of an emulator of it."""

    name = "aws"
    sessions: AwsSessions
    timing: AwsTiming
    reading: AwsTiming

    def __init__(
        self, timing: AwsTiming = _TIMING, ask_caller: Callable[[], str] = caller_cidr
    ) -> None:
        super().__init__(AwsSessions(), timing, ask_caller)

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

    def _order(
        self, claim: Claim, rental: Rental, watch: RentWatch, timing: AwsTiming | None = None
    ) -> AwsOrder:
        timing = timing or self.timing
        aws = self.sessions.of_scope(rental.scope, timing)
        details = AwsResolved.model_validate(rental.details)
        metal = any(machine.bare_metal for machine in (details.machine, *details.others))
        return AwsOrder(
            **ordered(claim, rental, watch),
            ec2=aws.edge("ec2", timing, watch),
            details=details,
            timing=timing.for_bare_metal() if metal else timing,
        )

    def _ec2(self, scope: Scope, region: str | None = None) -> AwsClient:
        """EC2 in a region, by default that of the scope, for calls that only look."""
        return self.sessions.of_scope(scope, self.reading, region).edge("ec2", self.reading)

    @while_looking()
    def found(self, scope: Scope) -> Sequence[Found]:
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            listed = pool.map(lambda region: self._in_region(scope, region), self.regions(scope))
            return [lease for leases in listed for lease in leases]

    def _in_region(self, scope: Scope, region: str) -> list[Found]:
        meant = leases.inventory(self._ec2(scope, region), copies=True).meant
        marked = (leases.mark(*one) for one in meant.items() if not leases.is_over(*one))
        return by_lease(scope.model_copy(update={"region": region}), filter(None, marked))

    @while_looking()
    def regions(self, scope: Scope) -> Sequence[str]:
        """The region of the scope, else all that its account has enabled."""
        return self._regions(scope, self.reading)

    def _regions(self, scope: Scope, timing: AwsTiming) -> Sequence[str]:
        if scope.region is not None:
            return (scope.region,)
        try:
            # Accounts of China or GovCloud do not exist in us-east-1.
            aws = self.sessions.of_scope(scope, timing)
        except InvalidValue:
            aws = self.sessions.of_scope(scope, timing, ANY_REGION)
        listed = aws.edge("ec2", timing).call("describe_regions")["Regions"]
        return tuple(sorted(region["RegionName"] for region in listed))

    @while_looking()
    def metrics(
        self, rental: Rental, acquired: Acquired, since: datetime, until: datetime
    ) -> Sequence[CloudMetric]:
        aws = self.sessions.of_scope(rental.scope, self.reading)
        return metrics(aws.edge("cloudwatch", self.reading), acquired.facts, since, until)

    @while_looking()
    def present(self, scope: Scope) -> datetime:
        try:
            aws = self.sessions.of_scope(scope, self.reading)
            answer = aws.edge("sts", self.reading).call("get_caller_identity")
        except DiskbenchError as error:
            if (told := date_of(error)) is None:
                raise
            return told
        return reported_time("aws", date_of(answer))

    def _why_gone(self, lease_id: str, scope: Scope) -> str | None:
        listing = leases.inventory(self._ec2(scope), Which(lease_id))
        if any(item["State"]["Name"] in {"pending", "running"} for item in leases.live_in(listing)):
            return None
        launched = sorted(listing.of("instance"), key=lambda item: str(item.get("LaunchTime")))
        if not launched:
            return f"EC2 lists no instance of lease {lease_id}"
        last = launched[-1]
        return f"{last['InstanceId']} is {last['State']['Name']}: {leases.why_ended(last)}"

    def examine(self, scope: Scope) -> Sequence[Finding]:
        return examine(self.sessions, scope, self.reading, Books().of("aws"))

    def rehearse(self, rental: Rental) -> Sequence[Finding]:
        order = self._order(nobody(rental.spec.tags), rental, Bystander(), self.reading)
        return rehearse(self.sessions.of_scope(rental.scope, self.reading), order)

    def release(
        self, lease_id: str, scope: Scope, *, made: Sequence[str] = (), copied: Sequence[str] = ()
    ) -> None:
        """In the region of the scope, or in all where it names none."""
        which, failures = Which(lease_id, made, copied), list[ReleaseFailed]()
        with giving_back(lease_id):
            for region in self._regions(scope, self.timing):
                try:
                    aws = self.sessions.of_scope(scope, self.timing, region)
                    leases.release(aws.edge("ec2", self.timing), which, self.timing)
                except ReleaseFailed as error:
                    failures.append(error)
        if failures:
            words = "; ".join(error.message for error in failures)
            raise ReleaseFailed(words, advice=failures[0].advice) from failures[0]

    def extend(
        self, lease_id: str, scope: Scope, end: LeaseEnd, guest: Host, made: Sequence[str] = ()
    ) -> None:
        """The guest's timer first, then all tags in one request: only the timer ends an instance by
        itself. Between both, `gc` on another controller still uses the earlier end."""
        move_timer(guest, end)
        for region in self._regions(scope, self.timing):
            ec2 = self.sessions.of_scope(scope, self.timing, region).edge("ec2", self.timing)
            if ids := sorted(set(leases.lease_ids(ec2, Which(lease_id, made)))):
                ec2.call("create_tags", requests.new_expiry(ids, end.expires_at))

    @while_looking()
    def quotas(self, scope: Scope) -> Sequence[Quota]:
        return quotas(self.sessions, scope, self.reading)

    def ends_by(self) -> str:
        return "AWS terminates a machine that shuts down, and a timer in the guest shuts it down"

    def provisioned(self) -> Sequence[str]:
        return provisioned_types("aws")

    def policy(self, region: str | None = None) -> str:
        return policy(region)
