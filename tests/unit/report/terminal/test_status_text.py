"""The doctor's table fits a terminal."""

from __future__ import annotations

from diskbench.model.finding import Finding
from diskbench.report.terminal.status_text import finding_lines

LONG = "sqlite:////a/very/long/path/that/nobody/wants/to/read/but/copy/rows.db:"


def finding(told: str, advice: str = "", state: str = "ok") -> Finding:
    return Finding(check="clock", where="this machine", state=state, told=told, advice=advice)


def test_columns_are_as_wide_as_their_widest_cell_and_words_are_wrapped():
    why = "not synchronised by anybody, and nobody knows since when that has been so"
    found = [finding("agrees"), finding(why, "start timesyncd", "warning")]
    assert list(finding_lines(found)) == [
        "ok       clock  this machine  agrees",
        "warning  clock  this machine  not synchronised by anybody, and nobody knows",
        "                              since when that has been so",
        "                              → start timesyncd",
    ]


def test_no_line_is_longer_than_the_terminal():
    words = "word " * 100
    for width in (80, 100, 200):
        lines = list(finding_lines([finding(words, words)], width=width))
        assert max(len(line) for line in lines) <= width


def test_a_path_is_never_broken():
    lines = list(finding_lines([finding(f"{LONG} there is none")]))
    assert lines[1] == f"    {LONG}"
    assert max(len(line) for line in lines) <= 80
    assert list(finding_lines([])) == []
