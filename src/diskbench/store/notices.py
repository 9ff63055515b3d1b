"""Notices between processes of one database: PostgreSQL's NOTIFY, so that nobody has to poll.

A notice says only that a look is worth while; what there is to do is in the rows. It is sent with
the transaction that changed them. SQLite has no notices: its processes poll. Notices that are sent
while a connection is broken are lost, so whoever listens is woken when it listens again, and looks
now and then all the same.
"""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection, Engine

from diskbench.store.database import transaction

if TYPE_CHECKING:
    import psycopg

Notice = Literal["cells", "wish"]
"""`cells`: a cell may begin or be taken: a matrix was begun, a place is free, a process left.
`wish`: somebody asked to stop something."""
CHANNEL = "diskbench"
AGAIN_S = 2.0
"""Seconds between two tries to listen again; our choice."""
_WAIT_S = 1.0
"""Seconds until the thread that listens looks whether it should end; costs no statement."""
_ASKED_EVERY_S = 30.0
"""Seconds without a notice after which the server is asked whether the connection still stands."""


def announce(connection: Connection, notice: Notice) -> None:
    """Send a notice when the transaction of `connection` is committed."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_notify(CHANNEL, notice)))


def announce_now(database: Engine, notice: Notice) -> None:
    """Send a notice. Raises StoreUnavailable."""
    if database.dialect.name == "postgresql":
        with transaction(database) as connection:
            announce(connection, notice)


@dataclass
class Notices:
    """What this process hears: the events that each notice sets, and whether it listens at all."""

    listening: bool = False
    """False on SQLite, and while the connection is broken: then everybody polls."""
    _events: dict[Notice, list[threading.Event]] = field(default_factory=dict)

    def wake(self, event: threading.Event, *notices: Notice) -> None:
        """Set `event` with each of these notices, and when listening begins or ends."""
        for notice in notices:
            self._events.setdefault(notice, []).append(event)

    def heard(self, notice: str) -> None:
        """Set the events of a notice; unknown ones, of another version, are ignored."""
        for event in self._events.get(notice, ()):  # type: ignore[call-overload]
            event.set()

    def wake_all(self) -> None:
        """Set all events."""
        for notice in list(self._events):
            self.heard(notice)

    def follow(self, database: Engine, over: threading.Event) -> None:
        """Listen until `over` is set, on a connection of its own; listens again after a fault.
        Returns at once on SQLite."""
        while database.dialect.name == "postgresql" and not over.is_set():
            try:
                self._listen(database, over)
            except (exc.SQLAlchemyError, OSError):
                pass
            except Exception as error:
                if not _is_drivers(error):
                    raise
            finally:
                self.listening = False
                self.wake_all()
            over.wait(AGAIN_S)

    def _listen(self, database: Engine, over: threading.Event) -> None:
        with contextlib.closing(_own_connection(database)) as connection:
            connection.execute(f"LISTEN {CHANNEL}")
            self.listening = True
            self.wake_all()  # what was sent meanwhile is lost
            asked_at = time.monotonic()
            while not over.is_set():
                for notice in connection.notifies(timeout=_WAIT_S):
                    self.heard(notice.payload)
                if time.monotonic() - asked_at > _ASKED_EVERY_S:
                    connection.execute(f"LISTEN {CHANNEL}")  # changes nothing
                    asked_at = time.monotonic()


def _own_connection(database: Engine) -> psycopg.Connection[tuple[object, ...]]:
    """A connection outside of the pool, without transactions."""
    pooled = database.raw_connection()
    connection: psycopg.Connection[tuple[object, ...]] = pooled.driver_connection  # type: ignore[assignment]
    pooled.detach()
    connection.rollback()
    connection.autocommit = True
    return connection


def _is_drivers(error: Exception) -> bool:
    """Whether an error is psycopg's, which only PostgreSQL's users import."""
    return type(error).__module__.partition(".")[0] == "psycopg"
