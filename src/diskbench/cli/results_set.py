"""What `diskbench results show` prints of more than one trial."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

from diskbench.cli.stores import evidence
from diskbench.cli.terminal import print_json, terminal_width
from diskbench.model.ids import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.run import Run
    from diskbench.store.where import Filter


def hint_of_set(database: Engine, run: Run) -> str:
    """Where to see what the trials of a run's matrix say together; empty for a trial alone."""
    from diskbench.store.figures import count_trials

    count = count_trials(database, run.campaign_id)
    if count < 2:
        return ""
    return f"one of {count} trials; together: diskbench results show {short(run.campaign_id)}"


def print_set(
    database: Engine,
    asked: str,
    filters: Sequence[Filter],
    *,
    pool: Sequence[str],
    output: Literal["table", "json", "csv"],
    evidence_url: str | None = None,
) -> None:
    """Print what trials say together, as text, one document, or all their rows."""
    from diskbench.results.pool import facts_to_pool
    from diskbench.results.replicate_set import replicates_of

    store = evidence(evidence_url) if evidence_url else None
    if output == "csv":
        from diskbench.results.exported_rows import rows_as_csv

        sys.stdout.writelines(rows_as_csv(database, filters, evidence=store))
        return
    named = facts_to_pool(pool)
    replicates = replicates_of(database, filters, asked=asked, pool=named, evidence=store)
    if output == "json":
        print_json(replicates.model_dump_json(indent=2))
        return
    from diskbench.report.terminal.compare_text import replicate_lines

    for line in replicate_lines(replicates, width=terminal_width()):
        print(line)
