"""Export rows as JSON and Parquet."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diskbench.model.run import AFTER_CLIFF, MEASURED_FIELDS, RUN_FIELDS
from diskbench.store import schema
from diskbench.store.schema import STAMP
from diskbench.visible import json_escaped

if TYPE_CHECKING:
    import polars as pl


INDENTED_RUNS = 20
"""Documents of so many runs are indented for a reader; our choice."""
_ROW_GROUP = 5_000
_PIECE_BYTES = 2**20


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


def parquet_pieces(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Measurement rows as the bytes of a Parquet file, typed as in the database; mappings are JSON
    text. What is in memory at a time are _ROW_GROUP rows, which are a row group of the file."""
    import polars as pl

    with tempfile.TemporaryDirectory(prefix="diskbench-export-") as folder:
        remaining, parts = iter(rows), 0
        fields = (*RUN_FIELDS, *MEASURED_FIELDS, AFTER_CLIFF)
        while True:
            frame = _frame(list(islice(remaining, _ROW_GROUP)), fields)
            if parts and not frame.height:
                break
            frame.write_parquet(Path(folder, f"part-{parts:06}.parquet"))
            parts += 1
        path = Path(folder, "whole.parquet")
        pl.scan_parquet(Path(folder, "part-*.parquet")).sink_parquet(
            path, row_group_size=_ROW_GROUP
        )
        with path.open("rb") as file:
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
    return types | {"job_error": pl.Int64, AFTER_CLIFF: pl.String}


def _plain(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
