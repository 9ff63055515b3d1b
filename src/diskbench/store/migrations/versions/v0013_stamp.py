"""A number a run that changes with every write, by which a published site finds what is new."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """From 0012 to 0013."""
    op.add_column(
        "diskbench_run",
        sa.Column("stamp", sa.BigInteger, nullable=False, server_default="0"),
    )
    op.drop_index("ix_diskbench_run_trial_id", "diskbench_run")
    op.create_index("ix_diskbench_run_trial_id_stamp", "diskbench_run", ["trial_id", "stamp"])
