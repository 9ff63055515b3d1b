"""What `diskbench compare A B` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from diskbench.cli.terminal import print_json, terminal_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.comparison import Metric


def compare_two(
    database: Engine,
    a: str,
    b: str,
    *,
    metric: Metric,
    pool: Sequence[str] = (),
    output: Literal["table", "json"],
) -> None:
    """Print B beside A. Raises UnknownName, InvalidValue."""
    from diskbench.results.compare_runs import compare_selections
    from diskbench.results.pool import facts_to_pool

    comparison = compare_selections(database, a, b, metric=metric, pool=facts_to_pool(pool))
    if output == "json":
        print_json(comparison.model_dump_json(indent=2))
        return
    from diskbench.report.terminal.compare_text import compare_lines

    for line in compare_lines(comparison, width=terminal_width()):
        print(line)
