"""Files of others as runs of a store, as `results import` makes them."""

from diskbench.store.database import open_database
from diskbench.store.import_sources import read_sources
from diskbench.store.imports import imported


def taken_in(evidence, *paths, database=None, labels=None):
    """The ids of the runs in the files, whose rows go into `database` (None: one in memory)."""
    engine = database or open_database("sqlite://")
    runs = imported(engine, evidence, read_sources(paths)[0], labels or {}, "0.1.0")
    run_ids = [run.manifest.run_id for run in runs]
    if database is None:
        engine.dispose()
    return run_ids
