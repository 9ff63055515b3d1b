"""Where the evidence of a run is, as its row says it, and which store the configuration names.
A row names evidence below the directory of its SQLite file relative to that directory
(`./evidence`), so that a data directory that was copied or moved means its own evidence. Evidence
anywhere else has its whole URL. A store in a row that is not the one of the settings is foreign: it
may be that of the directory from which this database was copied. It is read, with one warning,
and changed only after its URL was typed."""

from __future__ import annotations

import logging
import os
from collections import Counter
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from diskbench.errors import InvalidValue, StoreUnavailable
from diskbench.store.urls import database_file, evidence_directory, printable
from diskbench.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.engine import Engine

_HERE = "./"
_settings_url: str | None = None
"""The store that the settings of this process name."""
_reported: set[str] = set()
"""The foreign stores of which a warning was given."""
_lock = Lock()


def directory_of_engine(database: Engine) -> Path | None:
    """The directory of the file of a SQLite database, without symbolic links; None for any other
    database."""
    file = database_file(database.url.render_as_string(hide_password=False))
    return None if file is None else Path(os.path.realpath(file)).parent


def kept_url(url: str, directory: Path | None) -> str:
    """A store's URL as a row of the database in `directory` names it."""
    place = evidence_directory(url)
    if directory is None or place is None:
        return url
    real = Path(os.path.realpath(place))
    if not real.is_relative_to(directory):
        return url
    below = (directory / "x").as_uri()[:-1]
    return _HERE + real.as_uri().removeprefix(below.rstrip("/")).lstrip("/")


def whole_url(kept: str, directory: Path | None) -> str:
    """The URL of the store that a row of the database in `directory` names `kept`."""
    if directory is None or not kept.startswith(_HERE):
        return kept
    return (directory / unquote(kept.removeprefix(_HERE))).as_uri()


def is_same_store(url: str, other: str) -> bool:
    """Whether two URLs name the same store. Symbolic links count as other names, except above a
    directory that is there."""
    return _plain(url) == _plain(other)


def _plain(url: str) -> str:
    place = evidence_directory(url)
    if place is None:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.netloc}/{parts.path.strip('/')}"
    return f"file://{os.path.realpath(place.parent)}/{place.name}"


def name_store(url: str) -> None:
    """Note which store the settings of this command name."""
    global _settings_url
    with _lock:
        _settings_url = url
        _reported.clear()


def check_readable(url: str) -> None:
    """Warn once that a store in rows is not the one of the settings. Raises StoreUnavailable where
    it was a directory that is not there, instead of making it."""
    with _lock:
        named, is_reported = _settings_url, url in _reported
        _reported.add(url)
    if named is None or is_same_store(url, named):
        return
    shown, place = printable(url), evidence_directory(url)
    if place is not None and not place.is_dir():
        raise StoreUnavailable(
            f"evidence {shown}: there is no directory {place}",
            advice="name the place that it was moved to with --evidence-url, or write it into the "
            "rows with 'diskbench results rebuild'",
        )
    if not is_reported:
        logging.getLogger(__name__).warning(
            "evidence is read from %s, as the rows of its runs say; the settings name %s",
            shown,
            printable(named),
        )


def check_named(urls: Iterable[str | None], named: str, *, whether: str, advice: str = "") -> None:
    """Raise InvalidValue where one of the `urls` in the rows of runs is not the store that the
    settings name: it may belong to another data directory. `whether` says what is to be done."""
    others = foreign_stores(urls, named)
    if others:
        flags = " or ".join(f"--evidence-url {printable(url)}" for url in sorted(others))
        raise InvalidValue(
            foreign_words(others, named), advice=f"to {whether} there, type {flags}{advice}"
        )


def foreign_stores(urls: Iterable[str | None], named: str) -> Counter[str]:
    """The stores in rows that the settings do not name, each with how many runs it has."""
    counts = Counter(url for url in urls if url is not None)
    return Counter({url: n for url, n in counts.items() if not is_same_store(url, named)})


def foreign_words(others: Counter[str], named: str) -> str:
    """Which runs are in stores that the settings do not name."""
    where = "; ".join(
        f"the evidence of {counted(n, 'run')} is in {printable(url)}"
        for url, n in sorted(others.items())
    )
    return f"{where}, and the settings name {printable(named)}"
