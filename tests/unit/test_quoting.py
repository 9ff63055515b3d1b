"""What goes to a shell is one word, whatever it holds: asked of a real shell."""

import base64
import os
import shlex
import subprocess
import threading
import zlib
from pathlib import Path

import pytest

from diskbench.files import is_private, private_directory, read_text, write_whole
from diskbench.hosts.calls import request
from diskbench.hosts.shell import assignments
from diskbench.ssh_command import ssh_command
from diskbench.units import counted

HOSTILE = ["a b", "$(id)", "`id`", "a'b", 'a"b', "a;b", "a\\b", "*", "~", "a\nb", "-x"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_of_a_request_is_what_the_host_reads(text, monkeypatch):
    program = b"import json, sys; print(json.loads(sys.argv[1])['work'], end='')"
    packed = base64.b64encode(zlib.compress(program)).decode()
    monkeypatch.setattr("diskbench.hosts.calls._agent", lambda: packed)
    read = subprocess.run(
        ["sh", "-c", request("start", work=text)], capture_output=True, text=True, check=True
    )
    assert read.stdout == text


@pytest.mark.parametrize("text", HOSTILE)
def test_a_word_of_an_ssh_command_stays_one(text):
    line = ssh_command("host", text, user="me", config=text)
    assert shlex.split(line) == ["ssh", "-F", text, "me@host", text]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_that_is_put_before_a_script_is_what_it_reads(text):
    script = assignments({"value": text}) + 'printf %s "$value"'
    read = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert read.stdout == text


@pytest.mark.parametrize(("count", "words"), [(0, "0 runs"), (1, "1 run"), (1234, "1,234 runs")])
def test_one_is_singular(count, words):
    assert counted(count, "run") == words


def test_a_file_is_replaced_and_keeps_its_permissions(tmp_path):
    file = tmp_path / "out.csv"
    file.write_text("old")
    file.chmod(0o600)
    write_whole(file, b"new")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_stays_a_link(tmp_path):
    file, link = tmp_path / "out.csv", tmp_path / "latest"
    link.symlink_to(file)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


def test_what_cannot_be_renamed_leaves_nothing_beside(tmp_path, monkeypatch):
    file = tmp_path / "out.csv"
    file.write_text("old")

    def fails(*_: object):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="No space left"):
        write_whole(file, b"new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_fifo_is_written_to_as_it_is(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    write_whole(fifo, b"new")
    reader.join(60)
    assert read == [b"new"]
    assert fifo.is_fifo()


def test_a_folder_that_is_missing_is_said(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "missing" / "out.csv", b"new")


LIMIT = 1000


def test_line_ends_are_made_one_and_a_file_at_the_limit_is_read(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"a\r\nb\rc\n\xc3\xa9")
    assert read_text(file, LIMIT) == "a\nb\nc\né"
    file.write_bytes(b"x" * LIMIT)
    assert len(read_text(file, LIMIT)) == LIMIT


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"x" * (LIMIT + 1), "more than"), (b"\xff", "utf-8"), (b"\xed\xa0\x80", "utf-8")],
    ids=["above the limit", "a byte", "a surrogate"],
)
def test_what_is_too_long_or_no_utf_8_is_refused(tmp_path, data, words):
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(ValueError, match=words):
        read_text(tmp_path / "a", LIMIT)


def test_an_endless_device_is_refused():
    with pytest.raises(ValueError, match="more than"):
        read_text(Path("/dev/zero"), LIMIT)


def test_a_directory_that_others_may_read_is_tightened(tmp_path):
    ours = tmp_path / "ours"
    ours.mkdir()
    ours.chmod(0o755)
    assert not is_private(ours)
    assert is_private(private_directory(ours))


def test_a_new_one_is_private_from_the_start(tmp_path):
    assert private_directory(tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
