"""The tables. Names start with `diskbench_`, because DBOS keeps its own in the same database.

Two kinds live apart. *Results* (result_tables.py) follow from the evidence alone and can be rebuilt
from it. *Runtime* (here) is who works on what right now. Times are ISO 8601 text in UTC with
microseconds, which sorts as time does in every database; a run's creation time is the one in its
ULID, and `measured_at` is null where nobody knows when it was measured. What a changed table needs
says schema_revision.py.
"""

import sqlalchemy as sa

from diskbench.store.result_tables import (
    COUNT,
    JSON,
    PREFIX,
    REAL,
    measurement,
    metadata,
    run,
    run_id,
    step,
    text,
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
    text("account"),
    text("region"),
    text("endpoint"),
    text("address"),
    sa.Column("target", JSON),
    sa.Column("run_ids", JSON, nullable=False),
    text("created_at", null=False),
    text("expires_at"),
    sa.Column("hourly_usd", REAL),
    text("state", null=False),
    text("error"),
    text("released_at"),
    sa.Index(None, "state"),
)

executor = sa.Table(
    f"{PREFIX}executor",
    metadata,
    sa.Column("executor_id", sa.Text, primary_key=True),
    text("hostname", null=False),
    sa.Column("pid", sa.Integer, nullable=False),
    text("process_started", null=False),
    text("beat_at", null=False),
    text("started_at"),
    text("version"),
    text("name"),
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
    sa.Column("iops", REAL),
    sa.Column("bytes_per_s", REAL),
    text("kind"),
    text("trust", null=False),
    text("judged_by", null=False),
)
"""The figure and the trust that stand for a run in lists, kept whenever its trial is judged; a row
of another version of diskbench counts for nothing."""

matrix = sa.Table(
    f"{PREFIX}matrix",
    metadata,
    sa.Column("campaign_id", sa.Text, primary_key=True),
    text("name", null=False),
    text("state", null=False),
    text("queue"),
    text("owner"),
    sa.Column("limits", JSON, nullable=False),
    sa.Column("spec", JSON, nullable=False),
    sa.Column("seed", COUNT),
    text("order", null=False),
    text("schedule"),
    text("scheduled_for"),
    text("created_at", null=False),
    text("finished_at"),
    text("kind"),
    sa.Index(None, "state"),
)

cell = sa.Table(
    f"{PREFIX}cell",
    metadata,
    sa.Column(
        "campaign_id",
        sa.Text,
        sa.ForeignKey(matrix.c.campaign_id, ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    text("key", null=False),
    text("block", null=False),
    text("route", null=False),
    text("partition", null=False),
    text("machine"),
    sa.Column("cell", JSON, nullable=False),
    sa.Column("zones", JSON, nullable=False),
    text("state", null=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    text("not_before"),
    text("trial_id"),
    text("owner"),
    sa.Column("cancel", sa.Boolean),
    text("note"),
    text("error_kind"),
    text("error"),
    text("advice"),
    sa.Column("expected_s", REAL),
    sa.Column("hourly_usd", REAL),
    sa.Column("cost_usd", REAL),
    text("queued_at"),
    text("started_at"),
    text("finished_at"),
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
    sa.Column(
        "campaign_id",
        sa.Text,
        sa.ForeignKey(matrix.c.campaign_id, ondelete="CASCADE"),
        nullable=False,
    ),
    text("name", null=False),
    text("state", null=False),
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
    text("source", null=False),
    text("folder", null=False),
    text("text", null=False),
    text("overlap", null=False),
    sa.Column("backfill", sa.Boolean, nullable=False),
    sa.Column("budget_usd", REAL),
    sa.Column("assume_price_usd_per_hour", REAL),
    text("created_at", null=False),
    text("updated_at", null=False),
    text("watched_until", null=False),
)

occurrence = sa.Table(
    f"{PREFIX}occurrence",
    metadata,
    sa.Column(
        "schedule", sa.Text, sa.ForeignKey(schedule.c.name, ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("scheduled_for", sa.Text, primary_key=True),
    text("state", null=False),
    text("reason"),
    text("campaign_id"),
    text("owner"),
    text("recorded_at", null=False),
    sa.Index(None, "state"),
)

RESULT_TABLES = (trial, run, step, measurement, warning)
"""What follows from the evidence, in the order of their foreign keys."""
RUNTIME_TABLES = (
    progress, lease, executor, timing, headline, matrix, cell, machine, schedule,
    occurrence,
)  # fmt: skip
