"""What `diskbench compare A B` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from diskbench.cli.terminal import print_json, terminal_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.comparison import Comparison, Metric
    from diskbench.results.selection import Selection

METRICS: tuple[Metric, ...] = ("iops", "bytes_per_s", "p99_ns")
ALL_METRICS: tuple[Metric, ...] = ("iops", "bytes_per_s", "lat_mean_ns", "p99_ns", "p99_9_ns")


def compare_two(
    database: Engine,
    asked: Selection,
    *,
    metrics: Sequence[Metric],
    pool: Sequence[str] = (),
    output: Literal["table", "json"],
    verbose: bool = False,
) -> None:
    """Print the second of the two names that were asked for beside the first, of the runs that meet
    the filters. Raises UnknownName, InvalidValue."""
    from diskbench.results.compare_runs import compare_metrics
    from diskbench.results.pool import facts_to_pool
    from diskbench.results.selection import conditions

    a, b = asked.names
    within = conditions(database, asked.filters, since=asked.since, until=asked.until)
    comparison = compare_metrics(
        database, a, b, metrics=metrics, pool=facts_to_pool(pool), within=within
    )
    print_comparison(comparison, output=output, verbose=verbose)


def print_comparison(
    comparison: Comparison, *, output: Literal["table", "json"], verbose: bool
) -> None:
    """Print a comparison as tables or as one document."""
    if output == "json":
        print_json(comparison.model_dump_json(indent=2))
        return
    from diskbench.report.terminal.compare_text import compare_lines

    for line in compare_lines(comparison, width=terminal_width(), verbose=verbose):
        print(line)
