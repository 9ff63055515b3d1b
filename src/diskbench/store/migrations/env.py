"""Alembic's entry: runs on the connection that store.database hands over, on our tables only."""

from alembic import context

from diskbench.store.columns import metadata
from diskbench.store.migrations.filters import ours
from diskbench.store.revisions import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    include_name=ours,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
