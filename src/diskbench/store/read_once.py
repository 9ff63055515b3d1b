"""An evidence store of which every record is read once, and one of which folders are listed once.

Steps, phases and audits of a run are read by different functions, each of which starts with the
same manifest and the same list of folders: behind a network that was half of the requests. The
charts of a report list the folders of each of its runs again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from diskbench.limits import RECORD_BYTES
from diskbench.ports import EvidenceStore
from diskbench.store.parallel_evidence import is_away

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
