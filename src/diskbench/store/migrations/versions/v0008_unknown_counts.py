"""Counts, run times and rates of a measurement may be unknown: what a tool does not print is null.

Rows of other tools held what one second makes where the tool prints rates alone. Those figures are
emptied here: PerfKitBenchmarker's and vdbench's counts, those of bonnie++'s phases that name no
amount, and the single I/O of dd without its records. 'diskbench results rebuild' gives the same.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_COUNTS = ("ios", "bytes", "runtime_ns", "clat_samples")
_RATES = ("iops", "bytes_per_s")
_ROW = sa.table(
    "diskbench_measurement",
    *(sa.column(name) for name in ("run_id", "step", "block_bytes", *_COUNTS, *_RATES)),
)
_RUN = sa.table("diskbench_run", sa.column("run_id"), sa.column("provider"))


def upgrade() -> None:
    """Allow null, and empty what no tool printed."""
    with op.batch_alter_table("diskbench_measurement") as batch:
        for name in _COUNTS:
            batch.alter_column(name, existing_type=sa.BigInteger(), nullable=True)
        for name in _RATES:
            batch.alter_column(name, existing_type=sa.Double(), nullable=True)
    _empty("import/perfkit", "ios", "bytes", "runtime_ns", "clat_samples")
    _empty("import/vdbench", "ios", "bytes")
    by_char = _ROW.c.step.in_(("char-write", "char-read"))
    _empty("import/bonnie", "ios", "bytes", "runtime_ns", "iops", "block_bytes", where=by_char)
    _empty(
        "import/bonnie", "ios", "bytes", "runtime_ns", "bytes_per_s", where=_ROW.c.step == "seeks"
    )
    _empty("import/dd", "ios", "iops", where=_ROW.c.block_bytes.is_(None) & (_ROW.c.ios == 1))


def _empty(provider: str, *names: str, where: sa.ColumnElement[bool] | None = None) -> None:
    runs = sa.select(_RUN.c.run_id).where(_RUN.c.provider == provider)
    statement = sa.update(_ROW).where(_ROW.c.run_id.in_(runs))
    if where is not None:
        statement = statement.where(where)
    op.get_bind().execute(statement.values(dict.fromkeys(names)))
