"""What tests read from a database, and what they put into it."""

from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from diskbench.model.history import Regressions
from diskbench.results.history import histories
from diskbench.results.trial_figures import figures_by_metric
from diskbench.store.database import open_database, transaction
from diskbench.store.import_sources import read_sources
from diskbench.store.imports import imported
from diskbench.store.schema import measurement, run, step, trial, warning


def share_compiled():
    """Have all databases of this process keep in one place what SQLAlchemy compiles. It does so by
    engine and dialect, of which each test has its own; that takes a tenth of the time of tests."""
    shared, init = sa.util.LRUCache(2000), sa.Engine.__init__

    def sharing(self, *args, **named):
        init(self, *args, **named)
        self._compiled_cache = shared

    sa.Engine.__init__ = sharing
    for kind in (SQLiteDialect_pysqlite, PGDialect_psycopg):
        kind.__hash__ = lambda self: hash(_what_compiles(self))
        kind.__eq__ = lambda self, other: _what_compiles(self) == _what_compiles(other)


def _what_compiles(dialect):
    return type(dialect), getattr(dialect, "_json_serializer", None)


def dump(database):
    """Table name → its rows, ordered by primary key."""
    with transaction(database) as connection:
        return {
            table.name: [
                dict(row)
                for row in connection.execute(
                    sa.select(table).order_by(*table.primary_key.columns)
                ).mappings()
            ]
            for table in (trial, run, step, measurement, warning)
        }


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


def taken_in(evidence, *paths, database=None, labels=None):
    """The ids of the runs in the files, whose rows go into `database` (None: one in memory)."""
    engine = database or open_database("sqlite://")
    runs = imported(engine, evidence, read_sources(paths)[0], labels or {}, "0.1.0")
    run_ids = [run.manifest.run_id for run in runs]
    if database is None:
        engine.dispose()
    return run_ids


def trial_figures(database, filters, metric, evidence=None):
    return figures_by_metric(database, filters, (metric,), evidence)[metric]


def find_regressions(database, filters, **more):
    undated = {}
    found = tuple(histories(database, filters, undated, **more))
    return Regressions(histories=found, undated=tuple(undated))
