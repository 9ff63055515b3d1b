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
class Absence:
    """Called after every failed attempt to reach a machine; asks its provider each time.

    A machine that was not rented is never known to be gone.
    """

    plan: Plan
    renter: Renter | None
    note: Callable[[str], None]
    _reason: str | None = None

    @property
    def is_final(self) -> bool:
        """Whether the machine is known to be gone for good."""
        return self._reason is not None

    def noted(self, text: str) -> None:
        """Pass on the error `text`, and ask the provider whether the machine is gone."""
        self.note(text)
        if self.renter is None or self.plan.rental is None or self.is_final:
            return
        try:
            self._reason = self.renter.gone(self.plan.lease_id, self.plan.rental.scope)
        except DiskbenchError as error:
            self.note(f"its provider does not say whether it is still there: {error.message}")

    def noted_or_raise(self, text: str) -> None:
        """As `noted`; raises RentalFailed once the machine is known to be gone."""
        self.noted(text)
        self.raise_if_final()

    def raise_if_final(self) -> None:
        """Raise RentalFailed with the provider's reason when the machine is gone."""
        if self._reason is not None:
            raise RentalFailed(
                f"the machine is gone: {self._reason}",
                advice="finished steps are kept; start the run again",
            )
