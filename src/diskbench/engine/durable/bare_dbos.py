"""DBOS without what it imports for features that are not used here.

DBOS imports psycopg also where the database is SQLite, with it SQLAlchemy's dialects for drivers
that nobody has, and SQLAlchemy's ORM for transactions of the user's own, which diskbench has not;
dateutil and croniter, which only schedules need, and click for its own command line: together half
of its import, which was a quarter of all that a run imports. DBOS's own modules, and no others, get
stand-ins for them (stand_ins.py). A stand-in loads the real module when it is first used; the ORM's
classes are names for annotations and `isinstance`, of which nothing here is an instance. What was
imported before stays as it is.
"""

from __future__ import annotations

from diskbench.stand_ins import LaterName, answering, later


class _Unused:
    """A class of the ORM. Raises RuntimeError where DBOS wants an object of it after all."""

    def __class_getitem__(cls, _: object) -> type[_Unused]:
        return cls

    def __new__(cls, *_: object, **__: object) -> _Unused:
        raise RuntimeError(f"DBOS makes a {cls.__name__}: see engine/durable/bare_dbos.py")


_POSTGRES = "sqlalchemy.dialects.postgresql"
_DRIVERS = ("asyncpg", "pg8000", "psycopg2", "psycopg2cffi")
"""What SQLAlchemy imports for PostgreSQL beside psycopg's dialect."""
_ORM = {
    "sqlalchemy.orm": ("Session", "sessionmaker"),
    "sqlalchemy.ext.asyncio": (
        *("AsyncConnection", "AsyncEngine", "AsyncSession"),
        *("async_sessionmaker", "create_async_engine"),
    ),
}
"""What DBOS imports by name of SQLAlchemy's ORM."""
_NAMES = {
    "croniter": ("croniter",),
    "dateutil.parser": ("isoparse",),
    "dbos.cli.migration": ("run_dbos_database_migrations",),
}
"""Functions and classes that DBOS imports by name and calls for schedules and migrations only."""
_psycopg_errors = later("psycopg.errors")

with answering(
    ("dbos", _POSTGRES),
    {
        "psycopg": later("psycopg", errors=_psycopg_errors),
        "psycopg.errors": _psycopg_errors,
        **{f"{_POSTGRES}.{name}": later(f"{_POSTGRES}.{name}") for name in _DRIVERS},
        **{
            module: later(module, **{name: type(name, (_Unused,), {}) for name in names})
            for module, names in _ORM.items()
        },
        **{
            module: later(module, **{name: LaterName(module, name) for name in names})
            for module, names in _NAMES.items()
        },
    },
):
    from dbos import DBOS, DBOSClient, Serializer, SetWorkflowID, WorkflowHandle

__all__ = ["DBOS", "DBOSClient", "Serializer", "SetWorkflowID", "WorkflowHandle"]
