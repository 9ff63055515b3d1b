"""Indexes by which runs are selected: matrix, disk and region, labels."""

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """From 0010 to 0011."""
    op.create_index("ix_diskbench_run_campaign_id", "diskbench_run", ["campaign_id"])
    op.create_index(
        "ix_diskbench_run_disk_type_region_measured_at",
        "diskbench_run",
        ["disk_type", "region", "measured_at"],
    )
    op.create_index(
        "ix_diskbench_run_region_measured_at", "diskbench_run", ["region", "measured_at"]
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE INDEX ix_diskbench_run_labels ON diskbench_run "
            "USING gin (CAST(labels AS jsonb) jsonb_path_ops)"
        )
