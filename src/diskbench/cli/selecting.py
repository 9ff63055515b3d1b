"""The options that say which runs a command is about, one language for all (docs/compare.md), with
what the shell offers for them: the names in a SQLite database."""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, TypeVar

from sqlalchemy.engine import Engine
from typer import Context

from diskbench.cli.completion import Offer, named, offering
from diskbench.cli.lazy import gathering, options_of
from diskbench.cli.terminal import Output, argument, option
from diskbench.model.ids import LAST, short
from diskbench.model.run import (
    COLUMN_OF,
    FILTER_HELP,
    KEYS,
    MEASURED_FIELDS,
    RUN_FIELDS,
    SELECTION_HELP,
    Run,
)
from diskbench.results.selection import Selection
from diskbench.settings import load_settings
from diskbench.store.database import open_database
from diskbench.store.query import find_runs, newest_matrices
from diskbench.store.urls import database_file

Row = TypeVar("Row")
_MOST = 50
"""How many runs and matrices the shell is offered, the newest; our choice."""


@offering
def labels(ctx: Context, _incomplete: str) -> Iterable[Offer]:
    """KEY=VALUE of labels that runs have."""
    return named(f"{key}={value}" for key, value in _labels(_newest_runs(ctx)))


@offering
def filters(ctx: Context, incomplete: str) -> Iterable[Offer]:
    """KEY= of columns and labels; after the key its values."""
    return _filters(_newest_runs(ctx), incomplete)


@offering
def selections(ctx: Context, incomplete: str) -> Iterable[Offer]:
    """What the selection language takes: `last`, ids, names of matrices, KEY=VALUE."""
    runs = _newest_runs(ctx)
    return [*_ids(ctx, runs, incomplete), *_filters(runs, incomplete)]


@offering
def ids(ctx: Context, incomplete: str) -> Iterable[Offer]:
    """`last`, the newest runs, and matrices."""
    return _ids(ctx, _newest_runs(ctx), incomplete)


@offering
def begun_matrices(ctx: Context, incomplete: str) -> Iterable[Offer]:
    """The matrices that were begun, by name and by id."""
    begun = _begun(ctx)
    by_id = [(short(id_), name) for id_, name in begun] + (begun if incomplete else [])
    return [*named(name for _, name in begun), *by_id]


def _ids(ctx: Context, runs: Iterable[Run], incomplete: str) -> list[Offer]:
    """The runs by their short ids, by whole ids once something was typed, and matrices."""
    known = [(run.run_id, _what_where_when(run)) for run in runs]
    begun = _begun(ctx)
    offers = [(LAST, "the newest trial"), (f"{LAST}~1", "the one before")]
    offers += [(short(id_), words) for id_, words in known]
    offers += named((name for _, name in begun), "matrix")
    return [*offers, *known, *begun] if incomplete else offers


def _filters(runs: Sequence[Run], incomplete: str) -> list[Offer]:
    key, has_value, _ = incomplete.partition("=")
    pairs = _labels(runs)
    if has_value:
        column = COLUMN_OF.get(key, key)
        values = [value for label, value in pairs if label == key.removeprefix("label.")]
        if column in RUN_FIELDS:
            values += [str(value) for run in runs if (value := getattr(run, column, None))]
        return named(f"{key}={value}" for value in values)
    keys = {name: words for name, (*_, words) in KEYS.items()}
    keys = dict.fromkeys((label for label, _ in pairs), "label") | keys
    if incomplete:
        keys = dict.fromkeys((*RUN_FIELDS, *MEASURED_FIELDS), "") | keys
    return [(f"{name}=", words) for name, words in keys.items()]


def _labels(runs: Iterable[Run]) -> list[Offer]:
    return list(dict.fromkeys(pair for run in runs for pair in run.labels.items()))


def _what_where_when(run: Run) -> str:
    disk = run.disk_type or run.target_path or run.target_device
    return " ".join(filter(None, (run.profile, disk, (run.measured_at or "")[:16])))


def _newest_runs(ctx: Context) -> list[Run]:
    return from_database(ctx, lambda database: find_runs(database, limit=_MOST))


def _begun(ctx: Context) -> list[Offer]:
    """The matrices that were begun, the newest first: id and name."""
    return from_database(ctx, lambda database: newest_matrices(database, _MOST))


def from_database(ctx: Context, read: Callable[[Engine], list[Row]]) -> list[Row]:
    """What `read` finds in the file of the database; nothing for another database, and for a file
    that is missing: none is made for a Tab."""
    typed = {"database_url": ctx.params.get("database_url")}
    url = load_settings(typed).database_url.get_secret_value()
    file = database_file(url)
    if file is None or not file.is_file():
        return []
    engine = open_database(url)
    try:
        return read(engine)
    finally:
        engine.dispose()


def print_id(id_: str) -> None:
    """Print an id on standard output: its short form for a person, all of it for a program."""
    print(short(id_) if sys.stdout.isatty() else id_)


Shown = Annotated[Output, option("--output", "What to print on stdout.")]
Pool = Annotated[
    list[str] | None,
    option(
        "FACT",
        "Pool trials as replicates even if this fact differs (zone, kernel, …); `all` ignores "
        "every fact.",
    ),
]


def _asked(
    selection: list[str] | None = None,
    filter_: Annotated[
        list[str] | None, option("--filter", "-f", "KEY=VALUE", FILTER_HELP, autocompletion=filters)
    ] = None,
    since: Annotated[
        str | None,
        option("TIME", "Only runs measured at or after this time: 2026-11-21, 36h, 7d, 4w."),
    ] = None,
    until: Annotated[
        str | None, option("TIME", "Only runs measured at or before this time, in the same form.")
    ] = None,
) -> Selection:
    return Selection(tuple(selection or ()), tuple(filter_ or ()), since, until)


def selecting_by(metavar: str, about: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a command: it has the options that say which runs it is about, the first of them an
    argument, in place of its parameter `asked`."""
    names, *others = options_of(_asked)
    first = Annotated[list[str] | None, argument(metavar, about, autocompletion=selections)]
    return gathering("asked", [names.replace(annotation=first), *others], _asked)


selecting = selecting_by("SELECTION", f"Which runs: {SELECTION_HELP}.")
