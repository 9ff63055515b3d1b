"""What was to be rented for a trial, beside its plan: a plan is long, and a comparison of a
thousand trials or a page of a site reads only this of each."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

_TRIAL = "diskbench_trial"
_COLUMNS = {"rent": ("cell", "rent"), "scope": ("rental", "scope")}


def upgrade() -> None:
    """From 0013 to 0014."""
    for name in _COLUMNS:
        op.add_column(_TRIAL, sa.Column(name, sa.JSON(none_as_null=True), nullable=True))
    is_postgres = op.get_bind().dialect.name == "postgresql"
    values = ", ".join(
        # As text: JSON's null is no value then, as where there is no plan.
        f"{name} = CAST(plan #>> '{{{outer},{inner}}}' AS json)"
        if is_postgres
        else f"{name} = json_extract(plan, '$.{outer}.{inner}')"
        for name, (outer, inner) in _COLUMNS.items()
    )
    op.execute(f"UPDATE {_TRIAL} SET {values} WHERE plan IS NOT NULL")  # noqa: S608
