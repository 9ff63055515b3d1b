"""`diskbench catalog`: what disks and machines promise and cost, each figure with its source."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from diskbench.cli.terminal import print_json
from diskbench.errors import DiskbenchError
from diskbench.report.terminal.catalog_text import disk_table, machine_table, part_table, thing_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from diskbench.catalog.books import Books
    from diskbench.catalog.listing import CatalogItem

app = typer.Typer(help="Documented limits and prices of disks and machines, with their sources.")

FORMAT = 1
"""Format number of the JSON documents."""


def _with_catalogue(incomplete: str) -> list[str]:
    """The providers that bring a catalogue, for the shell's completion."""
    from diskbench.catalog.yaml_loader import catalogues

    return [name for name in catalogues() if name.startswith(incomplete)]


OutputOption = Annotated[
    Literal["table", "json"], typer.Option("--output", help="What to print on stdout.")
]
Cloud = Annotated[
    str | None,
    typer.Option(
        "--provider",
        metavar="NAME",
        help="Only what this provider rents out.",
        autocompletion=_with_catalogue,
    ),
]
Refresh = Annotated[
    bool,
    typer.Option(
        "--refresh",
        help="First ask the clouds (or --provider) for limits and prices, and keep what they say.",
    ),
]


@app.command()
def disks(cloud: Cloud = None, refresh: Refresh = False, output: OutputOption = "table") -> None:
    """List the disk types: sizes, IOPS and throughput by formula, bursts; and other parts."""
    from diskbench.catalog.entry import catalogue
    from diskbench.catalog.listing import disk_entries, parts

    _open(cloud, refresh=refresh)
    disks_shown = [row for row in disk_entries() if cloud in (None, row[0])]
    by_cloud = {
        name: list(of_cloud)
        for name, of_cloud in groupby(parts(cloud), key=lambda part: part.cloud)
    }
    if output == "table":
        _print(disk_table(disks_shown) if disks_shown else ())
        for number, (name, cloud_parts) in enumerate(by_cloud.items()):
            _print([""] if disks_shown or number else [])
            _print(part_table(cloud_parts, catalogue(name).note))
        return
    rows: list[dict[str, Any]] = []
    for of_cloud, name, entry in disks_shown:
        sources = catalogue(of_cloud).sources
        sources_of_entry = {key: sources[key].model_dump() for key in entry.sources()}
        figures = entry.model_dump(exclude_defaults=True)
        rows.append({"cloud": of_cloud, "type": name, **figures, "sources": sources_of_entry})
    parts_by_cloud = {
        name: [_part(part) for part in cloud_parts] for name, cloud_parts in by_cloud.items()
    }
    _print_json("disks", rows, **parts_by_cloud)


@app.command()
def instances(
    cloud: Cloud = None, refresh: Refresh = False, output: OutputOption = "table"
) -> None:
    """List the machines: what each sustains towards its disks, and its price."""
    from diskbench.catalog.listing import machine_rows

    books = _open(cloud, refresh=refresh)
    machines = list(machine_rows(books, cloud))
    if output == "table":
        clouds = dict.fromkeys(machine.cloud for machine in machines)
        notes = (books.of(name).machines.note for name in clouds)
        _print(machine_table(machines, [note for note in notes if note]))
    else:
        _print_json("instances", [machine.model_dump() for machine in machines])


@app.command()
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A disk type, a tier, a machine or another part: gp2, P10."
        ),
    ],
    refresh: Refresh = False,
    output: OutputOption = "table",
) -> None:
    """Show all figures of one disk type or machine, each with its source and date."""
    from diskbench.catalog.listing import find

    items = find(_open(None, refresh=refresh), name)
    if output == "json":
        _print_json("found", [_part(item) for item in items])
        return
    width = shutil.get_terminal_size().columns
    _print(line for item in items for line in thing_text(item, width))


def _open(cloud: str | None, *, refresh: bool) -> Books:
    """The catalogue with the stored refreshes; `refresh` queries the clouds first."""
    from diskbench.catalog.yaml_loader import check_catalogue
    from diskbench.results import refreshed_catalogue

    if cloud is not None:
        check_catalogue(cloud)
    if not refresh:
        return refreshed_catalogue.open_books()
    failures: list[DiskbenchError] = []
    clouds = (cloud,) if cloud else refreshed_catalogue.refreshable()
    for name in clouds:
        try:
            overlay, path = refreshed_catalogue.refresh(name)
        except DiskbenchError as error:
            typer.echo(f"{name}: {error.message}", err=True)
            failures.append(error)
        else:
            typer.echo(f"{name}: as of {overlay.made_on}, kept in {path}", err=True)
    # Few people are logged in to all clouds: when one answered, other failures are only printed.
    if len(failures) == len(clouds):
        raise failures[0]
    return refreshed_catalogue.open_books()


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)


def _part(item: CatalogItem) -> dict[str, Any]:

    document = asdict(item)
    del document["tiers"]  # the names of some of its lines
    return document


def _print_json(name: str, rows: list[Any], **more: list[Any]) -> None:
    document = {"format": FORMAT, name: rows} | {
        key: values for key, values in more.items() if values
    }
    print_json(json.dumps(document, indent=2, ensure_ascii=False))
