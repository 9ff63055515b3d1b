"""What the shell offers when Tab is pressed: profiles, providers, disks, regions, ids, labels,
matrices, schedules and columns.

One table says which values an option or an argument has, by its name and its command, so that every
command that takes one offers them. It is read when a shell asks, never for a command that runs.
Nothing leaves this machine: ids are those of a SQLite database.
"""

from __future__ import annotations

# ruff: noqa: ARG001 - every source of values is called alike
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from diskbench.errors import DiskbenchError
from diskbench.model.ids import LAST, short
from diskbench.model.run import COLUMN_OF, KEYS, MEASURED_FIELDS, RUN_FIELDS
from diskbench.store.urls import database_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sqlalchemy.engine import Engine
    from typer._click import Context
    from typer._click.core import Command, Parameter
    from typer._click.shell_completion import CompletionItem

    from diskbench.model.run import Run

Row = TypeVar("Row")
Offer = tuple[str, str]
"""A value, and a few words on it."""


def with_values(command: Command, path: tuple[str, ...]) -> Command:
    """The command, which offers values for its options and arguments; so do those below it."""
    for name, inner in getattr(command, "commands", {}).items():
        with_values(inner, (*path, name))
    for parameter in command.params:
        values = _values_of(parameter, path)
        if values is not None:
            parameter._custom_shell_complete = _completer(values)  # noqa: SLF001 - click's own way
    return command


def _values_of(parameter: Parameter, path: tuple[str, ...]) -> Callable[..., Any] | None:
    if parameter.param_type_name == "option":
        return next((OPTIONS[flag] for flag in parameter.opts if flag in OPTIONS), None)
    return ARGUMENTS.get(path) or ARGUMENTS.get(path[:1])


def _completer(values: Callable[..., Iterable[Offer]]) -> Callable[..., list[CompletionItem]]:
    def complete(ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:
        from typer._click.shell_completion import CompletionItem

        offers: list[Offer] = []
        with contextlib.suppress(Exception):  # a Tab never prints an error
            offers = [*values(ctx, incomplete)]
        items = [
            CompletionItem(value, help=words or None)
            for value, words in offers
            if value.startswith(incomplete)
        ]
        return items or ([CompletionItem(incomplete, type="file")] if "/" in incomplete else [])

    return complete


def providers(ctx: Context, incomplete: str) -> Iterable[Offer]:
    """The installed providers."""
    from diskbench.plugins import plugin_names

    return [(name, "") for name in plugin_names()]


def profiles(ctx: Context, incomplete: str) -> Iterable[Offer]:
    """The shipped profiles, and job files of the working directory."""
    from diskbench.fio.profiles import shipped_names

    files = [path.name for path in Path().glob("*.fio*")]
    return [(name, "") for name in (*shipped_names(), *sorted(files))]


def matrices(ctx: Context, incomplete: str) -> Iterable[Offer]:
    """The shipped matrices, and YAML files of the working directory."""
    from diskbench.fio.profiles import shipped_directory

    shipped = [path.stem for path in shipped_directory("matrices").glob("*.yaml")]
    return [
        (name, "") for name in (*sorted(shipped), *sorted(p.name for p in Path().glob("*.yaml")))
    ]


def disks(ctx: Context, incomplete: str) -> Iterable[Offer]:
    """The disk types of the provider that is typed; of every cloud where it has none of its own."""
    from diskbench.catalog.entry import clouds
    from diskbench.catalog.lookup import disk_types

    known, asked = clouds(), ctx.params.get("provider")
    return [
        (name, cloud)
        for cloud in ((asked,) if asked in known else known)
        for name in disk_types(cloud)
    ]


def regions(ctx: Context, incomplete: str) -> Iterable[Offer]:
    """The regions of the provider that is typed, or of every cloud."""
    from diskbench.catalog.books import regions as regions_of
    from diskbench.plugins import plugin_names

    asked = ctx.params.get("provider")
    return [
        (name, cloud)
        for cloud in ((asked,) if asked else plugin_names())
        for name in regions_of(cloud)
    ]


def labels(ctx: Context, incomplete: str) -> Iterable[Offer]:
    """KEY=VALUE of labels that runs have."""
    return [(f"{key}={value}", "") for key, value in _labels(_newest_runs(ctx))]


def filters(ctx: Context, incomplete: str) -> Iterable[Offer]:
    """KEY= of columns and labels; after the key its values."""
    key, has_value, _ = incomplete.partition("=")
    runs = _newest_runs(ctx)
    pairs = _labels(runs)
    if has_value:
        column = COLUMN_OF.get(key, key)
        values = [str(value) for run in runs if (value := getattr(run, column, None)) not in _NONE]
        values += [value for label, value in pairs if label == key.removeprefix("label.")]
        return [(f"{key}={value}", "") for value in dict.fromkeys(values)]
    keys = {selection_key.name: selection_key.words for selection_key in KEYS}
    keys |= dict.fromkeys((label for label, _ in pairs if label not in keys), "label")
    if incomplete:
        keys |= dict.fromkeys(
            (name for name in (*RUN_FIELDS, *MEASURED_FIELDS) if name not in keys), ""
        )
    return [(f"{name}=", words) for name, words in keys.items()]


def selections(ctx: Context, incomplete: str) -> Iterable[Offer]:
    """What the selection language takes: `last`, ids, names of matrices, KEY=VALUE."""
    return [*ids(ctx, incomplete), *filters(ctx, incomplete)]


def ids(ctx: Context, incomplete: str) -> Iterable[Offer]:
    """The newest runs by their short ids (by whole ids once more was typed), and matrices."""
    runs = [(run.run_id, _words(run)) for run in _newest_runs(ctx)]
    begun = _begun(ctx)
    offers = [(LAST, "the newest trial"), (f"{LAST}~1", "the one before")]
    offers += [(short(id_), words) for id_, words in runs]
    offers += [(name, "matrix") for name in dict.fromkeys(name for _, name in begun)]
    if incomplete:
        offers += [*runs, *((id_, f"matrix {name}") for id_, name in begun)]
    return offers


def begun_matrices(ctx: Context, incomplete: str) -> Iterable[Offer]:
    """The matrices that were begun, by name and by short id."""
    begun = _begun(ctx)
    names = [(name, "") for name in dict.fromkeys(name for _, name in begun)]
    ids = [*begun] if incomplete else []
    return [*names, *((short(id_), name) for id_, name in begun), *ids]


def schedules(ctx: Context, incomplete: str) -> Iterable[Offer]:
    """The schedules."""
    from diskbench.store.schedules import list_schedules

    return [(row.name, "") for row in _from_database(ctx, list_schedules)]


_MOST = 50
"""How many names are read, the newest; our choice."""
_NONE: tuple[object, ...] = (None, "", {})


def _newest_runs(ctx: Context) -> list[Run]:
    from diskbench.store.query import find_runs

    return _from_database(ctx, lambda database: find_runs(database, limit=_MOST))


def _labels(runs: Iterable[Run]) -> list[Offer]:
    """The keys and values of labels that runs have."""
    return list(dict.fromkeys(pair for run in runs for pair in run.labels.items()))


def _words(run: Run) -> str:
    """Where, what and when, in a few words."""
    disk = run.disk_type or run.target_path or run.target_device or ""
    when = (run.measured_at or "")[:16]
    return " ".join(word for word in (run.profile, disk, when) if word)


def _begun(ctx: Context) -> list[Offer]:
    """The matrices that were begun, the newest first: id and name."""
    from diskbench.store.campaigns import list_campaigns

    rows = _from_database(ctx, list_campaigns)
    return [(row.campaign_id, row.name) for row in rows[: -_MOST - 1 : -1]]


def _from_database(ctx: Context, read: Callable[[Engine], list[Row]]) -> list[Row]:
    """What `read` finds in the file of the database; nothing for any other database, and for a file
    that is missing: none is made for a Tab."""
    from diskbench.settings import load_settings
    from diskbench.store.database import open_database

    typed = {"database_url": ctx.params.get("database_url")}
    url = load_settings(typed).settings.database_url.get_secret_value()
    file = database_file(url)
    if file is None or not file.is_file():
        return []
    with contextlib.suppress(DiskbenchError), contextlib.ExitStack() as stack:
        engine = open_database(url)
        stack.callback(engine.dispose)
        return read(engine)
    return []


OPTIONS: Mapping[str, Callable[..., Iterable[Offer]]] = {
    "--provider": providers,
    "--profile": profiles,
    "--disk": disks,
    "--as-disk": disks,
    "--region": regions,
    "--label": labels,
    "--filter": filters,
}
ARGUMENTS: Mapping[tuple[str, ...], Callable[..., Iterable[Offer]]] = {
    ("profiles",): profiles,
    ("matrix", "plan"): matrices,
    ("matrix", "show"): matrices,
    ("matrix", "run"): matrices,
    ("matrix",): begun_matrices,
    ("schedule", "add"): matrices,
    ("schedule",): schedules,
    ("results", "show"): selections,
    ("results", "export"): selections,
    ("results", "delete"): selections,
    ("report",): selections,
    ("publish",): selections,
    ("compare",): selections,
    ("regressions",): selections,
    ("identify",): ids,
    ("status",): ids,
    ("resume",): ids,
    ("cancel",): ids,
    ("gc",): ids,
}
"""By command; the first word alone stands for all commands below it."""
