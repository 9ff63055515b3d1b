"""The simulated course of a catalogue disk under one steady load, as a polars frame."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from diskbench.catalog.limits.expect import CatalogDisk, path_of
from diskbench.catalog.limits.lookup import limits
from diskbench.catalog.limits.simulate import Stage, simulate
from diskbench.catalog.machines.machine import machine_of
from diskbench.model.expectation import LIMIT_WORDS

if TYPE_CHECKING:
    import polars as pl

    from diskbench.catalog.books import Books
    from diskbench.model.expectation import Load


def course_frame(
    books: Books,
    provider: str,
    disk: str,
    size_gib: float,
    load: Load,
    *,
    seconds: float,
    iops: float | None = None,
    throughput: float | None = None,
    instance_type: str | None = None,
    credit: float = 1.0,
    time_scale: float = 1.0,
) -> pl.DataFrame:
    """Return one row per stretch of time with a constant rate; docs/api.md lists the columns.

    `credit` is the initial fill of the buckets (1 is full). Raises UnknownName, InvalidValue.
    """
    import polars as pl

    machine = machine_of(books, provider, instance_type, disk)
    disk_limits = limits(provider, disk, size_gib, iops, throughput)
    path = path_of(CatalogDisk(disk_limits, time_scale=time_scale), machine)
    held = [balance * credit for balance in path.full()]
    course = simulate(path, [Stage(load, seconds=seconds)], credit=held)
    rows = [
        (
            leg.start_s,
            min(leg.start_s + leg.seconds, seconds),
            leg.iops,
            leg.bytes_per_s,
            LIMIT_WORDS[leg.limited_by] if leg.limited_by else None,
        )
        for leg in course.legs
        if not math.isinf(leg.iops)
    ]
    numbers = dict.fromkeys(("start_s", "end_s", "iops", "bytes_per_s"), pl.Float64)
    return pl.DataFrame(rows, schema={**numbers, "limited_by": pl.String}, orient="row")
