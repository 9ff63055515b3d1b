"""What a terminal shows: letters and colours that it has, readable errors, and 80 columns; a word
that must be copied whole may be longer. The help of each command: tests/golden/help."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.cli import main
from diskbench.cli.lazy import COMMANDS
from diskbench.cli.messages import _styled, emit_problem
from diskbench.cli.terminal import nearest, printable
from diskbench.report.terminal.screen import sparkline
from diskbench.visible import MOST


def printed(text, encoding):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    with printable(stream):
        stream.write(text)
        stream.flush()
    assert stream.errors == "strict"
    return raw.getvalue().decode(encoding)


def test_a_terminal_shows_the_letters_that_it_has_and_else_the_nearest():
    assert printed("2 × 5 µs – «é» → 3", "ascii") == "2 x 5 us - ?e? > 3"
    assert printed("5 µs – é", "iso-8859-1") == "5 µs - é"
    blocks = sparkline(range(8))
    assert len(set(nearest(blocks))) == 8


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_encodings_with_all_letters_are_left_alone(encoding):
    assert printed("5 µs – █", encoding).removeprefix("\ufeff") == "5 µs – █"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_whatever_a_label_holds_can_be_printed(text):
    assert nearest(text).isascii()
    printed(text, "ascii")


@pytest.mark.parametrize("text", ["x" * 100_000, "a host says this. " * 9_000])
def test_no_line_of_an_error_is_longer_than_can_be_read(text, capsys):
    emit_problem("InvalidValue", f"{text}\nsecond line", text, 2)
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) < MOST + 60
    assert any("second line" in line for line in lines)
    assert sum("characters more)" in line for line in lines) == 2


def test_colours_are_for_terminals_and_not_for_those_who_want_none(monkeypatch):
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert _styled("error:", "1;31", Terminal()) == "\x1b[1;31merror:\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert _styled("error:", "1;31", Terminal()) == "error:"


@pytest.mark.parametrize(
    "command",
    [
        "providers", "profiles list", "profiles show diskspd", "matrix list", "published list",
        "published show iaas-2018/results/gp2", "catalog disks",
        "catalog instances --provider azure", "catalog show Standard_D2s_v3",
        "plan --provider aws --disk gp2 --size 20 --profile sustained --offline", "results list",
        "config",
    ],
)  # fmt: skip
def test_no_line_is_wider(command, diskbench):
    lines = diskbench(*command.split()).splitlines()
    assert [line for line in lines if len(line) > 80 and len(line.split()) > 1] == []


@pytest.mark.parametrize("words", ["", *COMMANDS], ids=lambda words: words or "diskbench")
def test_the_help_says_what_its_file_says(words, golden, monkeypatch, capsys):
    for name in ("TERMINAL_WIDTH", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    assert main.main([*words.split(), "--help"]) == 0
    name = "-".join(["diskbench", *words.split()])
    golden.check(f"help/{name}.txt", capsys.readouterr().out)
