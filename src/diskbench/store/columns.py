"""The building blocks of the tables: name conventions, types, and shared columns."""

import sqlalchemy as sa

PREFIX = "diskbench_"

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

JSON = sa.JSON(none_as_null=True)
COUNT = sa.BigInteger
"""Counts, bytes and nanoseconds exceed PostgreSQL's 32-bit integer."""
REAL = sa.Double


def text(name: str, *, null: bool = True) -> sa.Column[str]:
    """A text column."""
    return sa.Column(name, sa.Text, nullable=null)


def run_id(*, ondelete: str = "CASCADE") -> sa.Column[str]:
    """The id of the row's run, the first column of its primary key."""
    key = sa.ForeignKey(f"{PREFIX}run.run_id", ondelete=ondelete)
    return sa.Column("run_id", sa.Text, key, primary_key=True)
