"""A store of which every record is read once, while a run is read."""

from typing import Any

import pytest

from diskbench.store.evidence import open_evidence
from diskbench.store.parallel_evidence import ListedOnce, ReadOnce, listed_once


class Counting:
    """A store that counts what is asked of it."""

    def __init__(self) -> None:
        self._store = open_evidence("memory:///")
        self.asked: list[str] = []

    def get(self, key: str, *, limit: int = 2**20) -> bytes:
        self.asked.append(key)
        return self._store.get(key, limit=limit)

    def folders(self, prefix: str) -> Any:
        self.asked.append(prefix)
        return self._store.folders(prefix)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def test_a_record_and_the_names_of_folders_are_asked_for_once() -> None:
    store: Any = Counting()
    store.put("runs/a/steps/000/step.json", b"{}")
    once = ReadOnce(store)
    for _ in range(3):
        assert once.get("runs/a/steps/000/step.json") == b"{}"
        assert once.folders("runs/a/steps") == ["000"]
    assert store.asked == ["runs/a/steps/000/step.json", "runs/a/steps"]


def test_what_is_missing_is_asked_for_once_and_is_there_when_it_was_written() -> None:
    store: Any = Counting()
    once = ReadOnce(store)
    for _ in range(2):
        with pytest.raises(KeyError):
            once.get("runs/a/manifest.json")
    assert store.asked == ["runs/a/manifest.json"]
    once.put("runs/a/manifest.json", b"{}")
    assert once.get("runs/a/manifest.json") == b"{}"


def test_large_files_are_not_kept() -> None:
    store: Any = Counting()
    store.put("runs/a/derived/000.parquet", b"x")
    once = ReadOnce(store)
    assert [once.get("runs/a/derived/000.parquet") for _ in range(2)] == [b"x", b"x"]
    assert len(store.asked) == 2


def test_a_report_lists_a_folder_of_a_bucket_once_and_of_this_machine_each_time(tmp_path) -> None:
    store: Any = Counting()
    store.put("runs/a/steps/000/step.json", b"{}")
    listed = listed_once(store)
    assert isinstance(listed, ListedOnce)
    for _ in range(3):
        assert listed.folders("runs/a/steps") == ["000"]
        assert listed.folders("runs/b/steps") == []
    assert store.asked == ["runs/a/steps", "runs/b/steps"]
    assert listed.get("runs/a/steps/000/step.json") == b"{}"
    here = open_evidence((tmp_path / "evidence").as_uri())
    assert listed_once(here) is here
