"""Names out of a SQLite database for the shell's completion, read only and without SQLAlchemy,
whose import takes longer than a user waits for a Tab. Any fault means no names, and so does a
database that another version of diskbench wrote."""

from __future__ import annotations

import json
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from diskbench.errors import DiskbenchError
from diskbench.store.sqlite_file import open_sqlite, sqlite_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MOST = 50
"""How many names are read, the newest; our choice."""
_BUSY_S = 0.2


def recent_runs(file: Path) -> list[tuple[str, str]]:
    """The newest runs: id, and where, what and when in a few words."""
    rows = _rows(
        file,
        "SELECT run_id, profile, coalesce(disk_type, target_path, target_device, ''), "
        "coalesce(substr(measured_at, 1, 16), '') FROM diskbench_run "
        "ORDER BY run_id DESC LIMIT ?",
    )
    return [(run_id, " ".join(word for word in words if word)) for run_id, *words in rows]


def matrix_names(file: Path) -> list[tuple[str, str]]:
    """The matrices that were begun, the newest first: id and name. Those of runs are none."""
    rows = _rows(
        file,
        "SELECT campaign_id, name FROM diskbench_matrix WHERE kind IS NULL "
        "ORDER BY created_at DESC LIMIT ?",
    )
    return [(campaign_id, name) for campaign_id, name in rows]


def schedule_names(file: Path) -> list[str]:
    """The schedules, sorted."""
    return [name for (name,) in _rows(file, "SELECT name FROM diskbench_schedule LIMIT ?")]


def label_pairs(file: Path) -> list[tuple[str, str]]:
    """The keys and values of labels that the newest runs have."""
    rows = _rows(
        file,
        "SELECT labels FROM diskbench_run WHERE labels NOT IN ('{}', 'null') "
        "ORDER BY run_id DESC LIMIT ?",
    )
    pairs: dict[tuple[str, str], None] = {}
    for (text,) in rows:
        with suppress(ValueError, AttributeError):
            pairs |= {(str(key), str(value)): None for key, value in json.loads(text).items()}
    return list(pairs)


def values_of(file: Path, column: str) -> list[str]:
    """The values of a column of the newest runs; none for a column that runs do not have."""
    if not column.isidentifier():
        return []
    rows = _rows(
        file,
        f'SELECT DISTINCT "{column}" FROM (SELECT run."{column}" FROM diskbench_run AS run '  # noqa: S608 - an identifier
        "ORDER BY run.run_id DESC LIMIT ?)",
    )
    return [str(value) for (value,) in rows if value not in (None, "")]


def _rows(file: Path, query: str) -> list[Sequence[Any]]:
    connection = open_sqlite(file, busy_s=_BUSY_S)
    if connection is None:
        return []
    with closing(connection), suppress(DiskbenchError):
        return sqlite_rows(connection, str(file), query, (MOST,))
    return []
