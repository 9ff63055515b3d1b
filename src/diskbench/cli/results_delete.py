"""`diskbench results delete` and `prune`: remove runs, or the raw logs of old ones."""

import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Annotated

import typer

from diskbench.cli.selecting import selecting
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl, database, evidence
from diskbench.cli.terminal import option
from diskbench.errors import InvalidValue
from diskbench.model.ids import short
from diskbench.results.pruning import RunPruning, delete_with_evidence, due_runs, runs_to_delete
from diskbench.results.pruning import prune as prune_logs
from diskbench.results.selection import Selection
from diskbench.store.evidence_place import check_named, foreign_stores, foreign_words
from diskbench.units import counted, format_bytes, parse_duration_s

_KEEP = "; --keep-evidence deletes only the rows"
Yes = Annotated[bool, option("--yes", "-y", "Do not ask for confirmation.")]


@selecting
def delete(
    asked: Selection,
    yes: Yes = False,
    keep_evidence: Annotated[
        bool, option("--keep-evidence", "Delete rows only; `rebuild` brings them back.")
    ] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Delete runs: their evidence and their rows. A trial id deletes all of the trial's runs.

    Evidence is deleted only in the store of the settings, or in the one that --evidence-url names.
    """
    engine = database(database_url)
    doomed = runs_to_delete(engine, asked)
    if not doomed:
        print("no run matches; nothing was deleted", file=sys.stderr)
        return
    store = None if keep_evidence else evidence(evidence_url)
    doomed_words = counted(len(doomed), "run")
    if store is not None:
        if evidence_url is None:
            urls, advice = [run.evidence_url for run in doomed.values()], _KEEP
            check_named(urls, store.url, whether="delete it", advice=advice)
        doomed_words += f" and the evidence in {store.url}"
    if not yes:
        confirm(f"Delete {doomed_words} permanently?", whether=f"delete {doomed_words}")
    delete_with_evidence(engine, doomed, store)
    print(f"deleted {doomed_words}")


@selecting
def prune(
    keep: Annotated[
        str, option("TIME", "Keep the logs of runs that ended within this time: 24h, 30d.")
    ],
    asked: Selection,
    dry_run: Annotated[
        bool, option("--dry-run", "Show what would be freed, and change nothing.")
    ] = False,
    yes: Yes = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Remove the raw fio logs of old runs; their rows and per-second series are kept.

    Without a selection, all runs are pruned. Commands still show the same figures for pruned runs;
    pruned.json in the evidence of a run names each file. A run is not pruned if its per-second
    series cannot be made, or if its evidence is in a store that neither the settings nor
    --evidence-url name.
    """
    keep_s, at = parse_duration_s(keep), datetime.now(UTC)
    try:
        at - timedelta(seconds=keep_s)
    except OverflowError:
        too_long = f"--keep {keep!r} reaches back before the year 1"
        raise InvalidValue(too_long, advice="write 24h, 30d") from None
    engine, store = database(database_url), evidence(evidence_url)
    due = due_runs(engine, asked, keep_s, at)
    if evidence_url is None:  # only what is in the store of the settings
        urls = [run.evidence_url for run in due]
        others = foreign_stores(urls, store.url)
        if others.total() == len(due):
            check_named(urls, store.url, whether="prune it")
        elif others:
            print(f"kept: {foreign_words(others, store.url)}", file=sys.stderr)
        due = [run for run in due if run.evidence_url not in others]

    def pruned(*, dry_run: bool) -> Iterable[RunPruning]:
        return prune_logs(due, store, at=at, dry_run=dry_run)

    if dry_run or not yes:
        frees = _print(pruned(dry_run=True), "would free")
        if dry_run or not frees:
            return
        where = f"{frees}, in {store.url}"
        confirm(f"Remove {where}, permanently?", whether=f"free {where}")
    _print(pruned(dry_run=False), "freed")


def _print(prunings: Iterable[RunPruning], verb: str) -> str:
    """Print a line for each trial and the sum; returns the sum, empty where nothing is freed."""
    every: list[tuple[int, int, int]] = []
    small = 0
    for trial_id, runs in groupby(prunings, key=lambda pruning: pruning.run.trial_id):
        freed = []
        for pruning in runs:
            if pruning.left is not None:
                print(f"kept run {short(pruning.run.run_id)}: {pruning.left}", file=sys.stderr)
            elif pruning.logs and not pruning.freed_bytes:
                small += 1
            elif pruning.freed_bytes:
                freed.append((1, pruning.logs, pruning.freed_bytes))
        if freed:
            every += freed
            print(f"trial {short(trial_id)}: {verb} {_sum(freed)}")
    if small:
        why = "the logs take less space than what would replace them"
        print(f"kept {counted(small, 'run')}: {why}", file=sys.stderr)
    if not every:
        print("nothing to free", file=sys.stderr)
        return ""
    print(f"{verb} {_sum(every)}")
    return _sum(every)


def _sum(freed: list[tuple[int, int, int]]) -> str:
    runs, logs, size = (sum(column) for column in zip(*freed, strict=True))
    return f"{format_bytes(size)}: {counted(logs, 'log')} of {counted(runs, 'run')}"


def confirm(question: str, *, whether: str) -> None:
    """Return after a yes on the terminal. Raises Abort for a no, and InvalidValue, which says
    `whether` what is to be done, where no terminal is there to answer."""
    if not sys.stdin.isatty():
        raise InvalidValue(f"cannot ask whether to {whether}", advice="add --yes")
    typer.confirm(question, abort=True, err=True)
