"""Sessions at a cloud (credentials, clients, connections): opened once, shared by all calls.

A provider object holds its sessions for as long as a command or a worker lives
(providers/registry.Providers), and its threads share them. A session whose credentials the cloud
refused is not given out again: the next call reads the credentials anew, because somebody may have
logged in meanwhile. Credentials that their SDK refreshes itself are refreshed within the session.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


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
