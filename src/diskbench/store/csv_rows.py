"""Rows as CSV text: what a spreadsheet shows and never computes."""

from __future__ import annotations

import csv
import io
import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from diskbench.model.run import AFTER_CLIFF, MEASURED_FIELDS, RUN_FIELDS, own_values, run_values
from diskbench.store.where import OF_ROWS, OF_RUNS
from diskbench.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from diskbench.model.run import MeasuredRow, Run

_NUMBERS = frozenset({"int", "float"})
_OWN = (*MEASURED_FIELDS, AFTER_CLIFF)
_AT = {name: at for at, name in enumerate(_OWN)}
_RUN_WORDS = tuple(at for at, name in enumerate(RUN_FIELDS) if OF_RUNS[name] not in _NUMBERS)
_OWN_WORDS = tuple(at for at, name in enumerate(_OWN) if OF_ROWS.get(name) not in _NUMBERS)
"""The places of cells that are not numbers: csv writes those as they are."""
_ENCODE = json.JSONEncoder(ensure_ascii=False).encode


def csv_text(rows: Iterable[Mapping[str, Any]], fields: Sequence[str]) -> str:
    """Rows as CSV with a header; None is empty, mappings are JSON, booleans `true` or `false`.

    Control characters in text are made visible, and text that a spreadsheet would take for a
    formula begins with an apostrophe; numbers stay numbers.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_inert, fields))
    writer.writerows([_cell(row[name]) for name in fields] for row in rows)
    return text.getvalue()


def measured_header() -> str:
    """The first line of the CSV text of measurement rows: the columns of their run, then theirs."""
    return csv_text([], [*RUN_FIELDS, *_OWN])


def csv_lines(rows: Iterable[tuple[MeasuredRow, Mapping[str, Any]]]) -> Iterator[str]:
    """Measurement rows as lines of CSV text, as `csv_text` writes them, each with what is changed
    of its own columns. The part of a run is written once for all rows that follow each other."""
    written = _LastLine()
    writer = csv.writer(written, lineterminator="\n")
    before: Run | None = None
    begin = ""
    for row, changes in rows:
        if row.run is not before:
            before = row.run
            writer.writerow(_cells(run_values(before), _RUN_WORDS))
            begin = written.line[:-1]
        values = [*own_values(row), None]
        for name, value in changes.items():
            values[_AT[name]] = value
        writer.writerow(_cells(values, _OWN_WORDS))
        yield f"{begin},{written.line}"


class _LastLine:
    """A file that keeps the last line that was written to it."""

    line = ""

    def write(self, text: str, /) -> None:
        self.line = text


def _cells(values: Iterable[object], words: Sequence[int]) -> list[object]:
    """The cells of values, of which those at `words` are not numbers."""
    cells = list(values)
    for at in words:
        if (value := cells[at]) is not None:
            cells[at] = _inert(value) if type(value) is str else _cell(value)
    return cells


def _cell(value: object) -> object:
    if value is None or type(value) in (int, float):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    plain = _ENCODE(value) if isinstance(value, dict | list) else value
    return _inert(plain) if isinstance(plain, str) else plain


_FORMULA = re.compile(r"\s*[=+\-@\uff0b\uff0d\uff1d\uff20]|[\t\r\n]")
"""The first characters of a spreadsheet formula (OWASP, CSV Injection), full-width ones too."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@lru_cache(maxsize=4096)
def _inert(text: str) -> str:
    """Text that a spreadsheet shows and never computes; text that is a number stays unchanged."""
    risky = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return f"'{visible(text)}" if risky else visible(text)
