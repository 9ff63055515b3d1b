"""Published figures as a polars frame; docs/api.md lists its columns and units."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from diskbench.catalog.published.figures import load_published, rows

if TYPE_CHECKING:
    import polars as pl


def published_frame() -> pl.DataFrame:
    """One row a figure, in the order of the posts and their tables."""
    import polars as pl

    flat = rows(load_published())
    for row in flat:
        row["parameters"] = json.dumps(row["parameters"])
    numbers = {
        "memory_gib", "size_gib", "provisioned_iops", "runtime_s", "value", "stddev",
        "busiest_core",
    }  # fmt: skip
    special: dict[str, pl.DataType] = {
        **dict.fromkeys(numbers, pl.Float64()),
        **dict.fromkeys(("cores", "n"), pl.Int64()),
        "samples": pl.List(pl.Float64()),
        "printed_samples": pl.List(pl.String()),
        "notes": pl.List(pl.String()),
        "approximate": pl.Boolean(),
    }
    return pl.DataFrame(flat, schema={name: special.get(name, pl.String()) for name in flat[0]})
