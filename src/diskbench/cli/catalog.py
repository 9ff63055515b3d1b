"""`diskbench catalog`: what disks and machines promise and cost, each figure with its source."""

import json
import shutil
from collections.abc import Iterable
from dataclasses import asdict
from itertools import groupby
from typing import Annotated, Any

import typer

from diskbench.catalog import listing
from diskbench.catalog.books import Books
from diskbench.catalog.cost import refresh_command
from diskbench.catalog.shipped import catalogue, check_catalogue
from diskbench.cli import completion
from diskbench.cli.terminal import TableOrJson, argument, option, print_json
from diskbench.errors import DiskbenchError, InvalidValue
from diskbench.report.terminal import catalog_text
from diskbench.results import refreshed_catalogue

FORMAT = 1
"""Format number of the JSON documents."""

Cloud = Annotated[
    str | None,
    option(
        "--provider",
        "NAME",
        "Only what this provider rents out.",
        autocompletion=completion.providers_with_catalogue,
    ),
]
Refresh = Annotated[
    bool,
    option(
        "--refresh",
        "First fetch limits and prices from the clouds (or --provider) and store them.",
    ),
]


def disks(cloud: Cloud = None, refresh: Refresh = False, output: TableOrJson = "table") -> None:
    """List disk types (sizes, IOPS and throughput formulas, bursts) and other parts."""
    _open(cloud, refresh=refresh)
    disks_shown = [row for row in listing.disk_entries() if cloud in (None, row[0])]
    grouped = groupby(listing.parts(cloud), key=lambda part: part.cloud)
    by_cloud = {name: list(of_cloud) for name, of_cloud in grouped}
    if output == "table":
        _print(catalog_text.disk_table(disks_shown) if disks_shown else ())
        for number, (name, cloud_parts) in enumerate(by_cloud.items()):
            _print([""] if disks_shown or number else [])
            _print(catalog_text.part_table(cloud_parts, catalogue(name).note))
        return
    rows: list[dict[str, Any]] = []
    for of_cloud, name, entry in disks_shown:
        sources = catalogue(of_cloud).sources
        sources_of_entry = {key: sources[key].model_dump() for key in entry.sources()}
        figures = entry.model_dump(exclude_defaults=True)
        rows.append({"cloud": of_cloud, "type": name, **figures, "sources": sources_of_entry})
    _print_json("disks", rows, **{name: list(map(_part, of)) for name, of in by_cloud.items()})


def instances(cloud: Cloud = None, refresh: Refresh = False, output: TableOrJson = "table") -> None:
    """List machines with their price and the disk rates that each sustains."""
    books = _open(cloud, refresh=refresh)
    machines = list(listing.machine_rows(books, cloud))
    if output == "table":
        clouds = dict.fromkeys(machine.cloud for machine in machines)
        notes = (books.of(name).machines.note for name in clouds)
        _print(catalog_text.machine_table(machines, [note for note in notes if note]))
    else:
        _print_json("instances", [machine.model_dump() for machine in machines])


def prices(
    cloud: Cloud = None,
    region: Annotated[
        str | None,
        option(
            "NAME", "Only this region, also for --refresh (default: that of the shipped prices)."
        ),
    ] = None,
    refresh: Refresh = False,
    output: TableOrJson = "table",
) -> None:
    """List the known prices of disks, by region; --refresh asks the clouds."""
    books = _open(cloud, refresh=refresh, region=region)
    rows = list(listing.price_rows(books, cloud, region and region.replace(" ", "").lower()))
    if output == "json":
        _print_json("prices", [row.model_dump() for row in rows])
    elif rows:
        _print(catalog_text.price_table(rows))
    else:
        ask = f"ask for them: {refresh_command(region)}" if region else "name another --provider"
        raise InvalidValue(f"no price is known in {region or cloud}", advice=ask)


def show(
    name: Annotated[
        str, argument("NAME", "A disk type, a tier, a machine or another part: gp2, P10.")
    ],
    refresh: Refresh = False,
    output: TableOrJson = "table",
) -> None:
    """Show all figures of one disk type or machine, each with its source and date."""
    items = listing.find(_open(None, refresh=refresh), name)
    if output == "json":
        _print_json("found", [_part(item) for item in items])
        return
    width = shutil.get_terminal_size().columns
    _print(line for item in items for line in catalog_text.thing_text(item, width))


def _open(cloud: str | None, *, refresh: bool, region: str | None = None) -> Books:
    """The catalogue with the stored refreshes; `refresh` queries the clouds first, for the prices
    of `region` those that have it."""
    if cloud is not None:
        check_catalogue(cloud)
    if not refresh:
        return refreshed_catalogue.open_books()
    failures: list[DiskbenchError] = []
    in_region = () if cloud or not region else refreshed_catalogue.refreshable_in(region)
    clouds = (cloud,) if cloud else in_region or refreshed_catalogue.refreshable()
    for name in clouds:
        try:
            overlay, path = refreshed_catalogue.refresh(name, region)
        except DiskbenchError as error:
            typer.echo(f"{name}: {error.message}", err=True)
            failures.append(error)
        else:
            kept = f"{overlay.region}: as of {overlay.made_on}, kept in {path}"
            typer.echo(f"{name} {kept}", err=True)
    # Few people are logged in to all clouds: when one answered, other failures are only printed.
    if len(failures) == len(clouds):
        raise failures[0]
    return refreshed_catalogue.open_books()


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)


def _part(item: listing.CatalogItem) -> dict[str, Any]:
    document = asdict(item)
    del document["tiers"]  # the names of some of its lines
    return document


def _print_json(name: str, rows: list[Any], **more: list[Any]) -> None:
    others = {key: values for key, values in more.items() if values}
    document = {"format": FORMAT, name: rows, **others}
    print_json(json.dumps(document, indent=2, ensure_ascii=False))
