"""Evidence stores: full disks, and what survives a power failure."""

import os
from pathlib import Path

import pytest

from diskbench.errors import StoreUnavailable
from diskbench.store.evidence import open_evidence


def test_a_store_that_is_full_before_anything_began_is_not_to_be_resumed(small_disk):
    store = open_evidence(small_disk.as_uri())
    with pytest.raises(StoreUnavailable, match="No space left"):  # noqa: PT012 - until it is full
        for number in range(10_000):
            store.put(f"ballast/{number}", bytes(2**20 >> min(number // 20, 12)))
    with pytest.raises(StoreUnavailable, match="No space left") as caught:
        store.check_writable()
    assert "resume" not in caught.value.advice
    assert "--evidence-url" in caught.value.advice


def test_settling_a_run_flushes_its_files_and_every_directory_that_names_them(
    tmp_path, monkeypatch
):
    store = open_evidence(tmp_path.as_uri())
    for key in ("runs/a/steps/000-x/fio.json", "runs/a/manifest.json", "runs/b/manifest.json"):
        store.put(key, b"{}")
    flushed = set()

    def fsync(descriptor):
        flushed.add(Path(f"/proc/self/fd/{descriptor}").readlink())

    monkeypatch.setattr(os, "fsync", fsync)
    store.settle("runs/a")

    names = ("runs/a/steps/000-x/fio.json", "runs/a/manifest.json")
    above = ("runs/a/steps/000-x", "runs/a/steps", "runs/a", "runs", ".")
    assert flushed == {tmp_path / name for name in (*names, *above)}
