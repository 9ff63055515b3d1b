"""`--provider azure` as the engine uses it."""

from __future__ import annotations

import contextlib
import math
import time
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.model.ours import Which
from diskbench.providers.asked import check_machine_is_named, provisioned_types
from diskbench.providers.azure.client import AzureSessions
from diskbench.providers.azure.disk_request import CACHES, check_swappable, wanted
from diskbench.providers.azure.examine import examine, present
from diskbench.providers.azure.extend import extend
from diskbench.providers.azure.handover import hand_over
from diskbench.providers.azure.inventory import STOPPED, power_of, read_machine, state_of, why
from diskbench.providers.azure.lookup import resolve_details
from diskbench.providers.azure.offer import rental
from diskbench.providers.azure.offline import foresee
from diskbench.providers.azure.policy import policy
from diskbench.providers.azure.provision import AzureOrder, provision
from diskbench.providers.azure.quotas import quotas
from diskbench.providers.azure.refresh import refreshed
from diskbench.providers.azure.rehearse import rehearse
from diskbench.providers.azure.resolved import AzureResolved
from diskbench.providers.azure.swap import swapped
from diskbench.providers.azure.sweep import found
from diskbench.providers.azure.teardown import release
from diskbench.providers.azure.timing import AzureTiming
from diskbench.providers.caller import caller_cidr
from diskbench.providers.cloud_init import age_s
from diskbench.providers.keys import lease_keys
from diskbench.providers.skeleton.release import giving_back
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

_TIMING = AzureTiming()


class AzureProvider:
    """Machines and managed disks of Microsoft Azure, or of an emulator of it."""

    name = "azure"

    def __init__(
        self,
        timing: AzureTiming = _TIMING,
        ask_caller: Callable[[], str] = caller_cidr,
    ) -> None:
        self.timing = timing
        self.ask_caller = ask_caller
        self.sessions = AzureSessions()
        self._sent: set[str] = set()
        """The leases for which this process sent a call to make something."""

    def check(self, cell: Cell) -> None:
        """See ports.Provider.check."""
        wanted(cell.rent)

    def resolve(self, cell: Cell, books: Books) -> Rental:
        """See ports.Renter.resolve."""
        spec = cell.rent
        asked = wanted(spec)
        assert spec is not None, "wanted() refuses a cell that rents nothing"
        azure = self.sessions.at(spec.account, spec.endpoint_url)
        with while_looking():
            details = resolve_details(
                azure, spec, asked, books.of("azure"), self.timing.looking(), self.ask_caller
            )
        return rental(books, spec, details, azure)

    def foresee(self, cell: Cell, books: Books) -> Rental:
        """See ports.Foresees."""
        asked = wanted(cell.rent)
        assert cell.rent is not None, "wanted() refuses a cell that rents nothing"
        return foresee(books, cell.rent, asked)

    def refreshed(self, books: Books) -> Overlay:
        """See ports.Refreshes."""
        edge = self.sessions.at(None, None).edge(self.timing)
        return refreshed(edge, books.of("azure"), today())

    def acquire(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        """See ports.Renter.acquire."""
        order = self._order(claim, rental, watch)
        self._sent.add(claim.lease_id)
        return hand_over(order, provision(order))

    def check_swap(self, cell: Cell) -> None:
        """See ports.SwapsDisks.check_swap."""
        assert cell.rent is not None, "check() refuses a cell that rents nothing"
        check_swappable(wanted(cell.rent), cell.rent)
        check_machine_is_named(cell.rent)

    def swap(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        """See ports.SwapsDisks.swap."""
        order = self._order(claim, rental, watch)
        return hand_over(order, swapped(order))

    def _order(self, claim: Claim, rental: Rental, watch: RentWatch) -> AzureOrder:
        return AzureOrder(
            edge=self.sessions.of_scope(rental.scope).edge(self.timing, watch, claim.expires_at),
            claim=claim,
            spec=rental.spec,
            details=AzureResolved.model_validate(rental.details),
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
            which = Which(lease_id, made, copied)
            # Another process's lease is known by its age alone.
            young = lease_id in self._sent or (age_s(lease_id) or math.inf) < self.timing.young_s
            until = time.time() + self.timing.delete_s
            edge = self.sessions.of_scope(scope).edge(self.timing, until=until)
            release(edge, which, just_made=young and not copied)
            self._sent.discard(lease_id)

    def extend(
        self,
        lease_id: str,
        scope: Scope,
        end: LeaseEnd,
        guest: Host,
        made: Sequence[str] = (),  # noqa: ARG002 - what is in the lease's group has its name
    ) -> None:
        """See ports.ExtendsLeases."""
        extend(self.sessions.of_scope(scope).edge(self.timing), lease_id, end, guest)

    def found(self, scope: Scope) -> Sequence[Found]:
        """See ports.Renter.found. One listing covers all regions of a subscription."""
        with while_looking():
            azure = self.sessions.of_scope(scope)
            here = scope.model_copy(update={"account": azure.subscription})
            return found(azure.edge(self.timing.looking()), here)

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
        """See ports.Governed.policy: a custom role."""
        return policy()

    def ends_by(self) -> str:
        """See ports.EndsMachines."""
        return "Azure deallocates the machine after the lease, by a shutdown schedule; disks stay"

    def provisioned(self) -> Sequence[str]:
        """See ports.Provisions."""
        return provisioned_types("azure")

    def host_caches(self) -> Sequence[str]:
        """See ports.Caches."""
        return tuple(CACHES)

    def close(self) -> None:
        """See ports.KeepsSessions."""
        self.sessions.close()

    def gone(self, lease_id: str, scope: Scope) -> str | None:
        """See ports.Renter.gone. An unanswered call does not count as a lost machine."""
        with contextlib.suppress(DiskbenchError):
            machine = read_machine(
                self.sessions.of_scope(scope).edge(self.timing.looking()), lease_id
            )
            if machine is None:
                return f"Azure lists no machine of lease {lease_id}"
            state = state_of(machine)
            if state in {"Failed", "Deleting"}:
                return f"{machine['name']} is {state.lower()}: {why(machine)}"
            if (power := power_of(machine)) in STOPPED:
                return f"{machine['name']} is {power}: {why(machine)}"
        return None
