"""The owner of a trial, and a request to stop it, are in the row of its cell alone.

Until now a trial that `diskbench run` began had no cell. Each unfinished one gets the cell that a
run has now: in a matrix of kind `run`, which is deleted when its last cell ends.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_CLAIM = sa.table(
    "diskbench_claim",
    sa.column("trial_id", sa.Text),
    sa.column("owner", sa.Text),
    sa.column("cancel", sa.Boolean),
)
_TRIAL = sa.table(
    "diskbench_trial",
    sa.column("trial_id", sa.Text),
    sa.column("campaign_id", sa.Text),
    sa.column("created_at", sa.Text),
    sa.column("plan", sa.JSON),
)
_MATRIX = sa.table(
    "diskbench_matrix",
    *(
        sa.column(name, sa.Text)
        for name in ("campaign_id", "name", "kind", "state", "order", "created_at")
    ),
    sa.column("limits", sa.JSON),
    sa.column("spec", sa.JSON),
)
_CELL = sa.table(
    "diskbench_cell",
    *(
        sa.column(name, sa.Text)
        for name in (
            "campaign_id", "key", "block", "route", "partition", "state", "trial_id", "owner",
            "queued_at", "started_at",
        )
    ),
    sa.column("position", sa.Integer),
    sa.column("attempt", sa.Integer),
    sa.column("cell", sa.JSON),
    sa.column("zones", sa.JSON),
    sa.column("cancel", sa.Boolean),
)  # fmt: skip


def upgrade() -> None:
    """From 0006 to 0007."""
    op.add_column("diskbench_matrix", sa.Column("kind", sa.Text()))
    bind = op.get_bind()
    _cells_of_runs(bind)
    unfinished = [
        {"trial_id": name} for name in bind.execute(sa.select(_CLAIM.c.trial_id)).scalars()
    ]
    # The table is made anew: SQLite drops columns from version 3.35 on only.
    op.drop_table("diskbench_claim")
    op.create_table(
        "diskbench_claim",
        sa.Column("trial_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["trial_id"],
            ["diskbench_trial.trial_id"],
            name="fk_diskbench_claim_trial_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("trial_id", name="pk_diskbench_claim"),
    )
    op.bulk_insert(sa.table("diskbench_claim", sa.column("trial_id", sa.Text)), unfinished)


def _cells_of_runs(bind: sa.Connection) -> None:
    """The matrix and the cell of each unfinished trial that has none."""
    plan, trial_of_cell = _TRIAL.c.plan, sa.select(_CELL.c.trial_id)
    rows = bind.execute(
        sa.select(
            _CLAIM.c.trial_id, _CLAIM.c.owner, _CLAIM.c.cancel, _TRIAL.c.campaign_id,
            sa.func.coalesce(_TRIAL.c.created_at, "").label("created_at"),
            plan["cell"].label("cell"), plan["profile"]["name"].as_string().label("profile"),
        )
        .join(_TRIAL, _TRIAL.c.trial_id == _CLAIM.c.trial_id)
        .where(_CLAIM.c.trial_id.not_in(trial_of_cell.where(_CELL.c.trial_id.is_not(None))))
        .order_by(_CLAIM.c.trial_id)
    ).all()  # fmt: skip
    runs: dict[str, int] = {}
    for row in rows:
        if row.campaign_id not in runs:
            bind.execute(sa.insert(_MATRIX).values(_matrix(row.campaign_id, row.created_at)))
        position = runs[row.campaign_id] = runs.get(row.campaign_id, -1) + 1
        provider = row.cell["provider"]
        block = f"{provider}/{row.profile}"
        bind.execute(
            sa.insert(_CELL).values(
                campaign_id=row.campaign_id,
                position=position,
                key=f"{block}#{position}",
                block=block,
                route=provider,
                partition=provider,
                cell=row.cell,
                zones=[],
                state="measuring",
                attempt=1,
                trial_id=row.trial_id,
                owner=row.owner,
                cancel=row.cancel or None,
                queued_at=row.created_at,
                started_at=row.created_at,
            )
        )


def _matrix(campaign_id: str, created_at: str) -> dict[str, object]:
    return {
        "campaign_id": campaign_id,
        "name": "run",
        "kind": "run",
        "state": "running",
        "order": "listed",
        "created_at": created_at,
        "limits": {},
        "spec": {},
    }
