"""`diskbench matrix list`, `show`, `schema` and `plan`: matrix files, what may stand in them, and
what they would do."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import typer

from diskbench.catalog.lookup import disk_types
from diskbench.catalog.shipped import clouds
from diskbench.cli import completion
from diskbench.cli.terminal import TableOrJson, argument, option, print_json
from diskbench.engine.matrix.matrix_file import (
    MatrixFile,
    load_matrix,
    outlook_of,
    seed_of,
    shipped_matrices,
)
from diskbench.errors import InvalidValue
from diskbench.fio.profiles import shipped_names
from diskbench.plan.cells import FILESYSTEMS
from diskbench.plan.matrix import expand
from diskbench.plan.matrix_form import matrix_schema, own_values
from diskbench.providers.registry import provider_names
from diskbench.report.terminal.layout import hanging
from diskbench.report.terminal.matrix_text import render_outlook
from diskbench.results.refreshed_catalogue import open_books
from diskbench.settings import load_settings

FORMAT = 1
"""Format number of the JSON document of `list`."""
PROBLEM = 2
"""Exit code of a plan with blocks that cannot be measured."""


File = Annotated[
    str,
    argument(
        "FILE|NAME",
        "A file, or a name from `diskbench matrix list`.",
        autocompletion=completion.matrices,
    ),
]
AssumePrice = Annotated[
    float | None, option("USD_PER_HOUR", "US dollars an hour to assume if no price is known.")
]
Seed = Annotated[
    int | None, option("N", "Seed of the order (default: the file's, else a new one).", min=0)
]


def list_(output: TableOrJson = "table") -> None:
    """List the matrices that come with diskbench."""
    rows = []
    for name in shipped_matrices():
        matrix = load_matrix(name).matrix
        rows.append((name, matrix.title, len(expand(matrix, seed=0))))
    if output == "json":
        listed = [{"name": name, "title": title, "cells": n} for name, title, n in rows]
        typer.echo(json.dumps({"format": FORMAT, "matrices": listed}, indent=2))
        return
    width = max(len(name) for name, _, _ in rows)
    for name, title, count in rows:
        typer.echo(hanging(f"{name:<{width}}  {count:>4} cells  ", title))


def show(file: File) -> None:
    """Print a matrix file, for example to start your own."""
    typer.echo(load_matrix(file).text, nl=False)


def schema() -> None:
    """Print the JSON schema of matrix files, for an editor."""
    typer.echo(json.dumps(schema_for_editors(), indent=2))


def plan(
    file: File,
    output: TableOrJson = "table",
    offline: Annotated[
        bool, option("--offline", "Ask no cloud: plan from the catalogue only.")
    ] = False,
    seed: Seed = None,
) -> None:
    """Show cells, order, duration, cost, quota and credit of a matrix. Rents nothing."""
    loaded = load_matrix(file, load_settings().tags)
    outlook = outlook_of(loaded, open_books(), seed=seed_of(loaded.matrix, seed), offline=offline)
    if output == "json":
        print_json(outlook.model_dump_json(indent=2))
    else:
        typer.echo(render_outlook(outlook), nl=False)
    if any(block.problem is not None for block in outlook.blocks):
        raise typer.Exit(PROBLEM)


def schema_for_editors() -> dict[str, Any]:
    """The JSON schema of matrix files, with the values that an editor may propose."""
    sold = [name for cloud in clouds() for name in disk_types(cloud)]
    known = {
        "provider": provider_names(),
        "profile": shipped_names(),
        "disk": list(dict.fromkeys([*sold, "root"])),
        "filesystem": FILESYSTEMS,
        **own_values(),
    }
    return matrix_schema(known)


def with_money(file: MatrixFile, budget: float | None, assume_price: float | None) -> MatrixFile:
    """The matrix with the limits that were typed. Raises InvalidValue for what is no money."""
    typed = {"budget_usd": budget, "assume_price_usd_per_hour": assume_price}
    change = {name: value for name, value in typed.items() if value is not None}
    for name, value in change.items():
        if not 0 < value < float("inf"):
            flag = "--budget" if name == "budget_usd" else "--assume-price"
            raise InvalidValue(
                f"{flag} {value:g} is not an amount of money",
                advice="write an amount in US dollars above 0",
            )
    limits = file.matrix.limits.model_copy(update=change)
    return replace(file, matrix=file.matrix.model_copy(update={"limits": limits}))


def with_defaults(file: MatrixFile, typed: Mapping[str, Any]) -> MatrixFile:
    """The matrix with these fields for all cells that have none of their own."""
    given = {name: tuple(value) for name, value in typed.items() if value}
    if not given:
        return file
    defaults = file.matrix.defaults.model_copy(update=given)
    return replace(file, matrix=file.matrix.model_copy(update={"defaults": defaults}))
