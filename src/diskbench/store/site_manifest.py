"""The manifest of a published site: a SQLite file in its folder, read and written row by row, so
that a site of a million runs is not in memory.

    file     every file of ours: the digest of what it was made of (null: not written yet), its
             size, and what other pages quote from it (JSON)
    trial    every trial of the site: the page of which configuration has it, and a digest of what
             that page quotes from it
    line     every run of the site: its line in tables (JSON), and its place among all runs
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from diskbench.errors import InvalidValue

MANIFEST = "diskbench-site.sqlite"
FORMER = "diskbench-site.json"
"""What it was called as a file of format 1, with all of it in one JSON document."""
FORMAT = 2
_FORMER_FORMAT = 1
_AT_ONCE = 500
_AFTER_ALL = "~"
"""Sorts after every id of a trial."""
_TABLES = """
CREATE TABLE file (name TEXT PRIMARY KEY, digest TEXT, bytes INTEGER NOT NULL DEFAULT 0, told TEXT)
    WITHOUT ROWID;
CREATE TABLE trial (trial_id TEXT PRIMARY KEY, key TEXT NOT NULL, digest TEXT NOT NULL,
    place TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE line (run_id TEXT PRIMARY KEY, trial_id TEXT NOT NULL, place TEXT NOT NULL,
    line TEXT NOT NULL);
CREATE INDEX trial_key ON trial (key, trial_id, digest);
CREATE INDEX line_trial ON line (trial_id);
CREATE INDEX line_place ON line (place);
"""


@dataclass(frozen=True)
class Entry:
    """One file: `digest` of what it was made of (None: not written yet), its size, and the
    `summary` that other pages quote from it (JSON; the column `told`)."""

    digest: str | None = None
    bytes: int = 0
    summary: dict[str, Any] | None = None


@dataclass(frozen=True)
class TrialLines:
    """What a site quotes of a trial: the `key` of its configuration, a digest of all of it, and by
    run its place among all runs, as text that sorts (the newest run last), and its line as JSON."""

    trial_id: str
    key: str
    digest: str
    lines: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class ShownTrial:
    """A trial of the site as it is now: the name of its page, and the stamp of its rows."""

    trial_id: str
    name: str
    stamp: str


class SiteManifest:
    """The tables of a manifest; what is changed lasts after `commit`. What is only known while a
    site is made lies in temporary tables, which SQLite keeps in a file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.execute("CREATE TEMP TABLE wanted (name TEXT PRIMARY KEY) WITHOUT ROWID")
        connection.execute(
            "CREATE TEMP TABLE shown (trial_id TEXT PRIMARY KEY, name TEXT NOT NULL, "
            "stamp TEXT NOT NULL) WITHOUT ROWID"
        )

    def entry(self, name: str) -> Entry | None:
        """The entry of a file of ours; None for any other."""
        query = "SELECT digest, bytes, told FROM file WHERE name = ?"
        row = self._connection.execute(query, (name,)).fetchone()
        return _entry(*row) if row else None

    def entries(self, folder: str) -> Iterator[tuple[str, Entry]]:
        """The files of ours below a folder, by name."""
        query = "SELECT * FROM file WHERE name > ? AND name < ? ORDER BY name"
        for name, *row in self._connection.execute(query, (f"{folder}/", f"{folder}0")):
            yield name, _entry(*row)

    def new(self, names: Iterable[str]) -> list[str]:
        """Those of some names that no file of ours has."""
        unique, known = list(dict.fromkeys(names)), set[str]()
        for start in range(0, len(unique), _AT_ONCE):
            some = unique[start : start + _AT_ONCE]
            query = f"SELECT name FROM file WHERE name IN ({', '.join('?' * len(some))})"  # noqa: S608
            known.update(name for (name,) in self._connection.execute(query, some))
        return [name for name in unique if name not in known]

    def add(self, names: Iterable[str]) -> None:
        """Name files that are not written yet."""
        self._connection.executemany("INSERT INTO file (name) VALUES (?)", ((n,) for n in names))

    def put(self, name: str, entry: Entry) -> None:
        """Note what a named file is made of; the same is not written again."""
        if self.entry(name) != entry:
            summary = None if entry.summary is None else json.dumps(entry.summary)
            self._connection.execute(
                "UPDATE file SET digest = ?, bytes = ?, told = ? WHERE name = ?",
                (entry.digest, entry.bytes, summary, name),
            )

    def forget_digests(self) -> None:
        """Know nothing any more of what the files were made of."""
        self._connection.execute("UPDATE file SET digest = NULL")

    def want(self, names: Iterable[str]) -> None:
        """Note files that are part of the site as it is now."""
        insert = "INSERT OR IGNORE INTO wanted VALUES (?)"
        self._connection.executemany(insert, ((name,) for name in names))

    def wanted(self) -> int:
        """How many files are part of the site as it is now."""
        return int(self._connection.execute("SELECT count(*) FROM wanted").fetchone()[0])

    def unwanted(self) -> list[str]:
        """The files of ours that are no part of the site any more, sorted."""
        query = "SELECT name FROM file WHERE name NOT IN (SELECT name FROM wanted) ORDER BY name"
        return [name for (name,) in self._connection.execute(query)]

    def forget(self, names: Iterable[str]) -> None:
        """Forget files, which are deleted."""
        self._connection.executemany("DELETE FROM file WHERE name = ?", ((n,) for n in names))

    def show(self, trials: Iterable[ShownTrial]) -> None:
        """Note the trials of the site as it is now, and forget what is quoted of all others."""
        self._connection.executemany(
            "INSERT INTO shown VALUES (?, ?, ?)", ((t.trial_id, t.name, t.stamp) for t in trials)
        )
        gone = "SELECT trial_id FROM trial WHERE trial_id NOT IN (SELECT trial_id FROM shown)"
        self.drop_trials([trial_id for (trial_id,) in self._connection.execute(gone)])

    def new_pages(self) -> list[str]:
        """The names of pages of trials that no file of ours has."""
        query = "SELECT name FROM shown WHERE name NOT IN (SELECT name FROM file)"
        return [name for (name,) in self._connection.execute(query)]

    def pages(self) -> Iterator[tuple[ShownTrial, Entry]]:
        """The trials of the site of which it is noted what the site quotes, each with the entry of
        its page."""
        query = (
            "SELECT shown.trial_id, name, stamp, file.digest, bytes, told FROM shown "
            "JOIN file USING (name) JOIN trial USING (trial_id)"
        )
        for trial_id, name, stamp, *row in self._connection.execute(query):
            yield ShownTrial(trial_id, name, stamp), _entry(*row)

    def count_outdated(self) -> int:
        """How many trials have a page that is not noted as wanted."""
        query = "SELECT count(*) FROM shown WHERE name NOT IN (SELECT name FROM wanted)"
        return int(self._connection.execute(query).fetchone()[0])

    def outdated(self) -> Iterator[ShownTrial]:
        """The trials whose pages are not noted as wanted, the newest first; they may be noted
        meanwhile."""
        query = (
            "SELECT trial_id, name, stamp FROM shown WHERE trial_id < ? "
            "AND name NOT IN (SELECT name FROM wanted) ORDER BY trial_id DESC LIMIT ?"
        )
        below = _AFTER_ALL
        while some := self._connection.execute(query, (below, _AT_ONCE)).fetchall():
            yield from (ShownTrial(*row) for row in some)
            below = some[-1][0]

    def put_trial(self, trial: TrialLines) -> None:
        """Note what is quoted of a trial, in place of what was."""
        known = "SELECT key, digest FROM trial WHERE trial_id = ?"
        row = self._connection.execute(known, (trial.trial_id,)).fetchone()
        if row == (trial.key, trial.digest):
            return
        self.drop_trials([trial.trial_id])
        newest = max((place for _, place, _ in trial.lines), default="")
        values = (trial.trial_id, trial.key, trial.digest, newest)
        self._connection.execute("INSERT INTO trial VALUES (?, ?, ?, ?)", values)
        self._connection.executemany(
            "INSERT OR REPLACE INTO line VALUES (?, ?, ?, ?)",
            ((run_id, trial.trial_id, place, line) for run_id, place, line in trial.lines),
        )

    def drop_trials(self, trial_ids: Iterable[str]) -> None:
        """Forget trials with their lines."""
        for trial_id in trial_ids:
            for table in ("line", "trial"):
                delete = f"DELETE FROM {table} WHERE trial_id = ?"  # noqa: S608 - our own names
                self._connection.execute(delete, (trial_id,))

    def configurations(self) -> Iterator[tuple[str, list[str]]]:
        """Each configuration, by its key, with the digests of its trials."""
        key, digests = "", list[str]()
        query = "SELECT key, digest FROM trial ORDER BY key, trial_id"
        for configuration, digest in self._connection.execute(query):
            if configuration != key and digests:
                yield key, digests
                digests = []
            key = configuration
            digests.append(digest)
        if digests:
            yield key, digests

    def trials_of(self, key: str) -> list[str]:
        """The trials of a configuration."""
        query = "SELECT trial_id FROM trial WHERE key = ? ORDER BY trial_id"
        return [trial_id for (trial_id,) in self._connection.execute(query, (key,))]

    def lines_of(self, key: str) -> dict[str, str]:
        """The lines of the runs of a configuration, by run."""
        query = "SELECT run_id, line FROM trial JOIN line USING (trial_id) WHERE key = ?"
        return dict(self._connection.execute(query, (key,)).fetchall())

    def newest(self, limit: int) -> list[str]:
        """The lines of the newest runs, the newest first."""
        query = "SELECT line FROM line ORDER BY place DESC LIMIT ?"
        return [line for (line,) in self._connection.execute(query, (limit,))]

    def keys_newest_first(self) -> list[str]:
        """The configurations, that of the newest run first."""
        query = "SELECT key FROM trial GROUP BY key ORDER BY max(place) DESC"
        return [key for (key,) in self._connection.execute(query)]

    def trial_of(self, run_id: str) -> str | None:
        """The trial of a run of the site."""
        query = "SELECT trial_id FROM line WHERE run_id = ?"
        row = self._connection.execute(query, (run_id,)).fetchone()
        return row[0] if row else None

    def count_lines(self) -> int:
        """How many runs the site has."""
        return int(self._connection.execute("SELECT count(*) FROM line").fetchone()[0])

    def commit(self) -> None:
        """Make the changes last."""
        self._connection.commit()


@contextmanager
def open_manifest(folder: Path) -> Iterator[SiteManifest]:
    """The manifest of the site in a folder, made where there is none, or of one of format 1.

    Raises InvalidValue for one that cannot be read, is of another format, or names files elsewhere.
    """
    path = folder / MANIFEST
    try:
        with closing(sqlite3.connect(path)) as connection:
            # What is deleted is overwritten: the manifest is published with the site.
            connection.execute("PRAGMA secure_delete = ON")
            _check_format(path, connection)
            former = _former(folder / FORMER)
            _check_names(path, (n for (n,) in connection.execute("SELECT name FROM file")))
            manifest = SiteManifest(connection)
            if former:
                manifest.add(name for name in former if manifest.entry(name) is None)
            connection.commit()
            (folder / FORMER).unlink(missing_ok=True)
            yield manifest
    except sqlite3.Error as error:
        raise InvalidValue(
            f"{path} cannot be read or written: {error}", advice="publish into another folder"
        ) from error


def _check_format(path: Path, connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        # One transaction: a kill leaves all tables, or none.
        connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {FORMAT}; COMMIT;")
    elif version != FORMAT:
        raise _other_format(path, version, FORMAT)


def _former(path: Path) -> list[str]:
    """The files that a manifest of format 1 names."""
    if not path.exists():
        return []
    try:
        document = json.loads(path.read_bytes())
        version, names = document["format"], [str(name) for name in document["files"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidValue(
            f"{path} cannot be read: {error}", advice="publish into another folder"
        ) from error
    if version != _FORMER_FORMAT:
        raise _other_format(path, version, _FORMER_FORMAT)
    _check_names(path, names)
    return names


def _other_format(path: Path, version: object, known: int) -> InvalidValue:
    return InvalidValue(
        f"{path} is of format {version}, this diskbench knows {known}",
        advice="use the diskbench that made it, or publish into another folder",
    )


def _check_names(path: Path, names: Iterable[str]) -> None:
    for name in names:
        parts = PurePosixPath(name).parts
        if name.startswith("/") or ".." in parts or not parts:
            raise InvalidValue(
                f"{path} names {name!r}, which is not inside the site",
                advice="another program changed it: publish into another folder",
            )


def _entry(digest: str | None, size: int, summary: str | None) -> Entry:
    return Entry(digest, size, None if summary is None else json.loads(summary))
