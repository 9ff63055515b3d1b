"""A rented machine that does not answer: its provider is asked whether the machine is gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, RentalFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.model.spec import Plan
    from diskbench.ports import Renter


@dataclass
class HostLost:
    """Called after every failed attempt to reach a machine; asks its provider each time.

    A machine that was not rented is never known to be gone.
    """

    plan: Plan
    renter: Renter | None
    note: Callable[[str], None]
    reason: str | None = None
    """Why the machine is gone for good, once its provider said so."""

    def noted(self, text: str) -> None:
        """Pass on the error `text`, and ask the provider whether the machine is gone."""
        self.note(text)
        if self.renter is None or self.plan.rental is None or self.reason:
            return
        try:
            self.reason = self.renter.gone(self.plan.lease_id, self.plan.rental.scope)
        except DiskbenchError as error:
            self.note(f"its provider does not say whether it is still there: {error.message}")

    def noted_or_raise(self, text: str) -> None:
        """As `noted`; raises RentalFailed once the machine is known to be gone."""
        self.noted(text)
        self.raise_if_final()

    def raise_if_final(self) -> None:
        """Raise RentalFailed with the provider's reason when the machine is gone."""
        if self.reason is not None:
            raise RentalFailed(
                f"the machine is gone: {self.reason}",
                advice="finished steps are kept; start the run again",
            )
