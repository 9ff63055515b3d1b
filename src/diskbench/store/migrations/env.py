"""Alembic's entry: runs on the connection that store.schema_revision hands over, on our tables."""

from alembic import context

from diskbench.store.result_tables import PREFIX, metadata
from diskbench.store.schema_revision import VERSION_TABLE


def ours(name: str | None, kind: str, _parents: object) -> bool:
    """Alembic's `include_name`: our tables and what belongs to them; DBOS's tables are not."""
    return kind != "table" or (name is not None and name.startswith(PREFIX))


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    include_name=ours,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
