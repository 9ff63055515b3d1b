"""The class of a cloud: the methods of `ports.Renter` that are the same for all, and the sessions
that its calls share.

A provider object holds its sessions (credentials, clients, connections) for as long as a command or
a worker lives (providers/registry.Providers), and its threads share them. A session whose
credentials the cloud refused is not given out again: the next call reads the credentials anew,
because somebody may have logged in meanwhile. Credentials that their SDK refreshes itself are
refreshed within the session.
"""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar

from pydantic import ConfigDict

from diskbench.errors import DiskbenchError
from diskbench.model.base import Frozen
from diskbench.model.disk import Acquired
from diskbench.model.finding import Finding
from diskbench.model.rental import Claim, Found, Rental, RentSpec, Scope
from diskbench.model.spec import Cell
from diskbench.ports import RentWatch
from diskbench.providers.waits import CloudTiming, while_looking


class Closable(Protocol):
    """The sessions of a cloud."""

    def close(self) -> None:
        """Close every session."""
        ...


SessionsT = TypeVar("SessionsT", bound=Closable)
TimingT = TypeVar("TimingT", bound=CloudTiming)
RequestT = TypeVar("RequestT")
OrderT = TypeVar("OrderT")


@dataclass(frozen=True)
class CloudCalls(Generic[SessionsT, TimingT, RequestT, OrderT]):
    """A cloud's own functions for the methods of `CloudProvider` of the same name. `disk_request`
    returns the disk that a spec asks for and refuses a spec without one; `rented` makes or finds
    what was ordered and hands it over, `swapped` does so with a new disk at the machine that is
    there."""

    disk_request: Callable[[RentSpec | None], RequestT]
    rented: Callable[[OrderT], Acquired]
    swapped: Callable[[OrderT], Acquired]
    found: Callable[[SessionsT, Scope, TimingT], Sequence[Found]]
    present: Callable[[SessionsT, Scope, TimingT], datetime]
    examine: Callable[[SessionsT, Scope, TimingT], Sequence[Finding]]
    rehearse: Callable[[SessionsT, Rental, TimingT], Sequence[Finding]]
    why_gone: Callable[[str, SessionsT, Scope, TimingT], str | None]
    policy: Callable[[], str]


class CloudProvider(ABC, Generic[SessionsT, TimingT, RequestT, OrderT]):
    """Rents machines and disks of one cloud with `calls`, in the cloud's shared `sessions`."""

    def __init__(
        self,
        sessions: SessionsT,
        timing: TimingT,
        calls: CloudCalls[SessionsT, TimingT, RequestT, OrderT],
    ) -> None:
        self.sessions = sessions
        self.timing = timing
        self._calls = calls

    @abstractmethod
    def _order(self, claim: Claim, rental: Rental, watch: RentWatch) -> OrderT:
        """The order for a resolved rental."""

    def _requested(self, cell: Cell) -> tuple[RentSpec, RequestT]:
        """The cell's spec and the disk that it asks for."""
        requested = self._calls.disk_request(cell.rent)
        assert cell.rent is not None, "disk_request() refuses a cell that rents nothing"
        return cell.rent, requested

    def check(self, cell: Cell) -> None:
        """See ports.Provider.check."""
        self._calls.disk_request(cell.rent)

    def acquire(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        """See ports.Renter.acquire."""
        return self._calls.rented(self._order(claim, rental, watch))

    def swap(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        """See ports.SwapsDisks.swap."""
        return self._calls.swapped(self._order(claim, rental, watch))

    def found(self, scope: Scope) -> Sequence[Found]:
        """See ports.Renter.found."""
        with while_looking():
            return self._calls.found(self.sessions, scope, self.timing.for_reading())

    def present(self, scope: Scope) -> datetime:
        """See ports.TellsTime."""
        with while_looking():
            return self._calls.present(self.sessions, scope, self.timing.for_reading())

    def examine(self, scope: Scope) -> Sequence[Finding]:
        """See ports.Examinable.examine."""
        return self._calls.examine(self.sessions, scope, self.timing.for_reading())

    def rehearse(self, rental: Rental) -> Sequence[Finding]:
        """See ports.Rehearses.rehearse."""
        return self._calls.rehearse(self.sessions, rental, self.timing.for_reading())

    def policy(self) -> str:
        """See ports.Governed.policy."""
        return self._calls.policy()

    def gone(self, lease_id: str, scope: Scope) -> str | None:
        """See ports.Renter.gone. An unanswered call does not count as a lost machine."""
        with contextlib.suppress(DiskbenchError):
            return self._calls.why_gone(lease_id, self.sessions, scope, self.timing.for_reading())
        return None

    def close(self) -> None:
        """See ports.KeepsSessions."""
        self.sessions.close()


def today() -> str:
    """Today's date in UTC in the form of the catalogue's sources: `2026-11-21`."""
    return datetime.now(UTC).date().isoformat()


class Shared(Protocol):
    """A session that several threads may use at the same time."""

    @property
    def refused(self) -> threading.Event:
        """Set when the cloud refused its credentials."""
        ...

    def close(self) -> None:
        """Close its connections."""
        ...


S = TypeVar("S", bound=Shared)


class Sessions(Generic[S]):
    """The sessions of one provider, by what distinguishes them: account, endpoint."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[Hashable, threading.Lock] = {}
        self._current: dict[Hashable, S] = {}

    def of(self, key: Hashable, open_new: Callable[[], S]) -> S:
        """The session for `key`, opened by `open_new` at first use and after a refusal. Threads
        that ask for the same key wait for the first one. Raises as `open_new`.

        A refused session is not closed here: calls of other threads may still use it."""
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            session = self._current.get(key)
            if session is None or session.refused.is_set():
                session = open_new()
                with self._lock:
                    self._current[key] = session
            return session

    def close(self) -> None:
        """Close every session. Later calls open new ones."""
        with self._lock:
            opened = list(self._current.values())
            self._current.clear()
        for session in opened:
            # It ends by itself at the cloud; an error of the command must not be hidden.
            with contextlib.suppress(Exception):
                session.close()


class RentalDetails(Frozen):
    """What `acquire` needs beside the spec. A field may be stored under another name, its alias,
    so that plans which earlier versions stored can be read."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)
