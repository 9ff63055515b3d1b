"""Indexes that give the newest runs of a disk or a region, and a run by the end of its id."""

from alembic import op

revision = "0012"
down_revision = "0011"

_ENDS = ("run_id", "trial_id", "campaign_id")


def upgrade() -> None:
    """From 0011 to 0012."""
    op.drop_index("ix_diskbench_run_region_measured_at", "diskbench_run")
    for column in ("disk_type", "region"):
        op.create_index(
            f"ix_diskbench_run_{column}_measured_at_trial_id",
            "diskbench_run",
            [column, "measured_at", "trial_id"],
        )
    for name in _ENDS:
        op.execute(
            f"CREATE INDEX ix_diskbench_run_{name}_end ON diskbench_run "
            f"(substr({name}, length({name}) - 7))"
        )
