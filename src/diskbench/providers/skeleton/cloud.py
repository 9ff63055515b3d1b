"""The class of a cloud: the methods of `ports.Renter` that are the same for all, and the sessions
(credentials, clients, connections) that the threads of a command or a worker share.

A session whose credentials the cloud refused is not given out again: the next call reads the
credentials anew, because somebody may have logged in meanwhile. What their SDK refreshes itself is
refreshed within the session.
"""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from diskbench.errors import DiskbenchError
from diskbench.model.options import RentSpec
from diskbench.model.rental import Claim, Rental, Scope
from diskbench.model.spec import Cell
from diskbench.ports import RentWatch
from diskbench.providers.keys import lease_keys
from diskbench.providers.networks import caller_cidr
from diskbench.providers.waits import CloudTiming

T = TypeVar("T")


class CloudProvider(ABC):
    """Rents machines and disks of one cloud in the cloud's shared `sessions`. Its methods are those
    of `ports.Renter` and of the abilities that the cloud has."""

    sessions: Sessions[Any]
    timing: CloudTiming
    reading: CloudTiming
    """The timeouts of calls that only look."""

    def __init__(
        self,
        sessions: Sessions[Any],
        timing: CloudTiming,
        ask_caller: Callable[[], str] = caller_cidr,
    ) -> None:
        self.sessions = sessions
        self.timing, self.reading = timing, timing.for_reading()
        self.ask_caller = ask_caller

    def gone(self, lease_id: str, scope: Scope) -> str | None:
        """As `ports.Renter.gone`. An unanswered call does not count as a lost machine."""
        with contextlib.suppress(DiskbenchError):
            return self._why_gone(lease_id, scope)
        return None

    @abstractmethod
    def _why_gone(self, lease_id: str, scope: Scope) -> str | None:
        """The reason why the lease's machine is gone; None while it may answer. Raises diskbench's
        errors."""

    def close(self) -> None:
        self.sessions.close()


def ordered(claim: Claim, rental: Rental, watch: RentWatch) -> dict[str, Any]:
    """What the order of every cloud holds."""
    keys = lease_keys(watch.secret(), claim.lease_id)
    return {"claim": claim, "spec": rental.spec, "keys": keys, "watch": watch}


def requested_disk(cell: Cell, disk_request: Callable[[RentSpec | None], T]) -> tuple[RentSpec, T]:
    """The cell's spec and the disk that it asks for, by the cloud's `disk_request`, which refuses a
    cell that rents nothing."""
    requested = disk_request(cell.rent)
    assert cell.rent is not None, "disk_request() refuses a cell that rents nothing"
    return cell.rent, requested


def unless_missing(ask: Callable[[], T], is_missing: Callable[[BaseException], bool]) -> T | None:
    """The answer of `ask`; None where the cloud reports that the resource does not exist."""
    try:
        return ask()
    except DiskbenchError as error:
        if is_missing(error):
            return None
        raise


def today() -> str:
    """Today's date in UTC in the form of the catalogue's sources: `2026-11-21`."""
    return datetime.now(UTC).date().isoformat()


class shared_property(cached_property[T]):  # noqa: N801 - named as what it is used like
    """A cached property that is computed once, whichever thread asks first: since Python 3.12
    cached_property may compute one twice."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        super().__init__(compute)
        self._computing = threading.RLock()

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:  # noqa: ANN401
        with self._computing:
            return super().__get__(instance, owner)


class Shared(Protocol):
    """A session that several threads may use at the same time; `refused` is set when the cloud
    refused its credentials."""

    @property
    def refused(self) -> threading.Event: ...
    def close(self) -> None: ...


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
