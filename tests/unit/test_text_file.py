"""Files that users write, read up to a limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from diskbench.text_file import read_text

LIMIT = 1000


def test_line_ends_are_made_one(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"a\r\nb\rc\n\xc3\xa9")
    assert read_text(file, LIMIT) == "a\nb\nc\né"


def test_a_file_at_the_limit_is_read_and_one_above_refused(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"x" * LIMIT)
    assert len(read_text(file, LIMIT)) == LIMIT
    file.write_bytes(b"x" * (LIMIT + 1))
    with pytest.raises(ValueError, match="more than"):
        read_text(file, LIMIT)


@pytest.mark.parametrize("data", [b"\xff", b"\xed\xa0\x80"])
def test_what_is_no_utf_8_is_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "a"
    file.write_bytes(data)
    with pytest.raises(ValueError, match="utf-8"):
        read_text(file, LIMIT)


def test_an_endless_device_is_refused() -> None:
    with pytest.raises(ValueError, match="more than"):
        read_text(Path("/dev/zero"), LIMIT)
