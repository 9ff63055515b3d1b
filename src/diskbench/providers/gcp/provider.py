"""`--provider gcp` as the engine uses it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, InvalidValue
from diskbench.model.ours import Which
from diskbench.providers.asked import check_machine_is_named, provisioned_types
from diskbench.providers.caller import caller_cidr
from diskbench.providers.gcp.client import GcpSessions
from diskbench.providers.gcp.disk_request import wanted
from diskbench.providers.gcp.examine import examine, present
from diskbench.providers.gcp.handover import hand_over
from diskbench.providers.gcp.lookup import resolve_details
from diskbench.providers.gcp.offer import rental
from diskbench.providers.gcp.offline import foresee
from diskbench.providers.gcp.policy import policy
from diskbench.providers.gcp.provision import GcpOrder, provision
from diskbench.providers.gcp.quotas import quotas
from diskbench.providers.gcp.refresh import refreshed
from diskbench.providers.gcp.rehearse import rehearse
from diskbench.providers.gcp.resolved import GcpResolved
from diskbench.providers.gcp.swap import swapped
from diskbench.providers.gcp.sweep import found, release_lease, why_gone
from diskbench.providers.gcp.timing import GceTiming
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
    from diskbench.model.rental import Claim, Found, Rental, Scope
    from diskbench.model.spec import Cell
    from diskbench.ports import RentWatch

_TIMING = GceTiming()


class GCPProvider:
    """Machines and disks of Google Cloud's Compute Engine, or of an emulator of it."""

    name = "gcp"

    def __init__(
        self,
        timing: GceTiming = _TIMING,
        ask_caller: Callable[[], str] = caller_cidr,
    ) -> None:
        self.timing = timing
        self.ask_caller = ask_caller
        self.sessions = GcpSessions()

    def check(self, cell: Cell) -> None:
        """See ports.Provider.check."""
        wanted(cell.rent)

    def resolve(self, cell: Cell, books: Books) -> Rental:
        """See ports.Renter.resolve."""
        spec = cell.rent
        asked = wanted(spec)
        assert spec is not None, "wanted() refuses a cell that rents nothing"
        compute = self.sessions.at(spec.account, spec.endpoint_url, self.timing.looking())
        with while_looking():
            details = resolve_details(compute, spec, asked, self.ask_caller)
        return rental(books, spec, details, compute.login.endpoint)

    def foresee(self, cell: Cell, books: Books) -> Rental:
        """See ports.Foresees."""
        asked = wanted(cell.rent)
        assert cell.rent is not None, "wanted() refuses a cell that rents nothing"
        return foresee(books, cell.rent, asked)

    def refreshed(self, books: Books) -> Overlay:
        """See ports.Refreshes."""
        compute = self.sessions.at(None, None, self.timing)
        return refreshed(compute, books.of("gcp").prices, today())

    def acquire(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        """See ports.Renter.acquire."""
        order = self._order(claim, rental, watch)
        return hand_over(order, provision(order))

    def check_swap(self, cell: Cell) -> None:
        """See ports.SwapsDisks.check_swap."""
        assert cell.rent is not None, "check() refuses a cell that rents nothing"
        if wanted(cell.rent).kind != "disk":
            raise InvalidValue(
                f"--disk {cell.rent.disk} comes with its machine, which reuse_host keeps",
                advice="measure persistent disks so, or leave reuse_host out",
                field="disk",
            )
        check_machine_is_named(cell.rent)

    def swap(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        """See ports.SwapsDisks.swap."""
        order = self._order(claim, rental, watch)
        return hand_over(order, swapped(order))

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
        """See ports.Governed.policy: a custom role."""
        return policy()

    def ends_by(self) -> str:
        """See ports.EndsMachines."""
        return "Google deletes the machine after the lease (maxRunDuration), disks and all"

    def provisioned(self) -> Sequence[str]:
        """See ports.Provisions."""
        return provisioned_types("gcp")

    def close(self) -> None:
        """See ports.KeepsSessions."""
        self.sessions.close()

    def gone(self, lease_id: str, scope: Scope) -> str | None:
        """See ports.Renter.gone. An unanswered call does not count as a lost machine."""
        with contextlib.suppress(DiskbenchError):
            return why_gone(lease_id, self.sessions.of_scope(scope, self.timing.looking()))
        return None
