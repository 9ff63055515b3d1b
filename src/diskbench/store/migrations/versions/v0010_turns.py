"""Indexes for what the turn of a cell reads, however large its matrix is."""

from alembic import op

revision = "0010"
down_revision = "0009"

_CELL = "diskbench_cell"


def upgrade() -> None:
    """From 0009 to 0010."""
    op.drop_index("ix_diskbench_cell_state", table_name=_CELL)
    for columns in (
        ["state", "campaign_id", "position"],
        ["campaign_id", "queued_at"],
        ["campaign_id", "machine"],
    ):
        op.create_index(f"ix_{_CELL}_{'_'.join(columns)}", _CELL, columns)
