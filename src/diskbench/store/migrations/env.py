"""Alembic's entry: runs on the connection that store.database hands over, on our tables only."""

from alembic import context

from diskbench.store.schema import PREFIX, VERSION_TABLE, metadata


def ours(name: str | None, kind: str, _parents: object) -> bool:
    """Whether a thing found in the database is ours; DBOS's tables are not."""
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
