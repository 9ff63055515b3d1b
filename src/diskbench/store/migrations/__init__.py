"""Alembic migrations of our tables; run by store.database, never by hand."""
