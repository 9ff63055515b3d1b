"""Evidence stores behind a network: several calls at a time; a store of which every record is read
once, and one of which folders are listed once.

Steps, phases and audits of a run are read by different functions, each of which starts with the
same manifest and the same list of folders: behind a network that was half of the requests. The
charts of a report list the folders of each of its runs again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast

from diskbench.limits import RECORD_BYTES
from diskbench.parallel import all_of
from diskbench.ports import EvidenceStore
from diskbench.store.urls import evidence_directory

AT_ONCE = 16
"""Calls at a time; our choice: at 20 ms each 800 a second, more than one process can parse."""
WINDOW = 64
"""Runs that are read or written before the next ones are begun: a bound of what is in memory."""

_thread = threading.local()

One = TypeVar("One")
Answer = TypeVar("Answer")


def is_away(store: EvidenceStore) -> bool:
    """Whether calls to a store wait for a network."""
    return evidence_directory(store.url) is None


def each(
    store: EvidenceStore, do: Callable[[One], Answer], arguments: Sequence[One]
) -> list[Answer]:
    """The results of `do` in order, several at a time where the store is behind a network: on this
    machine threads only wait for each other. Calls of `each` within `do` are made one by one, so
    that there are never more than AT_ONCE. After the first exception no further call is started."""
    if len(arguments) < 2 or not is_away(store) or getattr(_thread, "is_one_of_several", False):
        return [do(argument) for argument in arguments]

    def one_of_several(argument: One) -> Answer:
        _thread.is_one_of_several = True
        return do(argument)

    return all_of(one_of_several, arguments, at_once=AT_ONCE)


_RECORD = ".json"
_MOST_LISTED = 20_000
"""Folders whose names are kept, those that were asked for last: 10 MB of a run with a few steps."""


class ListedOnce:
    """A store that keeps the names of folders which were listed, for threads that read runs whose
    steps have ended. Whatever else is asked of it the store itself does."""

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store
        self.folders = lru_cache(_MOST_LISTED)(store.folders)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
        return getattr(self._store, name)


def listed_once(store: EvidenceStore) -> EvidenceStore:
    """The store, a ListedOnce where it is behind a network."""
    return cast("EvidenceStore", ListedOnce(store)) if is_away(store) else store


class ReadOnce:
    """A store that keeps records and names of folders which were read, and also what is missing;
    made for reading one run, by one thread, and dropped then. Whatever else is asked of it the
    store itself does."""

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store
        self._records: dict[str, bytes | None] = {}
        self._folders: dict[str, Sequence[str]] = {}

    def get(self, key: str, *, limit: int = RECORD_BYTES) -> bytes:
        """The bytes of `key`, as EvidenceStore.get."""
        if not key.endswith(_RECORD):
            return self._store.get(key, limit=limit)
        if key not in self._records:
            try:
                self._records[key] = self._store.get(key, limit=limit)
            except KeyError:
                self._records[key] = None
        data = self._records[key]
        if data is None:
            raise KeyError(key)
        return data

    def folders(self, prefix: str) -> Sequence[str]:
        """The names directly under `prefix/`, as EvidenceStore.folders."""
        if prefix not in self._folders:
            self._folders[prefix] = self._store.folders(prefix)
        return self._folders[prefix]

    def put(self, key: str, data: bytes) -> None:
        """Write under a new key, as EvidenceStore.put."""
        self._records.pop(key, None)
        self._store.put(key, data)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
        return getattr(self._store, name)
