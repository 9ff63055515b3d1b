"""Keep with the error of a cell what is decided by it: retryable, passing, field, exit code. NULL
for an error that was kept without them."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """From 0004 to 0005."""
    op.add_column("diskbench_cell", sa.Column("error_data", sa.JSON()))
