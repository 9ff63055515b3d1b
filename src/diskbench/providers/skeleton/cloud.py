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
from typing import Any, Generic, Protocol, TypeVar

from pydantic import ConfigDict

from diskbench.errors import DiskbenchError
from diskbench.model.base import Frozen
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Scope
from diskbench.model.spec import Cell
from diskbench.providers.waits import CloudTiming

SessionsT = TypeVar("SessionsT", bound="Sessions[Any]")
TimingT = TypeVar("TimingT", bound=CloudTiming)
RequestT = TypeVar("RequestT")


class CloudProvider(ABC, Generic[SessionsT, TimingT]):
    """Rents machines and disks of one cloud in the cloud's shared `sessions`. Its methods are those
    of `ports.Renter` and of the abilities that the cloud has."""

    def __init__(self, sessions: SessionsT, timing: TimingT) -> None:
        self.sessions = sessions
        self.timing = timing

    @property
    def reading(self) -> TimingT:
        """The timeouts of calls that only look."""
        return self.timing.for_reading()

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


def requested_disk(
    cell: Cell, disk_request: Callable[[RentSpec | None], RequestT]
) -> tuple[RentSpec, RequestT]:
    """The cell's spec and the disk that it asks for, by the cloud's `disk_request`, which refuses a
    cell that rents nothing."""
    requested = disk_request(cell.rent)
    assert cell.rent is not None, "disk_request() refuses a cell that rents nothing"
    return cell.rent, requested


T = TypeVar("T")


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


class RentalDetails(Frozen):
    """What `acquire` needs beside the spec. A field may be stored under another name, its alias,
    so that plans which earlier versions stored can be read."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    ssh_cidr: str | None = None
    """The network from which SSH is admitted; None where the user's own rules decide."""


class SizedDisk(Frozen):
    """The requested disk of a cloud that sells disks by type, size, IOPS and MiB/s. `size_gib` is
    None where the user chooses no size; `type` is the disk's type, of a root disk too."""

    type: str
    size_gib: int | None = None
    iops: int | None = None
    throughput_mib_per_s: float | None = None
    count: int = 1

    def spec(self, size_gib: int) -> DiskSpec:
        """The disk of that size as the plan shows it."""
        return DiskSpec(
            type=self.type,
            size_gib=size_gib,
            iops=self.iops,
            throughput_mib_per_s=self.throughput_mib_per_s,
            count=self.count,
        )
