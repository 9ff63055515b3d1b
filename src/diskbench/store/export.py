"""Export rows as CSV, JSON and Parquet."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from diskbench.model.run import MEASURED_FIELDS, RUN_FIELDS
from diskbench.store import schema
from diskbench.visible import json_escaped, visible

if TYPE_CHECKING:
    import polars as pl

_INDENTED_RUNS = 20


def csv_text(rows: Iterable[Mapping[str, Any]], fields: Sequence[str]) -> str:
    """Rows as CSV with a header; None is empty, mappings are JSON, booleans `true` or `false`.

    Control characters in text are made visible, and text that a spreadsheet would take for a
    formula begins with an apostrophe; numbers stay numbers.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_inert(name) for name in fields)
    writer.writerows([_cell(row[name]) for name in fields] for row in rows)
    return text.getvalue()


def json_text(document: Mapping[str, Any]) -> str:
    """A results document as JSON: indented, or one line per run for more than 20 runs, which is ten
    times as fast."""
    if len(document["runs"]) <= _INDENTED_RUNS:
        return json_escaped(json.dumps(document, indent=2, ensure_ascii=False))
    head = json.dumps({key: value for key, value in document.items() if key != "runs"})
    lines = ",\n".join(
        json_escaped(json.dumps(run, ensure_ascii=False)) for run in document["runs"]
    )
    return f'{head[:-1]}, "runs": [\n{lines}\n]}}'


def parquet_bytes(rows: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> bytes:
    """Rows as Parquet, columns typed as in the database; mappings are JSON text."""
    import polars as pl

    types: dict[str, Any] = _types()
    frame = pl.DataFrame(
        [[_plain(row[name]) for name in fields] for row in rows],
        schema={name: types[name] for name in fields},
        orient="row",
    )
    target = io.BytesIO()
    frame.write_parquet(target)
    return target.getvalue()


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
    columns = {c.name: c for c in (*schema.measurement.c, *schema.run.c)}
    types = {name: known[column.type.python_type] for name, column in columns.items()}
    return types | {"job_error": pl.Int64, "after_cliff": pl.String}


def _plain(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    plain = "" if value is None else _plain(value)
    return _inert(plain) if isinstance(plain, str) else plain


_FORMULA = re.compile(r"\s*[=+\-@\uff0b\uff0d\uff1d\uff20]|[\t\r\n]")
"""The first characters of a spreadsheet formula (OWASP, CSV Injection), full-width ones too."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def _inert(text: str) -> str:
    """Text that a spreadsheet shows and never computes; text that is a number stays unchanged."""
    risky = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return f"'{visible(text)}" if risky else visible(text)
