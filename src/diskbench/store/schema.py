"""The tables. Names start with `diskbench_`, because DBOS keeps its own in the same database.

Two kinds live apart. *Results* (result_tables.py) follow from the evidence alone and can be rebuilt
from it. *Runtime* (here) is who works on what right now. Times are ISO 8601 text in UTC with
microseconds, which sorts as time does in every database; a run's creation time is the one in its
ULID, and `measured_at` is null where nobody knows when it was measured. What a changed table needs
says schema_revision.py.
"""

from functools import partial

import sqlalchemy as sa

from diskbench.store.result_tables import (
    COUNT,
    JSON,
    PREFIX,
    REAL,
    columns,
    measurement,
    metadata,
    run,
    run_id,
    step,
    text,
    texts,
    trial,
    warning,
)

__all__ = [
    "PREFIX", "measurement", "metadata", "run",
    "step", "trial", "warning",
]  # fmt: skip

progress = sa.Table(
    f"{PREFIX}progress",
    metadata,
    run_id(),
    sa.Column("step_index", sa.Integer, nullable=False),
    text("step", null=False),
    sa.Column("round", sa.Integer),
    sa.Column("tick", JSON),
    text("updated_at", null=False),
)

lease = sa.Table(
    f"{PREFIX}lease",
    metadata,
    sa.Column("lease_id", sa.Text, primary_key=True),
    text("provider", null=False),
    *texts("account", "region", "endpoint", "address"),
    sa.Column("target", JSON),
    sa.Column("run_ids", JSON, nullable=False),
    text("created_at", null=False),
    text("expires_at"),
    sa.Column("hourly_usd", REAL),
    text("state", null=False),
    *texts("error", "released_at"),
    sa.Index(None, "state"),
)

executor = sa.Table(
    f"{PREFIX}executor",
    metadata,
    sa.Column("executor_id", sa.Text, primary_key=True),
    text("hostname", null=False),
    sa.Column("pid", sa.Integer, nullable=False),
    *texts("process_started", "beat_at", null=False),
    *texts("started_at", "version", "name"),
    sa.Column("queues", JSON),
    sa.Column("concurrency", sa.Integer),
    sa.Column("draining", sa.Boolean),
    text("secret_id"),
)

timing = sa.Table(
    f"{PREFIX}timing",
    metadata,
    sa.Column(
        "trial_id", sa.Text, sa.ForeignKey(trial.c.trial_id, ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("seconds", REAL, nullable=False),
)

headline = sa.Table(
    f"{PREFIX}headline",
    metadata,
    run_id(),
    text("step", null=False),
    *columns(REAL, "iops", "bytes_per_s"),
    text("kind"),
    *texts("trust", "judged_by", null=False),
)
"""The figure and the trust that stand for a run in lists, kept whenever its trial is judged; a row
of another version of diskbench counts for nothing."""

matrix = sa.Table(
    f"{PREFIX}matrix",
    metadata,
    sa.Column("campaign_id", sa.Text, primary_key=True),
    *texts("name", "state", null=False),
    *texts("queue", "owner"),
    *columns(JSON, "limits", "spec", null=False),
    sa.Column("seed", COUNT),
    text("order", null=False),
    *texts("schedule", "scheduled_for"),
    text("created_at", null=False),
    *texts("finished_at", "kind"),
    sa.Index(None, "state"),
)

of_matrix = partial(sa.ForeignKey, matrix.c.campaign_id, ondelete="CASCADE")

cell = sa.Table(
    f"{PREFIX}cell",
    metadata,
    sa.Column("campaign_id", sa.Text, of_matrix(), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    *texts("key", "block", "route", "partition", null=False),
    text("machine"),
    *columns(JSON, "cell", "zones", null=False),
    text("state", null=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    *texts("not_before", "trial_id", "owner"),
    sa.Column("cancel", sa.Boolean),
    *texts("note", "error_kind", "error", "advice"),
    *columns(REAL, "expected_s", "hourly_usd", "cost_usd"),
    *texts("queued_at", "started_at", "finished_at"),
    sa.Column("error_data", JSON),
    # Live cells of all matrices, and those of a shared machine.
    sa.Index(None, "state", "campaign_id", "position"),
    sa.Index(None, "campaign_id", "machine"),
    sa.Index(None, "trial_id"),
)

machine = sa.Table(
    f"{PREFIX}machine",
    metadata,
    sa.Column("lease_id", sa.Text, sa.ForeignKey(lease.c.lease_id), primary_key=True),
    sa.Column("campaign_id", sa.Text, of_matrix(), nullable=False),
    *texts("name", "state", null=False),
    sa.Column("turn", sa.Integer, nullable=False),
    text("trial_id", null=False),
    text("zone"),
    sa.Column("rental", JSON, nullable=False),
    sa.Index(None, "campaign_id", "name"),
)

schedule = sa.Table(
    f"{PREFIX}schedule",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    *texts("source", "folder", "text", "overlap", null=False),
    sa.Column("backfill", sa.Boolean, nullable=False),
    *columns(REAL, "budget_usd", "assume_price_usd_per_hour"),
    *texts("created_at", "updated_at", "watched_until", null=False),
)

occurrence = sa.Table(
    f"{PREFIX}occurrence",
    metadata,
    sa.Column(
        "schedule", sa.Text, sa.ForeignKey(schedule.c.name, ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("scheduled_for", sa.Text, primary_key=True),
    text("state", null=False),
    *texts("reason", "campaign_id", "owner"),
    text("recorded_at", null=False),
    sa.Index(None, "state"),
)
