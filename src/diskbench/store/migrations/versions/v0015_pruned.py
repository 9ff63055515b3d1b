"""The runs in which `results prune` has nothing more to do, so that it need not look at each."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """From 0014 to 0015."""
    op.create_table(
        "diskbench_pruned",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("evidence_url", sa.Text(), nullable=False),
        sa.Column("logs", sa.Integer(), nullable=False),
        sa.Column("seen_by", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["diskbench_run.run_id"],
            name="fk_diskbench_pruned_run_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("run_id", name="pk_diskbench_pruned"),
    )
