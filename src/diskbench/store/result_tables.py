"""Tables of results: they follow from the evidence alone, and can be rebuilt from it. Also the name
conventions, types and shared columns of all tables."""

from functools import partial
from typing import Any

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


def columns(kind: Any, *names: str, null: bool = True) -> list[sa.Column[Any]]:  # noqa: ANN401
    """Several columns of one kind."""
    return [sa.Column(name, kind, nullable=null) for name in names]


texts = partial(columns, sa.Text)


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
    *columns(JSON, "rent", "scope"),
    sa.Index(None, "campaign_id"),
)

run = sa.Table(
    f"{PREFIX}run",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("trial_id", sa.Text, sa.ForeignKey(trial.c.trial_id), nullable=False),
    text("campaign_id", null=False),
    *columns(sa.Integer, "run_index", "replicate", null=False),
    text("state", null=False),
    *texts("error_kind", "error", "advice"),
    text("created_at", null=False),
    *texts("started_at", "finished_at"),
    sa.Column("expected_s", REAL),
    # what was asked for
    text("profile", null=False),
    text("profile_digest"),
    *columns(JSON, "parameters", "labels", null=False),
    text("provider", null=False),
    *texts(
        "address", "target_kind", "target_path", "target_device", "target_identity", "filesystem"
    ),
    sa.Column("size_bytes", COUNT),
    # the machine and the disk, as found
    *texts("hostname", "cloud", "instance_type", "zone", "cpu_model"),
    sa.Column("cpu_count", sa.Integer),
    sa.Column("memory_bytes", COUNT),
    *texts("kernel", "distribution", "virtualisation", "fio_version"),
    *texts("disk_model", "disk_driver", "disk_transport"),
    sa.Column("disk_size_bytes", COUNT),
    # what it is worth
    *columns(sa.Boolean, "emulated", "unverified", "imported", null=False),
    *texts("evidence_url", "diskbench_version"),
    *columns(sa.Integer, "format", "parser_version", null=False),
    text("machine_lease"),
    # when it was measured: null where nobody knows
    text("measured_at"),
    # what was bought (store/run_row.py)
    *texts("region", "disk_cloud", "disk_type"),
    sa.Column("disk_gib", COUNT),
    sa.Column("disk_count", sa.Integer),
    sa.Column("provisioned_iops", COUNT),
    sa.Column("provisioned_bytes_per_s", REAL),
    text("host_cache"),
    sa.Index(None, "trial_id"),
    sa.Index(None, "measured_at", "created_at", "run_id"),
    sa.Index(None, "created_at", "measured_at", "run_id"),
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
    *texts("step", "role", null=False),
    sa.Column("round", sa.Integer),
    *texts("started_at", "finished_at"),
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
    *texts("step", "role", null=False),
    sa.Column("round", sa.Integer),
    sa.Column("jobs", sa.Integer, nullable=False),
    text("rw"),
    sa.Column("block_bytes", COUNT),
    sa.Column("iodepth", sa.Integer),
    # null where a tool of others does not print them
    *columns(COUNT, "ios", "bytes", "runtime_ns"),
    *columns(REAL, "iops", "bytes_per_s"),
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
    *columns(REAL, "cpu_user", "cpu_system"),
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
    *texts("code", "message", "advice", null=False),
    text("step"),
)
