"""What tests read from a database, and what they put into it."""

from contextlib import contextmanager

import sqlalchemy as sa

from diskbench.model.history import Regressions
from diskbench.results.history import histories
from diskbench.results.trial_figures import figures_by_metric
from diskbench.store.database import open_database, transaction
from diskbench.store.import_sources import read_sources
from diskbench.store.imports import imported
from diskbench.store.schema import measurement, run, step, trial, warning


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
