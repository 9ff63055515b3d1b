"""What `diskbench results list` prints."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

from diskbench.cli.stores import database
from diskbench.cli.terminal import table_width
from diskbench.model.run import RUN_FIELDS, run_columns
from diskbench.report.terminal.lists import legend, run_lines, trial_lines
from diskbench.results.selection import listed, with_suspended
from diskbench.store.export import csv_text
from diskbench.store.figures import load_headlines
from diskbench.store.query import count_runs, find_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.store.where import Filter


def print_trials(
    reader: Engine, filters: Sequence[Filter], most: int | None, database_url: str | None
) -> None:
    """The trials that meet the conditions, newest first, one line each."""
    trials, total = listed(reader, filters, limit=most, at_work=_at_work(database_url))
    if not trials:
        _say_nothing(reader, filtered=bool(filters))
        return
    lines = trial_lines(trials, width=table_width())
    sys.stdout.writelines(f"{line}\n" for line in lines)
    for line in legend(trials):
        print(line, file=sys.stderr)
    if total > len(trials):
        newest = f"the newest {len(trials)} of {total:,} trials; --limit 0 lists all"
        print(newest, file=sys.stderr)


def print_runs(
    reader: Engine,
    filters: Sequence[Filter],
    most: int | None,
    output: Literal["table", "json", "csv"],
    database_url: str | None,
) -> None:
    """The runs that meet the conditions, newest first, with all their columns."""
    runs = with_suspended(find_runs(reader, filters, limit=most), _at_work(database_url))
    if output == "json":
        from diskbench.store.document import results_document
        from diskbench.store.export import json_text

        print(json_text(results_document(runs)))
    elif output == "csv":
        sys.stdout.write(csv_text(map(run_columns, runs), RUN_FIELDS))
    elif not runs:
        _say_nothing(reader, filtered=bool(filters))
    else:
        headlines = load_headlines(reader, [run.run_id for run in runs])
        sys.stdout.writelines(f"{line}\n" for line in run_lines(runs, headlines))


def _say_nothing(reader: Engine, *, filtered: bool) -> None:
    total = count_runs(reader) if filtered else 0
    text = (
        f"no run matches, of {total:,} in all"
        if total
        else "no runs yet: measure with 'diskbench run'"
    )
    print(text, file=sys.stderr)


def _at_work(database_url: str | None) -> Callable[[], Collection[str]]:
    """What returns the trials that a live process works on."""

    def look() -> Collection[str]:
        from diskbench.engine.processes import trials_at_work

        return trials_at_work(database(database_url))

    return look
