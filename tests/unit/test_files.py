"""Files are written whole or not at all, read up to a limit, and private where they have to be."""

import os
import threading
from pathlib import Path

import pytest

from diskbench.files import is_private, private_directory, read_text, write_whole


def test_a_file_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    file.write_text("old")
    file.chmod(0o600)
    write_whole(file, b"new")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "out.csv", tmp_path / "latest"
    link.symlink_to(file)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


def test_what_cannot_be_renamed_leaves_nothing_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "out.csv"
    file.write_text("old")

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="No space left"):
        write_whole(file, b"new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_fifo_is_written_to_as_it_is(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    write_whole(fifo, b"new")
    reader.join(60)
    assert read == [b"new"]
    assert fifo.is_fifo()


def test_a_folder_that_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "missing" / "out.csv", b"new")


LIMIT = 1000


def test_line_ends_are_made_one(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"a\r\nb\rc\n\xc3\xa9")
    assert read_text(file, LIMIT) == "a\nb\nc\né"


def test_a_file_at_the_limit_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"x" * LIMIT)
    assert len(read_text(file, LIMIT)) == LIMIT


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"x" * (LIMIT + 1), "more than"), (b"\xff", "utf-8"), (b"\xed\xa0\x80", "utf-8")],
    ids=["above the limit", "a byte", "a surrogate"],
)
def test_what_is_too_long_or_no_utf_8_is_refused(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(ValueError, match=words):
        read_text(tmp_path / "a", LIMIT)


def test_an_endless_device_is_refused() -> None:
    with pytest.raises(ValueError, match="more than"):
        read_text(Path("/dev/zero"), LIMIT)


def test_a_directory_that_others_may_read_is_tightened(tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    ours.mkdir()
    ours.chmod(0o755)
    assert not is_private(ours)
    assert is_private(private_directory(ours))


def test_a_new_one_is_private_from_the_start(tmp_path: Path) -> None:
    assert private_directory(tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
