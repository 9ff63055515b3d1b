"""Export rows as CSV, JSON and Parquet."""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diskbench.model.run import MEASURED_FIELDS, RUN_FIELDS
from diskbench.store import schema
from diskbench.store.result_tables import STAMP
from diskbench.store.where import OF_ROWS
from diskbench.visible import json_escaped, visible

if TYPE_CHECKING:
    import polars as pl

    from diskbench.model.run import Run

INDENTED_RUNS = 20
"""Documents of so many runs are indented for a reader; our choice."""
_ROW_GROUP = 5_000
_PIECE_BYTES = 2**20
_TEXT = "str"
_AS_IT_IS = frozenset({int, float, type(None)})


def csv_text(rows: Iterable[Mapping[str, Any]], fields: Sequence[str]) -> str:
    """Rows as CSV with a header; None is empty, mappings are JSON, booleans `true` or `false`.

    Control characters in text are made visible, and text that a spreadsheet would take for a
    formula begins with an apostrophe; numbers stay numbers.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_inert(name) for name in fields)
    writer.writerows(_cells(row[name] for name in fields) for row in rows)
    return text.getvalue()


def csv_header(names: Sequence[str]) -> str:
    """The first line of CSV text."""
    return csv_text([], names)


def csv_lines(
    rows: Iterable[tuple[Run, Mapping[str, Any]]], of_run: Sequence[str], own: Sequence[str]
) -> Iterator[str]:
    """Rows as lines of CSV text, as `csv_text` writes them: the columns `of_run` of its run, then
    the columns `own` of the row. The part of a run is written once for all rows that follow each
    other."""
    written = _LastLine()
    writer = csv.writer(written, lineterminator="\n")
    values_of = itemgetter(*own)
    texts = [at for at, name in enumerate(own) if OF_ROWS.get(name, _TEXT) == _TEXT]
    before: Run | None = None
    begin = ""
    for run, row in rows:
        if run is not before:
            writer.writerow(_cells(getattr(run, name) for name in of_run))
            before, begin = run, written.line[:-1]
        cells = list(values_of(row))
        for at in texts:
            value = cells[at]
            if type(value) is str:
                cells[at] = _inert(value)
            elif type(value) not in _AS_IT_IS:
                cells[at] = _cell(value)
        writer.writerow(cells)
        yield f"{begin},{written.line}"


class _LastLine:
    """A file that keeps the last line that was written to it."""

    line = ""

    def write(self, text: str, /) -> None:
        self.line = text


def json_text(document: Mapping[str, Any]) -> str:
    """A results document as JSON: indented, or one line per run for more than INDENTED_RUNS runs,
    which is ten times as fast."""
    if len(document["runs"]) <= INDENTED_RUNS:
        return json_escaped(json.dumps(document, indent=2, ensure_ascii=False))
    return "".join(json_lines([document]))


def json_lines(parts: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """One results document of which each of `parts` has some of the runs, one line per run; what
    is beside the runs is taken from the first."""
    separator = ""
    for part in parts:
        if not separator:
            head = json.dumps({key: value for key, value in part.items() if key != "runs"})
            yield f'{head[:-1]}, "runs": ['
            separator = "\n"
        for run in part["runs"]:
            yield separator + json_escaped(json.dumps(run, ensure_ascii=False))
            separator = ",\n"
    yield "\n]}"


def parquet_pieces(rows: Iterable[Mapping[str, Any]], fields: Sequence[str]) -> Iterator[bytes]:
    """Rows as the bytes of a Parquet file, columns typed as in the database; mappings are JSON
    text. What is in memory at a time are _ROW_GROUP rows, which are a row group of the file."""
    import polars as pl

    with tempfile.TemporaryDirectory(prefix="diskbench-export-") as folder:
        left, parts = iter(rows), 0
        while True:
            frame = _frame(list(islice(left, _ROW_GROUP)), fields)
            if parts and not frame.height:
                break
            frame.write_parquet(Path(folder, f"part-{parts:06}.parquet"))
            parts += 1
        whole = Path(folder, "whole.parquet")
        pl.scan_parquet(Path(folder, "part-*.parquet")).sink_parquet(
            whole, row_group_size=_ROW_GROUP
        )
        with whole.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                yield piece


def _frame(rows: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    types: dict[str, Any] = _types()
    return pl.DataFrame(
        [[_plain(row[name]) for name in fields] for row in rows],
        schema={name: types[name] for name in fields},
        orient="row",
    )


def run_fields() -> list[str]:
    """The columns of a run, in order."""
    return list(RUN_FIELDS)


def measurement_fields() -> list[str]:
    """The columns of `find_measurements`, in order: those of the run, then those of the row."""
    return [*RUN_FIELDS, *MEASURED_FIELDS]


def _types() -> dict[str, type[pl.DataType]]:
    import polars as pl

    known: dict[type, type[pl.DataType]] = {
        str: pl.String,
        int: pl.Int64,
        float: pl.Float64,
        bool: pl.Boolean,
        object: pl.String,
    }
    columns = {c.name: c for c in (*schema.measurement.c, *schema.run.c) if c.name != STAMP}
    types = {name: known[column.type.python_type] for name, column in columns.items()}
    return types | {"job_error": pl.Int64, "after_cliff": pl.String}


def _plain(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def _cells(values: Iterable[object]) -> list[object]:
    """Most cells by far are numbers, or empty: csv writes both as they are."""
    return [value if type(value) in _AS_IT_IS else _cell(value) for value in values]


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    plain = "" if value is None else _plain(value)
    return _inert(plain) if isinstance(plain, str) else plain


_FORMULA = re.compile(r"\s*[=+\-@\uff0b\uff0d\uff1d\uff20]|[\t\r\n]")
"""The first characters of a spreadsheet formula (OWASP, CSV Injection), full-width ones too."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@lru_cache(maxsize=4096)
def _inert(text: str) -> str:
    """Text that a spreadsheet shows and never computes; text that is a number stays unchanged."""
    risky = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return f"'{visible(text)}" if risky else visible(text)
