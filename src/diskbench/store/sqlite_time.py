"""The one SQL function that DBOS calls and SQLite before 3.42 does not have.

From Python 3.12 on DBOS (3.4.0, `_now_ms_sql` and the defaults in its migrations) reads the time as
`unixepoch('subsec')`. The modifier `subsec` came with SQLite 3.42; 3.38 to 3.41 answer NULL to it,
and older ones know no `unixepoch`. Debian 12 has 3.40. Python does not bring SQLite along, so
what counts is what a connection answers, not a version: a file whose tables were made under a newer
Python holds those defaults too.
"""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

_QUESTION = "SELECT unixepoch('subsec')"
_MODIFIERS = ("subsec", "subsecond")


def supply_unixepoch(connection: sqlite3.Connection) -> bool:
    """Give `connection` the function unixepoch('subsec') where SQLite answers NULL to it or does
    not know it. Returns whether that was needed."""
    if _answers(connection):
        return False
    connection.create_function("unixepoch", 1, _unixepoch)
    return True


def _answers(connection: sqlite3.Connection) -> bool:
    cursor = connection.cursor()
    try:
        return cursor.execute(_QUESTION).fetchone()[0] is not None
    except sqlite3.OperationalError as error:
        # SQLite has no finer code for a function that it does not know.
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        return False
    finally:
        cursor.close()


def _unixepoch(modifier: object) -> float:
    """Unix seconds with milliseconds, as SQLite 3.42 has them. Any other use of the function is an
    error in SQL, since a wrong time would be stored unseen."""
    if str(modifier).lower() not in _MODIFIERS:
        raise ValueError(f"unixepoch({modifier!r}) is not supplied")
    return time.time_ns() // 1_000_000 / 1000
