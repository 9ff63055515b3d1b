"""Where the time of a trial went."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """From 0001 to 0002."""
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
