"""`diskbench results prune`: remove the raw logs of old runs."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from diskbench.cli.confirm import confirm
from diskbench.cli.selecting import Filters, Selections, Since, Until, asked
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl, database, evidence
from diskbench.errors import InvalidValue
from diskbench.store.evidence_place import check_named, foreign_stores, foreign_words
from diskbench.units import format_bytes, parse_duration_s

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from diskbench.model.run import Run
    from diskbench.results.pruning import RunPruning


def mount(app: typer.Typer) -> None:
    """Add the command to `diskbench results`."""
    app.command()(prune)


def prune(
    keep: Annotated[
        str,
        typer.Option(metavar="TIME", help="Keep the logs of runs that ended within it: 24h, 30d."),
    ],
    selection: Selections = None,
    filter_: Filters = None,
    since: Since = None,
    until: Until = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be freed, and change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Remove the raw fio logs of old runs; their rows and per-second series are kept.

    Without a selection all runs. Every command prints of a pruned run what it printed before, and
    pruned.json in its evidence names each file. A run whose series cannot be made is left, and one
    whose evidence is in a store that neither the settings nor --evidence-url name.
    """
    from diskbench.results import pruning

    keep_s, at = parse_duration_s(keep), datetime.now(UTC)
    try:
        at - timedelta(seconds=keep_s)
    except OverflowError:
        raise InvalidValue(
            f"--keep {keep!r} reaches back before the year 1", advice="write 24h, 30d"
        ) from None
    engine, typed = database(database_url), asked(selection, filter_, since, until)
    store = evidence(evidence_url)
    due = pruning.due_runs(engine, typed, keep_s, at)
    if evidence_url is None:
        due = _of_named(due, store.url)

    def pruned(*, dry_run: bool) -> Iterable[RunPruning]:
        return pruning.prune(due, store, at=at, dry_run=dry_run)

    if dry_run or not yes:
        frees = _print(pruned(dry_run=True), "would free")
        if dry_run or not frees:
            return
        where = f"{frees}, in {store.url}"
        confirm(f"Remove {where}, permanently?", whether=f"free {where}")
    _print(pruned(dry_run=False), "freed")


def _of_named(due: Sequence[Run], named: str) -> list[Run]:
    """The due runs whose evidence is in the store that the settings name; others are named on
    stderr. Raises InvalidValue where all are elsewhere."""
    urls = [run.evidence_url for run in due]
    others = foreign_stores(urls, named)
    if others.total() == len(due):
        check_named(urls, named, whether="prune it")
    elif others:
        print(f"left: {foreign_words(others, named)}", file=sys.stderr)
    return [run for run in due if run.evidence_url not in others]


def _print(prunings: Iterable[RunPruning], verb: str) -> str:
    """Print a line for each trial and the sum; returns the sum, empty where nothing is freed."""
    every: list[tuple[int, int, int]] = []
    small = 0
    for trial_id, runs in groupby(prunings, key=lambda pruning: pruning.run.trial_id):
        freed = []
        for pruning in runs:
            if pruning.left is not None:
                print(f"left run {pruning.run.run_id}: {pruning.left}", file=sys.stderr)
            elif pruning.logs and not pruning.freed_bytes:
                small += 1
            elif pruning.freed_bytes:
                freed.append((1, pruning.logs, pruning.freed_bytes))
        if freed:
            every += freed
            print(f"trial {trial_id}: {verb} {_sum(freed)}")
    if small:
        print(
            f"{small:,} run{'s' * (small != 1)} left: the logs take less than what would be kept "
            "in their place",
            file=sys.stderr,
        )
    if not every:
        print("nothing to free", file=sys.stderr)
        return ""
    print(f"{verb} {_sum(every)}")
    return _sum(every)


def _sum(freed: list[tuple[int, int, int]]) -> str:

    runs, logs, size = (sum(column) for column in zip(*freed, strict=True))
    return (
        f"{format_bytes(size)}: {logs:,} log{'s' * (logs != 1)} of {runs:,} run{'s' * (runs != 1)}"
    )
