"""Which things in a shared database are ours."""

from diskbench.store.schema import PREFIX


def ours(name: str | None, kind: str, _parents: object) -> bool:
    """Alembic's `include_name`: our tables and what belongs to them; DBOS's tables are not."""
    return kind != "table" or (name is not None and name.startswith(PREFIX))
