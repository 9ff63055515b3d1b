"""The tables. Names start with `diskbench_`, because DBOS keeps its own in the same database.

Two kinds live apart. *Results* (result_tables.py) follow from the evidence alone and can be rebuilt
from it. *Runtime* (runtime_tables.py) is who works on what right now. Times are ISO 8601 text in
UTC with microseconds, which sorts as time does in every database; a run's creation time is the one
in its ULID, and `measured_at` is null where nobody knows when it was measured. A changed table
needs a new migration in `migrations/versions/`, its id at the end of REVISIONS, and its digest in
tests/unit/store/migrations.sha256: no migration is ever edited.
"""

from diskbench.store.columns import PREFIX, metadata
from diskbench.store.result_tables import campaign, measurement, run, step, trial, warning
from diskbench.store.revisions import HEAD, REVISIONS, VERSION_TABLE
from diskbench.store.runtime_tables import (
    cell,
    claim,
    executor,
    headline,
    lease,
    machine,
    matrix,
    occurrence,
    progress,
    pruned,
    schedule,
    timing,
)

__all__ = [
    "HEAD",
    "PREFIX",
    "RESULT_TABLES",
    "REVISIONS",
    "RUNTIME_TABLES",
    "VERSION_TABLE",
    "campaign",
    "cell",
    "claim",
    "executor",
    "headline",
    "lease",
    "machine",
    "matrix",
    "measurement",
    "metadata",
    "occurrence",
    "progress",
    "pruned",
    "run",
    "schedule",
    "step",
    "timing",
    "trial",
    "warning",
]

RESULT_TABLES = (campaign, trial, run, step, measurement, warning)
"""What follows from the evidence, in the order of their foreign keys."""
RUNTIME_TABLES = (
    claim, progress, lease, executor, timing, headline, pruned, matrix, cell, machine, schedule,
    occurrence,
)  # fmt: skip
