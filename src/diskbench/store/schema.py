"""The tables. Names start with `diskbench_`, because DBOS keeps its own in the same database.

Two kinds live apart. *Results* (campaign, trial, run, step, measurement, warning) follow from the
evidence alone and can be rebuilt from it. *Runtime* (claim, progress, lease, executor) is who works
on what right now. Times are ISO 8601 text in UTC with microseconds, which sorts as time does in
every database; a run's creation time is the one in its ULID. A changed table needs a migration in
`migrations/versions/` and its id at the end of REVISIONS.
"""

import sqlalchemy as sa

PREFIX = "diskbench_"
VERSION_TABLE = f"{PREFIX}alembic_version"
REVISIONS = ("0001", "0002", "0003")
"""Every schema revision this program knows, oldest first; the last is the one it uses."""
HEAD = REVISIONS[-1]

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_JSON = sa.JSON(none_as_null=True)
_Count = sa.BigInteger
"""Counts, bytes and nanoseconds outgrow PostgreSQL's 32-bit integer."""
_Real = sa.Double


def _text(name: str, *, null: bool = True) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=null)


def _run_id(*, ondelete: str = "CASCADE") -> sa.Column[str]:
    key = sa.ForeignKey(f"{PREFIX}run.run_id", ondelete=ondelete)
    return sa.Column("run_id", sa.Text, key, primary_key=True)


campaign = sa.Table(
    f"{PREFIX}campaign",
    metadata,
    sa.Column("campaign_id", sa.Text, primary_key=True),
    _text("created_at"),
)

trial = sa.Table(
    f"{PREFIX}trial",
    metadata,
    sa.Column("trial_id", sa.Text, primary_key=True),
    sa.Column("campaign_id", sa.Text, sa.ForeignKey(campaign.c.campaign_id), nullable=False),
    _text("block"),
    sa.Column("position", sa.Integer),
    sa.Column("seed", _Count),
    sa.Column("replicate", sa.Integer, nullable=False),
    _text("created_at"),
    sa.Column("plan", _JSON),
    sa.Index(None, "campaign_id"),
)

run = sa.Table(
    f"{PREFIX}run",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("trial_id", sa.Text, sa.ForeignKey(trial.c.trial_id), nullable=False),
    _text("campaign_id", null=False),
    sa.Column("run_index", sa.Integer, nullable=False),
    sa.Column("replicate", sa.Integer, nullable=False),
    _text("state", null=False),
    _text("error_kind"),
    _text("error"),
    _text("advice"),
    _text("created_at", null=False),
    _text("started_at"),
    _text("finished_at"),
    sa.Column("expected_s", _Real),
    # what was asked for
    _text("profile", null=False),
    _text("profile_digest"),
    sa.Column("parameters", _JSON, nullable=False),
    sa.Column("labels", _JSON, nullable=False),
    _text("provider", null=False),
    _text("address"),
    _text("target_kind"),
    _text("target_path"),
    _text("target_device"),
    _text("target_identity"),
    _text("filesystem"),
    sa.Column("size_bytes", _Count),
    # the machine and the disk, as found
    _text("hostname"),
    _text("cloud"),
    _text("instance_type"),
    _text("zone"),
    _text("cpu_model"),
    sa.Column("cpu_count", sa.Integer),
    sa.Column("memory_bytes", _Count),
    _text("kernel"),
    _text("distribution"),
    _text("virtualisation"),
    _text("fio_version"),
    _text("disk_model"),
    _text("disk_driver"),
    _text("disk_transport"),
    sa.Column("disk_size_bytes", _Count),
    # what it is worth
    sa.Column("emulated", sa.Boolean, nullable=False),
    sa.Column("unverified", sa.Boolean, nullable=False),
    sa.Column("imported", sa.Boolean, nullable=False),
    _text("evidence_url"),
    _text("diskbench_version"),
    sa.Column("format", sa.Integer, nullable=False),
    sa.Column("parser_version", sa.Integer, nullable=False),
    _text("machine_lease"),
    sa.Index(None, "trial_id"),
    sa.Index(None, "created_at", "run_id"),
    sa.Index(None, "state"),
    sa.Index(None, "profile", "created_at"),
)

step = sa.Table(
    f"{PREFIX}step",
    metadata,
    _run_id(),
    sa.Column("step_index", sa.Integer, primary_key=True, autoincrement=False),
    _text("step", null=False),
    _text("role", null=False),
    sa.Column("round", sa.Integer),
    _text("started_at", null=False),
    _text("finished_at", null=False),
    sa.Column("fio_exit", sa.Integer, nullable=False),
    _text("fio_version", null=False),
    sa.Column("seconds_in_fio", _Real, nullable=False),
)

measurement = sa.Table(
    f"{PREFIX}measurement",
    metadata,
    _run_id(),
    sa.Column("step_index", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("scope", sa.Text, primary_key=True),
    sa.Column("job_index", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("direction", sa.Text, primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),
    _text("step", null=False),
    _text("role", null=False),
    sa.Column("round", sa.Integer),
    sa.Column("jobs", sa.Integer, nullable=False),
    _text("rw"),
    sa.Column("block_bytes", _Count),
    sa.Column("iodepth", sa.Integer),
    sa.Column("ios", _Count, nullable=False),
    sa.Column("bytes", _Count, nullable=False),
    sa.Column("runtime_ns", _Count, nullable=False),
    sa.Column("iops", _Real, nullable=False),
    sa.Column("bytes_per_s", _Real, nullable=False),
    *(
        sa.Column(f"{kind}_{name}_ns", _Real if name in ("mean", "stddev") else _Count)
        for kind in ("lat", "clat")
        for name in ("mean", "min", "max", "stddev")
    ),
    sa.Column("clat_samples", _Count, nullable=False),
    sa.Column("slat_mean_ns", _Real),
    sa.Column("slat_max_ns", _Count),
    _text("quantiles_of"),
    *(sa.Column(f"p{p}_ns", _Real) for p in ("50", "90", "95", "99", "99_9", "99_99")),
    sa.Column("cpu_user", _Real),
    sa.Column("cpu_system", _Real),
    sa.Column("context_switches", _Count),
    sa.Column("short_ios", _Count, nullable=False),
    sa.Column("error", sa.Integer, nullable=False),
)

warning = sa.Table(
    f"{PREFIX}warning",
    metadata,
    _run_id(),
    sa.Column("step_index", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    _text("code", null=False),
    _text("message", null=False),
    _text("advice", null=False),
    _text("step"),
)

claim = sa.Table(
    f"{PREFIX}claim",
    metadata,
    sa.Column(
        "trial_id",
        sa.Text,
        sa.ForeignKey(trial.c.trial_id, ondelete="CASCADE"),
        primary_key=True,
    ),
    _text("owner"),
    _text("claimed_at"),
    sa.Column("cancel", sa.Boolean, nullable=False, default=False),
)

progress = sa.Table(
    f"{PREFIX}progress",
    metadata,
    _run_id(),
    sa.Column("step_index", sa.Integer, nullable=False),
    _text("step", null=False),
    sa.Column("round", sa.Integer),
    sa.Column("tick", _JSON),
    _text("updated_at", null=False),
)

lease = sa.Table(
    f"{PREFIX}lease",
    metadata,
    sa.Column("lease_id", sa.Text, primary_key=True),
    _text("provider", null=False),
    _text("account"),
    _text("region"),
    _text("endpoint"),
    _text("address"),
    sa.Column("target", _JSON),
    sa.Column("run_ids", _JSON, nullable=False),
    _text("created_at", null=False),
    _text("expires_at"),
    sa.Column("hourly_usd", _Real),
    _text("state", null=False),
    _text("error"),
    _text("released_at"),
    sa.Index(None, "state"),
)

executor = sa.Table(
    f"{PREFIX}executor",
    metadata,
    sa.Column("executor_id", sa.Text, primary_key=True),
    _text("hostname", null=False),
    sa.Column("pid", sa.Integer, nullable=False),
    _text("process_started", null=False),
    _text("beat_at", null=False),
    _text("started_at"),
    _text("version"),
    _text("name"),
    sa.Column("queues", _JSON),
    sa.Column("concurrency", sa.Integer),
    sa.Column("draining", sa.Boolean),
    _text("secret_id"),
)

timing = sa.Table(
    f"{PREFIX}timing",
    metadata,
    sa.Column(
        "trial_id",
        sa.Text,
        sa.ForeignKey(trial.c.trial_id, ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("seconds", _Real, nullable=False),
)

matrix = sa.Table(
    f"{PREFIX}matrix",
    metadata,
    sa.Column(
        "campaign_id",
        sa.Text,
        sa.ForeignKey(campaign.c.campaign_id, ondelete="CASCADE"),
        primary_key=True,
    ),
    _text("name", null=False),
    _text("state", null=False),
    _text("queue"),
    _text("owner"),
    sa.Column("limits", _JSON, nullable=False),
    sa.Column("spec", _JSON, nullable=False),
    sa.Column("seed", _Count),
    _text("order", null=False),
    _text("schedule"),
    _text("scheduled_for"),
    _text("created_at", null=False),
    _text("finished_at"),
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
    _text("key", null=False),
    _text("block", null=False),
    _text("route", null=False),
    _text("partition", null=False),
    _text("machine"),
    sa.Column("cell", _JSON, nullable=False),
    sa.Column("zones", _JSON, nullable=False),
    _text("state", null=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    _text("not_before"),
    _text("trial_id"),
    _text("owner"),
    sa.Column("cancel", sa.Boolean),
    _text("note"),
    _text("error_kind"),
    _text("error"),
    _text("advice"),
    sa.Column("expected_s", _Real),
    sa.Column("hourly_usd", _Real),
    sa.Column("cost_usd", _Real),
    _text("queued_at"),
    _text("started_at"),
    _text("finished_at"),
    sa.Index(None, "state"),
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
    _text("name", null=False),
    _text("state", null=False),
    sa.Column("turn", sa.Integer, nullable=False),
    _text("trial_id", null=False),
    _text("zone"),
    sa.Column("rental", _JSON, nullable=False),
    sa.Index(None, "campaign_id", "name"),
)

schedule = sa.Table(
    f"{PREFIX}schedule",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    _text("source", null=False),
    _text("folder", null=False),
    _text("text", null=False),
    _text("overlap", null=False),
    sa.Column("backfill", sa.Boolean, nullable=False),
    sa.Column("budget_usd", _Real),
    sa.Column("assume_price_usd_per_hour", _Real),
    _text("created_at", null=False),
    _text("updated_at", null=False),
    _text("watched_until", null=False),
)

occurrence = sa.Table(
    f"{PREFIX}occurrence",
    metadata,
    sa.Column(
        "schedule",
        sa.Text,
        sa.ForeignKey(schedule.c.name, ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("scheduled_for", sa.Text, primary_key=True),
    _text("state", null=False),
    _text("reason"),
    _text("campaign_id"),
    _text("owner"),
    _text("recorded_at", null=False),
    sa.Index(None, "state"),
)

RESULT_TABLES = (campaign, trial, run, step, measurement, warning)
"""What follows from the evidence, in the order of their foreign keys."""
RUNTIME_TABLES = (
    claim, progress, lease, executor, timing, matrix, cell, machine, schedule, occurrence,
)  # fmt: skip
