"""The statements that are sent to a database."""

from contextlib import contextmanager

import sqlalchemy as sa


@contextmanager
def statements_of(database):
    sent: list[str] = []

    def note(_connection, _cursor, statement, *_):
        sent.append(statement)

    sa.event.listen(database, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        sa.event.remove(database, "before_cursor_execute", note)
