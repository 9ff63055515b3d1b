"""Matrices and their cells, and the workers that measure them."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """From 0002 to 0003."""
    op.create_table(
        "diskbench_matrix",
        sa.Column("campaign_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("queue", sa.Text()),
        sa.Column("owner", sa.Text()),
        sa.Column("limits", sa.JSON(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("seed", sa.BigInteger()),
        sa.Column("order", sa.Text(), nullable=False),
        sa.Column("schedule", sa.Text()),
        sa.Column("scheduled_for", sa.Text()),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("finished_at", sa.Text()),
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
        "diskbench_cell",
        sa.Column("campaign_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("block", sa.Text(), nullable=False),
        sa.Column("route", sa.Text(), nullable=False),
        sa.Column("partition", sa.Text(), nullable=False),
        sa.Column("machine", sa.Text()),
        sa.Column("cell", sa.JSON(), nullable=False),
        sa.Column("zones", sa.JSON(), nullable=False),
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
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["diskbench_matrix.campaign_id"],
            name="fk_diskbench_cell_campaign_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("campaign_id", "position", name="pk_diskbench_cell"),
    )
    op.create_index("ix_diskbench_cell_state", "diskbench_cell", ["state"])
    op.create_index("ix_diskbench_cell_trial_id", "diskbench_cell", ["trial_id"])
    for column in (
        sa.Column("started_at", sa.Text()),
        sa.Column("version", sa.Text()),
        sa.Column("name", sa.Text()),
        sa.Column("queues", sa.JSON()),
        sa.Column("concurrency", sa.Integer()),
        sa.Column("draining", sa.Boolean()),
        sa.Column("secret_id", sa.Text()),
    ):
        op.add_column("diskbench_executor", column)
    op.add_column("diskbench_run", sa.Column("machine_lease", sa.Text()))
    op.create_table(
        "diskbench_machine",
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("campaign_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("trial_id", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text()),
        sa.Column("rental", sa.JSON(), nullable=False),
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
