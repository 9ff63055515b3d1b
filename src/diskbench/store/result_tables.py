"""Tables of results: they follow from the evidence alone, and can be rebuilt from it. Also the name
conventions, types and shared columns of all tables."""

import sqlalchemy as sa

PREFIX = "diskbench_"

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

JSON = sa.JSON(none_as_null=True)
COUNT = sa.BigInteger
"""Counts, bytes and nanoseconds exceed PostgreSQL's 32-bit integer."""
REAL = sa.Double


def text(name: str, *, null: bool = True) -> sa.Column[str]:
    """A text column."""
    return sa.Column(name, sa.Text, nullable=null)


def run_id(*, ondelete: str = "CASCADE") -> sa.Column[str]:
    """The id of the row's run, the first column of its primary key."""
    key = sa.ForeignKey(f"{PREFIX}run.run_id", ondelete=ondelete)
    return sa.Column("run_id", sa.Text, key, primary_key=True)


trial = sa.Table(
    f"{PREFIX}trial",
    metadata,
    sa.Column("trial_id", sa.Text, primary_key=True),
    text("campaign_id", null=False),
    sa.Column("replicate", sa.Integer, nullable=False),
    text("created_at"),
    sa.Column("plan", JSON),
    # parts of the plan that are read of many trials at once: plans are long
    sa.Column("rent", JSON),
    sa.Column("scope", JSON),
    sa.Index(None, "campaign_id"),
)

run = sa.Table(
    f"{PREFIX}run",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("trial_id", sa.Text, sa.ForeignKey(trial.c.trial_id), nullable=False),
    text("campaign_id", null=False),
    sa.Column("run_index", sa.Integer, nullable=False),
    sa.Column("replicate", sa.Integer, nullable=False),
    text("state", null=False),
    text("error_kind"),
    text("error"),
    text("advice"),
    text("created_at", null=False),
    text("started_at"),
    text("finished_at"),
    sa.Column("expected_s", REAL),
    # what was asked for
    text("profile", null=False),
    text("profile_digest"),
    sa.Column("parameters", JSON, nullable=False),
    sa.Column("labels", JSON, nullable=False),
    text("provider", null=False),
    text("address"),
    text("target_kind"),
    text("target_path"),
    text("target_device"),
    text("target_identity"),
    text("filesystem"),
    sa.Column("size_bytes", COUNT),
    # the machine and the disk, as found
    text("hostname"),
    text("cloud"),
    text("instance_type"),
    text("zone"),
    text("cpu_model"),
    sa.Column("cpu_count", sa.Integer),
    sa.Column("memory_bytes", COUNT),
    text("kernel"),
    text("distribution"),
    text("virtualisation"),
    text("fio_version"),
    text("disk_model"),
    text("disk_driver"),
    text("disk_transport"),
    sa.Column("disk_size_bytes", COUNT),
    # what it is worth
    sa.Column("emulated", sa.Boolean, nullable=False),
    sa.Column("unverified", sa.Boolean, nullable=False),
    sa.Column("imported", sa.Boolean, nullable=False),
    text("evidence_url"),
    text("diskbench_version"),
    sa.Column("format", sa.Integer, nullable=False),
    sa.Column("parser_version", sa.Integer, nullable=False),
    text("machine_lease"),
    # when it was measured: null where nobody knows
    text("measured_at"),
    # what was bought (store/run_row.py)
    text("region"),
    text("disk_cloud"),
    text("disk_type"),
    sa.Column("disk_gib", COUNT),
    sa.Column("disk_count", sa.Integer),
    sa.Column("provisioned_iops", COUNT),
    sa.Column("provisioned_bytes_per_s", REAL),
    text("host_cache"),
    sa.Index(None, "trial_id"),
    sa.Index(None, "measured_at", "created_at", "run_id"),
    sa.Index(None, "state"),
    sa.Index(None, "profile", "created_at"),
    sa.Index(None, "campaign_id"),
    sa.Index(None, "disk_type", "region", "measured_at"),
    sa.Index(None, "region", "measured_at"),
)

step = sa.Table(
    f"{PREFIX}step",
    metadata,
    run_id(),
    sa.Column("step_index", sa.Integer, primary_key=True, autoincrement=False),
    text("step", null=False),
    text("role", null=False),
    sa.Column("round", sa.Integer),
    text("started_at"),
    text("finished_at"),
    sa.Column("fio_exit", sa.Integer, nullable=False),
    text("fio_version", null=False),
    sa.Column("seconds_in_fio", REAL, nullable=False),
)

measurement = sa.Table(
    f"{PREFIX}measurement",
    metadata,
    run_id(),
    sa.Column("step_index", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("scope", sa.Text, primary_key=True),
    sa.Column("job_index", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("direction", sa.Text, primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),
    text("step", null=False),
    text("role", null=False),
    sa.Column("round", sa.Integer),
    sa.Column("jobs", sa.Integer, nullable=False),
    text("rw"),
    sa.Column("block_bytes", COUNT),
    sa.Column("iodepth", sa.Integer),
    # null where a tool of others does not print them
    sa.Column("ios", COUNT),
    sa.Column("bytes", COUNT),
    sa.Column("runtime_ns", COUNT),
    sa.Column("iops", REAL),
    sa.Column("bytes_per_s", REAL),
    *(
        sa.Column(f"{kind}_{name}_ns", REAL if name in ("mean", "stddev") else COUNT)
        for kind in ("lat", "clat")
        for name in ("mean", "min", "max", "stddev")
    ),
    sa.Column("clat_samples", COUNT),
    sa.Column("slat_mean_ns", REAL),
    sa.Column("slat_max_ns", COUNT),
    text("quantiles_of"),
    *(sa.Column(f"p{p}_ns", REAL) for p in ("50", "90", "95", "99", "99_9", "99_99")),
    sa.Column("cpu_user", REAL),
    sa.Column("cpu_system", REAL),
    sa.Column("context_switches", COUNT),
    sa.Column("short_ios", COUNT, nullable=False),
    sa.Column("error", sa.Integer, nullable=False),
)

warning = sa.Table(
    f"{PREFIX}warning",
    metadata,
    run_id(),
    sa.Column("step_index", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    text("code", null=False),
    text("message", null=False),
    text("advice", null=False),
    text("step"),
)
