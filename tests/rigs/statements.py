"""The statements that are sent to a database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa


@contextmanager
def statements_of(database: sa.Engine) -> Iterator[list[str]]:
    """The statements that are sent while the block runs."""
    sent: list[str] = []

    def note(_connection, _cursor, statement, *_) -> None:
        sent.append(statement)

    sa.event.listen(database, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        sa.event.remove(database, "before_cursor_execute", note)


@contextmanager
def counted_reads(database: sa.Engine) -> Iterator[list[int]]:
    """The number of rows of each SELECT that is sent while the block runs; known after it."""
    sent: list[tuple[str, Any]] = []
    rows: list[int] = []

    def note(_connection, _cursor, statement, parameters, *_) -> None:
        if statement.startswith("SELECT"):
            sent.append((statement, parameters))

    sa.event.listen(database, "before_cursor_execute", note)
    try:
        yield rows
    finally:
        sa.event.remove(database, "before_cursor_execute", note)
    with database.connect() as connection:
        for statement, parameters in sent:
            count = f"SELECT count(*) FROM ({statement}) AS sent"  # noqa: S608 - our own statement
            rows.append(connection.exec_driver_sql(count, parameters).scalar_one())
