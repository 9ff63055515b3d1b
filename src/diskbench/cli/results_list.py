"""`diskbench results list`: what was measured."""

import sys
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from sqlalchemy.engine import Engine

from diskbench.cli.selecting import Shown, selecting
from diskbench.cli.stores import DatabaseUrl, database
from diskbench.cli.terminal import option, table_width
from diskbench.limits import COUNTER
from diskbench.model.run import RUN_FIELDS, run_columns
from diskbench.report.terminal.lists import legend, run_lines, trial_lines
from diskbench.results.selection import Selection, chosen, listed, with_suspended
from diskbench.store.export import csv_text
from diskbench.store.figures import load_headlines
from diskbench.store.query import count_runs, find_runs
from diskbench.store.where import Filter

_TABLE_LIMIT = 50


@selecting
def list_(
    asked: Selection,
    limit: Annotated[
        int | None,
        option(
            "N",
            "List at most this many, newest first; 0 lists all (default: table 50, else all).",
            min=0,
        ),
    ] = None,
    wide: Annotated[
        bool, option("--wide", "Print all columns, even if lines become long.")
    ] = False,
    output: Shown = "table",
    database_url: DatabaseUrl = None,
) -> None:
    """List what was measured, newest first, one line for each trial.

    Other commands take the number of a line: `diskbench compare 1 2`. A filter changes no number;
    a new run does.

    `--wide` prints a line for each run, with all columns; `--output json` and `csv` print every
    field.
    """
    engine = database(database_url)
    filters = chosen(engine, asked)
    most = _TABLE_LIMIT if limit is None and output == "table" and not wide else limit or None
    most = None if most is None else min(most, COUNTER)
    if output == "table" and not wide:
        _print_trials(engine, filters, most)
        return
    runs = with_suspended(find_runs(engine, filters, limit=most), partial(_at_work, engine))
    if output == "json":
        from diskbench.store.document import results_document  # NumPy, which a table does not need
        from diskbench.store.export import json_text

        print(json_text(results_document(runs)))
    elif output == "csv":
        sys.stdout.write(csv_text(map(run_columns, runs), RUN_FIELDS))
    elif not runs:
        _say_nothing(engine, filtered=bool(filters))
    else:
        headlines = load_headlines(engine, [run.run_id for run in runs])
        sys.stdout.writelines(f"{line}\n" for line in run_lines(runs, headlines))


def _print_trials(engine: Engine, filters: Sequence[Filter], most: int | None) -> None:
    trials, total = listed(engine, filters, limit=most, at_work=partial(_at_work, engine))
    if not trials:
        _say_nothing(engine, filtered=bool(filters))
        return
    lines = trial_lines(trials, width=table_width())
    sys.stdout.writelines(f"{line}\n" for line in lines)
    for line in legend(trials):
        print(line, file=sys.stderr)
    if total > len(trials):
        newest = f"the newest {len(trials)} of {total:,} trials; --limit 0 lists all"
        print(newest, file=sys.stderr)


def _at_work(engine: Engine) -> set[str]:
    from diskbench.engine.processes import trials_at_work  # the cells, asked of unfinished runs

    return trials_at_work(engine)


def _say_nothing(engine: Engine, *, filtered: bool) -> None:
    none = "no runs yet: measure with 'diskbench run'"
    total = count_runs(engine) if filtered else 0
    print(f"no run matches (of {total:,})" if total else none, file=sys.stderr)
