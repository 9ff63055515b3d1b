"""Directories of ours are their owner's alone."""

from __future__ import annotations

from pathlib import Path

from diskbench.private import is_private, private_directory


def test_a_directory_that_others_may_read_is_tightened(tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    ours.mkdir()
    ours.chmod(0o755)
    assert not is_private(ours)
    assert is_private(private_directory(ours))


def test_a_new_one_is_private_from_the_start(tmp_path: Path) -> None:
    assert private_directory(tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
