"""The schema of 0.1.0. From the first tag on this file is never changed; a change is one more
revision
(docs/design.md#premises, tests/unit/store/test_schema.py)."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

JSON = sa.JSON(none_as_null=True)


def upgrade() -> None:
    """From nothing to 0001."""
    op.create_table(
        "diskbench_campaign",
        sa.Column("campaign_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text()),
        sa.PrimaryKeyConstraint("campaign_id", name="pk_diskbench_campaign"),
    )
    op.create_table(
        "diskbench_executor",
        sa.Column("executor_id", sa.Text(), nullable=False),
        sa.Column("hostname", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("process_started", sa.Text(), nullable=False),
        sa.Column("beat_at", sa.Text(), nullable=False),
        sa.Column("started_at", sa.Text()),
        sa.Column("version", sa.Text()),
        sa.Column("name", sa.Text()),
        sa.Column("queues", JSON),
        sa.Column("concurrency", sa.Integer()),
        sa.Column("draining", sa.Boolean()),
        sa.Column("secret_id", sa.Text()),
        sa.PrimaryKeyConstraint("executor_id", name="pk_diskbench_executor"),
    )
    op.create_table(
        "diskbench_lease",
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("account", sa.Text()),
        sa.Column("region", sa.Text()),
        sa.Column("endpoint", sa.Text()),
        sa.Column("address", sa.Text()),
        sa.Column("target", JSON),
        sa.Column("run_ids", JSON, nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.Text()),
        sa.Column("hourly_usd", sa.Double()),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("released_at", sa.Text()),
        sa.PrimaryKeyConstraint("lease_id", name="pk_diskbench_lease"),
    )
    op.create_index("ix_diskbench_lease_state", "diskbench_lease", ["state"])
    op.create_table(
        "diskbench_schedule",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("overlap", sa.Text(), nullable=False),
        sa.Column("backfill", sa.Boolean(), nullable=False),
        sa.Column("budget_usd", sa.Double()),
        sa.Column("assume_price_usd_per_hour", sa.Double()),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Text(), nullable=False),
        sa.Column("watched_until", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_diskbench_schedule"),
    )
    op.create_table(
        "diskbench_matrix",
        sa.Column("campaign_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("queue", sa.Text()),
        sa.Column("owner", sa.Text()),
        sa.Column("limits", JSON, nullable=False),
        sa.Column("spec", JSON, nullable=False),
        sa.Column("seed", sa.BigInteger()),
        sa.Column("order", sa.Text(), nullable=False),
        sa.Column("schedule", sa.Text()),
        sa.Column("scheduled_for", sa.Text()),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("finished_at", sa.Text()),
        sa.Column("kind", sa.Text()),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["diskbench_campaign.campaign_id"],
            name="fk_diskbench_matrix_campaign_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("campaign_id", name="pk_diskbench_matrix"),
    )
    op.create_index("ix_diskbench_matrix_state", "diskbench_matrix", ["state"])
    op.create_table(
        "diskbench_occurrence",
        sa.Column("schedule", sa.Text(), nullable=False),
        sa.Column("scheduled_for", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("campaign_id", sa.Text()),
        sa.Column("owner", sa.Text()),
        sa.Column("recorded_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["schedule"],
            ["diskbench_schedule.name"],
            name="fk_diskbench_occurrence_schedule",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("schedule", "scheduled_for", name="pk_diskbench_occurrence"),
    )
    op.create_index("ix_diskbench_occurrence_state", "diskbench_occurrence", ["state"])
    op.create_table(
        "diskbench_trial",
        sa.Column("trial_id", sa.Text(), nullable=False),
        sa.Column("campaign_id", sa.Text(), nullable=False),
        sa.Column("replicate", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Text()),
        sa.Column("plan", JSON),
        sa.Column("rent", JSON),
        sa.Column("scope", JSON),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["diskbench_campaign.campaign_id"],
            name="fk_diskbench_trial_campaign_id",
        ),
        sa.PrimaryKeyConstraint("trial_id", name="pk_diskbench_trial"),
    )
    op.create_index("ix_diskbench_trial_campaign_id", "diskbench_trial", ["campaign_id"])
    op.create_table(
        "diskbench_cell",
        sa.Column("campaign_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("block", sa.Text(), nullable=False),
        sa.Column("route", sa.Text(), nullable=False),
        sa.Column("partition", sa.Text(), nullable=False),
        sa.Column("machine", sa.Text()),
        sa.Column("cell", JSON, nullable=False),
        sa.Column("zones", JSON, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("not_before", sa.Text()),
        sa.Column("trial_id", sa.Text()),
        sa.Column("owner", sa.Text()),
        sa.Column("cancel", sa.Boolean()),
        sa.Column("note", sa.Text()),
        sa.Column("error_kind", sa.Text()),
        sa.Column("error", sa.Text()),
        sa.Column("advice", sa.Text()),
        sa.Column("expected_s", sa.Double()),
        sa.Column("hourly_usd", sa.Double()),
        sa.Column("cost_usd", sa.Double()),
        sa.Column("queued_at", sa.Text()),
        sa.Column("started_at", sa.Text()),
        sa.Column("finished_at", sa.Text()),
        sa.Column("error_data", JSON),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["diskbench_matrix.campaign_id"],
            name="fk_diskbench_cell_campaign_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("campaign_id", "position", name="pk_diskbench_cell"),
    )
    op.create_index(
        "ix_diskbench_cell_campaign_id_machine", "diskbench_cell", ["campaign_id", "machine"]
    )
    op.create_index(
        "ix_diskbench_cell_state_campaign_id_position",
        "diskbench_cell",
        ["state", "campaign_id", "position"],
    )
    op.create_index("ix_diskbench_cell_trial_id", "diskbench_cell", ["trial_id"])
    op.create_table(
        "diskbench_claim",
        sa.Column("trial_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["trial_id"],
            ["diskbench_trial.trial_id"],
            name="fk_diskbench_claim_trial_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("trial_id", name="pk_diskbench_claim"),
    )
    op.create_table(
        "diskbench_machine",
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("campaign_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("trial_id", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text()),
        sa.Column("rental", JSON, nullable=False),
        sa.ForeignKeyConstraint(
            ["lease_id"], ["diskbench_lease.lease_id"], name="fk_diskbench_machine_lease_id"
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["diskbench_matrix.campaign_id"],
            name="fk_diskbench_machine_campaign_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("lease_id", name="pk_diskbench_machine"),
    )
    op.create_index(
        "ix_diskbench_machine_campaign_id_name", "diskbench_machine", ["campaign_id", "name"]
    )
    op.create_table(
        "diskbench_run",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("trial_id", sa.Text(), nullable=False),
        sa.Column("campaign_id", sa.Text(), nullable=False),
        sa.Column("run_index", sa.Integer(), nullable=False),
        sa.Column("replicate", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("error_kind", sa.Text()),
        sa.Column("error", sa.Text()),
        sa.Column("advice", sa.Text()),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("started_at", sa.Text()),
        sa.Column("finished_at", sa.Text()),
        sa.Column("expected_s", sa.Double()),
        sa.Column("profile", sa.Text(), nullable=False),
        sa.Column("profile_digest", sa.Text()),
        sa.Column("parameters", JSON, nullable=False),
        sa.Column("labels", JSON, nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("address", sa.Text()),
        sa.Column("target_kind", sa.Text()),
        sa.Column("target_path", sa.Text()),
        sa.Column("target_device", sa.Text()),
        sa.Column("target_identity", sa.Text()),
        sa.Column("filesystem", sa.Text()),
        sa.Column("size_bytes", sa.BigInteger()),
        sa.Column("hostname", sa.Text()),
        sa.Column("cloud", sa.Text()),
        sa.Column("instance_type", sa.Text()),
        sa.Column("zone", sa.Text()),
        sa.Column("cpu_model", sa.Text()),
        sa.Column("cpu_count", sa.Integer()),
        sa.Column("memory_bytes", sa.BigInteger()),
        sa.Column("kernel", sa.Text()),
        sa.Column("distribution", sa.Text()),
        sa.Column("virtualisation", sa.Text()),
        sa.Column("fio_version", sa.Text()),
        sa.Column("disk_model", sa.Text()),
        sa.Column("disk_driver", sa.Text()),
        sa.Column("disk_transport", sa.Text()),
        sa.Column("disk_size_bytes", sa.BigInteger()),
        sa.Column("emulated", sa.Boolean(), nullable=False),
        sa.Column("unverified", sa.Boolean(), nullable=False),
        sa.Column("imported", sa.Boolean(), nullable=False),
        sa.Column("evidence_url", sa.Text()),
        sa.Column("diskbench_version", sa.Text()),
        sa.Column("format", sa.Integer(), nullable=False),
        sa.Column("parser_version", sa.Integer(), nullable=False),
        sa.Column("machine_lease", sa.Text()),
        sa.Column("measured_at", sa.Text()),
        sa.Column("region", sa.Text()),
        sa.Column("disk_cloud", sa.Text()),
        sa.Column("disk_type", sa.Text()),
        sa.Column("disk_gib", sa.BigInteger()),
        sa.Column("disk_count", sa.Integer()),
        sa.Column("provisioned_iops", sa.BigInteger()),
        sa.Column("provisioned_bytes_per_s", sa.Double()),
        sa.Column("host_cache", sa.Text()),
        sa.ForeignKeyConstraint(
            ["trial_id"], ["diskbench_trial.trial_id"], name="fk_diskbench_run_trial_id"
        ),
        sa.PrimaryKeyConstraint("run_id", name="pk_diskbench_run"),
    )
    op.create_index("ix_diskbench_run_campaign_id", "diskbench_run", ["campaign_id"])
    op.create_index(
        "ix_diskbench_run_disk_type_region_measured_at",
        "diskbench_run",
        ["disk_type", "region", "measured_at"],
    )
    op.create_index(
        "ix_diskbench_run_measured_at_created_at_run_id",
        "diskbench_run",
        ["measured_at", "created_at", "run_id"],
    )
    op.create_index(
        "ix_diskbench_run_profile_created_at", "diskbench_run", ["profile", "created_at"]
    )
    op.create_index(
        "ix_diskbench_run_region_measured_at", "diskbench_run", ["region", "measured_at"]
    )
    op.create_index("ix_diskbench_run_state", "diskbench_run", ["state"])
    op.create_index("ix_diskbench_run_trial_id", "diskbench_run", ["trial_id"])
    op.create_table(
        "diskbench_timing",
        sa.Column("trial_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["trial_id"],
            ["diskbench_trial.trial_id"],
            name="fk_diskbench_timing_trial_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("trial_id", "name", name="pk_diskbench_timing"),
    )
    op.create_table(
        "diskbench_headline",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("iops", sa.Double()),
        sa.Column("bytes_per_s", sa.Double()),
        sa.Column("kind", sa.Text()),
        sa.Column("trust", sa.Text(), nullable=False),
        sa.Column("judged_by", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["diskbench_run.run_id"],
            name="fk_diskbench_headline_run_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("run_id", name="pk_diskbench_headline"),
    )
    op.create_table(
        "diskbench_measurement",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("step_index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("job_index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("direction", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("round", sa.Integer()),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.Column("rw", sa.Text()),
        sa.Column("block_bytes", sa.BigInteger()),
        sa.Column("iodepth", sa.Integer()),
        sa.Column("ios", sa.BigInteger()),
        sa.Column("bytes", sa.BigInteger()),
        sa.Column("runtime_ns", sa.BigInteger()),
        sa.Column("iops", sa.Double()),
        sa.Column("bytes_per_s", sa.Double()),
        sa.Column("lat_mean_ns", sa.Double()),
        sa.Column("lat_min_ns", sa.BigInteger()),
        sa.Column("lat_max_ns", sa.BigInteger()),
        sa.Column("lat_stddev_ns", sa.Double()),
        sa.Column("clat_mean_ns", sa.Double()),
        sa.Column("clat_min_ns", sa.BigInteger()),
        sa.Column("clat_max_ns", sa.BigInteger()),
        sa.Column("clat_stddev_ns", sa.Double()),
        sa.Column("clat_samples", sa.BigInteger()),
        sa.Column("slat_mean_ns", sa.Double()),
        sa.Column("slat_max_ns", sa.BigInteger()),
        sa.Column("quantiles_of", sa.Text()),
        sa.Column("p50_ns", sa.Double()),
        sa.Column("p90_ns", sa.Double()),
        sa.Column("p95_ns", sa.Double()),
        sa.Column("p99_ns", sa.Double()),
        sa.Column("p99_9_ns", sa.Double()),
        sa.Column("p99_99_ns", sa.Double()),
        sa.Column("cpu_user", sa.Double()),
        sa.Column("cpu_system", sa.Double()),
        sa.Column("context_switches", sa.BigInteger()),
        sa.Column("short_ios", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["diskbench_run.run_id"],
            name="fk_diskbench_measurement_run_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "run_id",
            "step_index",
            "scope",
            "job_index",
            "job",
            "direction",
            name="pk_diskbench_measurement",
        ),
    )
    op.create_table(
        "diskbench_progress",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("step_index", sa.Integer(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("round", sa.Integer()),
        sa.Column("tick", JSON),
        sa.Column("updated_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["diskbench_run.run_id"],
            name="fk_diskbench_progress_run_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("run_id", name="pk_diskbench_progress"),
    )
    op.create_table(
        "diskbench_step",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("step_index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("round", sa.Integer()),
        sa.Column("started_at", sa.Text()),
        sa.Column("finished_at", sa.Text()),
        sa.Column("fio_exit", sa.Integer(), nullable=False),
        sa.Column("fio_version", sa.Text(), nullable=False),
        sa.Column("seconds_in_fio", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["diskbench_run.run_id"],
            name="fk_diskbench_step_run_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("run_id", "step_index", name="pk_diskbench_step"),
    )
    op.create_table(
        "diskbench_warning",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("step_index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("advice", sa.Text(), nullable=False),
        sa.Column("step", sa.Text()),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["diskbench_run.run_id"],
            name="fk_diskbench_warning_run_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("run_id", "step_index", "position", name="pk_diskbench_warning"),
    )
