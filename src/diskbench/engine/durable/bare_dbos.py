"""DBOS without what it imports for features that are not used here.

DBOS imports psycopg also where the database is SQLite, with it SQLAlchemy's dialects for drivers that
nobody has, and SQLAlchemy's ORM for transactions of the user's own, which are no part of diskbench:
together a third of its import, which was a quarter of all that a run imports. Stand-ins take their
places while DBOS is imported: one of a driver loads the real module when an attribute is first
read, and the ORM's classes are names for annotations and `isinstance`, of which nothing here is an
instance. What was imported before stays as it is.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_DRIVERS = tuple(
    f"sqlalchemy.dialects.postgresql.{name}"
    for name in ("asyncpg", "pg8000", "psycopg2", "psycopg2cffi")
)
"""What SQLAlchemy imports for PostgreSQL beside psycopg's dialect."""
_ORM = {
    "sqlalchemy.orm": ("Session", "sessionmaker"),
    "sqlalchemy.ext.asyncio": (
        *("AsyncConnection", "AsyncEngine", "AsyncSession"),
        *("async_sessionmaker", "create_async_engine"),
    ),
}
"""What DBOS imports by name of SQLAlchemy's ORM."""


class _Later(ModuleType):
    """A module that is imported when an attribute is first read."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the module holds
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


class _Unused:
    """A class of the ORM. Raises RuntimeError where DBOS wants an object of it after all."""

    def __class_getitem__(cls, _: object) -> type[_Unused]:
        return cls

    def __new__(cls, *_: object, **__: object) -> _Unused:
        raise RuntimeError(f"DBOS makes a {cls.__name__}: see engine/durable/bare_dbos.py")


def _stand_ins() -> dict[str, ModuleType]:
    """A module for each that DBOS would import and is not imported yet."""
    modules: dict[str, ModuleType] = {}
    if "psycopg" not in sys.modules:
        modules |= {name: _Later(name) for name in ("psycopg", "psycopg.errors")}
        modules["psycopg"].__dict__["errors"] = modules["psycopg.errors"]
    if "sqlalchemy.dialects.postgresql" not in sys.modules:
        modules |= {name: _Later(name) for name in _DRIVERS}
    for module, names in _ORM.items():
        if module not in sys.modules:
            modules[module] = _Later(module)  # a name that is not listed is the real one
            modules[module].__dict__.update({name: type(name, (_Unused,), {}) for name in names})
    return modules


@contextmanager
def _without_unused() -> Iterator[None]:
    placed = _stand_ins()
    sys.modules.update(placed)
    try:
        yield
    finally:
        for name, module in placed.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


with _without_unused():
    from dbos import DBOS, DBOSClient, Serializer, SetWorkflowID, WorkflowHandle

__all__ = ["DBOS", "DBOSClient", "Serializer", "SetWorkflowID", "WorkflowHandle"]
