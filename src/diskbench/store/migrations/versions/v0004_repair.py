"""Complete a schema that an earlier form of 0001 or 0003 made.

Until 22 November 2026 these two migrations were edited in place, so a database at 0003 may lack
tables, columns and indexes, and hold one index under an old name. Nothing is added to a database
that is complete.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """From any 0003 to 0004."""
    _add_columns(
        "diskbench_measurement",
        # Rows that have no position were written in the order of their jobs.
        sa.Column("position", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("quantiles_of", sa.Text()),
    )
    _add_columns(
        "diskbench_executor",
        sa.Column("started_at", sa.Text()),
        sa.Column("version", sa.Text()),
        sa.Column("name", sa.Text()),
        sa.Column("queues", sa.JSON()),
        sa.Column("concurrency", sa.Integer()),
        sa.Column("draining", sa.Boolean()),
        sa.Column("secret_id", sa.Text()),
    )
    _add_columns("diskbench_run", sa.Column("machine_lease", sa.Text()))
    _add_columns(
        "diskbench_cell", sa.Column("machine", sa.Text()), sa.Column("cancel", sa.Boolean())
    )
    _add_table(
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
    _add_table(
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
    _add_table(
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
    _add_index("diskbench_machine", "ix_diskbench_machine_campaign_id_name", "campaign_id", "name")
    _add_index("diskbench_occurrence", "ix_diskbench_occurrence_state", "state")
    _add_index("diskbench_run", "ix_diskbench_run_created_at_run_id", "created_at", "run_id")
    if "ix_diskbench_run_created_at" in _indexes("diskbench_run"):
        op.drop_index("ix_diskbench_run_created_at", table_name="diskbench_run")
    _plain_json()


def _add_columns(table: str, *columns: sa.Column[object]) -> None:
    there = {column["name"] for column in sa.inspect(op.get_bind()).get_columns(table)}
    for column in columns:
        if column.name not in there:
            op.add_column(table, column)


def _add_table(table: str, *parts: sa.schema.SchemaItem) -> None:
    if not sa.inspect(op.get_bind()).has_table(table):
        op.create_table(table, *parts)


def _add_index(table: str, name: str, *columns: str) -> None:
    if name not in _indexes(table):
        op.create_index(name, table, list(columns))


def _indexes(table: str) -> set[str | None]:
    return {index["name"] for index in sa.inspect(op.get_bind()).get_indexes(table)}


def _plain_json() -> None:
    """The first form of 0001 had JSONB on PostgreSQL, which forgets the order of keys."""
    bind = op.get_bind()
    if bind.dialect.name != "postgresql":
        return
    for table, column in (
        ("diskbench_lease", "target"),
        ("diskbench_lease", "run_ids"),
        ("diskbench_trial", "plan"),
        ("diskbench_run", "parameters"),
        ("diskbench_run", "labels"),
        ("diskbench_progress", "tick"),
    ):
        found = next(one for one in sa.inspect(bind).get_columns(table) if one["name"] == column)
        if str(found["type"]) == "JSONB":
            op.alter_column(
                table, column, type_=sa.JSON(), postgresql_using=f"{column}::text::json"
            )
