"""An evidence store of which every record is read once.

Steps, phases and audits of a run are read by different functions, each of which starts with the
same manifest and the same list of folders: behind a network that was half of the requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.limits import RECORD_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.ports import EvidenceStore

_RECORD = ".json"


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
