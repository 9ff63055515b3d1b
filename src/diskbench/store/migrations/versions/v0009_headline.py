"""The figure and the trust that stand for a run in lists, as its verdict had them."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """From 0008 to 0009."""
    op.create_table(
        "diskbench_headline",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("iops", sa.Double(), nullable=True),
        sa.Column("bytes_per_s", sa.Double(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=True),
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
