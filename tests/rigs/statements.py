"""The statements that are sent to a database."""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa


@contextmanager
def statements_of(database: sa.Engine) -> Iterator[list[str]]:
    sent: list[str] = []

    def note(_connection, _cursor, statement, *_) -> None:
        sent.append(statement)

    sa.event.listen(database, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        sa.event.remove(database, "before_cursor_execute", note)
