"""Which things in a shared database are ours."""

from diskbench.store.columns import PREFIX
from diskbench.store.result_tables import END_INDEXES, LABELS_INDEX


def ours(name: str | None, kind: str, _parents: object) -> bool:
    """Alembic's `include_name`: our tables and what belongs to them; DBOS's tables are not, nor is
    the indexes of expressions, which Alembic cannot compare."""
    if kind == "table":
        return name is not None and name.startswith(PREFIX)
    return name != LABELS_INDEX and name not in END_INDEXES
