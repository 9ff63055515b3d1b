"""`diskbench matrix`: many cells from one file. What is there, what may stand in it, what it does.

Commands that run a matrix are added to `app` by modules of their own, at the end of this one.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from diskbench.cli.matrix_run import Seed, mount
from diskbench.cli.terminal import print_json
from diskbench.report.terminal.screen import hanging

if TYPE_CHECKING:
    pass

app = typer.Typer(
    help="Plan and run many combinations of region, machine, disk and profile from a file."
)

FORMAT = 1
"""Format number of the JSON document of `list`."""
PROBLEM = 2
"""Exit code of a plan with blocks that cannot be measured."""


class MatrixOutput(StrEnum):
    """How a result is printed."""

    table = "table"
    json = "json"


File = Annotated[
    str,
    typer.Argument(metavar="FILE|NAME", help="A file, or a name from `diskbench matrix list`."),
]
OutputOption = Annotated[MatrixOutput, typer.Option("--output", help="What to print on stdout.")]


@app.command("list")
def list_matrices(output: OutputOption = MatrixOutput.table) -> None:
    """List the matrices that come with diskbench."""
    from diskbench.engine.matrix.matrix_file import load_matrix, shipped_matrices
    from diskbench.plan.matrix import expand

    rows = []
    for name in shipped_matrices():
        matrix = load_matrix(name).matrix
        rows.append((name, matrix.title, len(expand(matrix, seed=0))))
    if output is MatrixOutput.json:
        listed = [{"name": name, "title": title, "cells": n} for name, title, n in rows]
        typer.echo(json.dumps({"format": FORMAT, "matrices": listed}, indent=2))
        return
    width = max(len(name) for name, _, _ in rows)
    for name, title, count in rows:
        typer.echo(hanging(f"{name:<{width}}  {count:>4} cells  ", title))


@app.command()
def show(file: File) -> None:
    """Print a matrix file, for example to start your own."""
    from diskbench.engine.matrix.matrix_file import load_matrix

    typer.echo(load_matrix(file).text, nl=False)


@app.command()
def schema() -> None:
    """Print the JSON schema of matrix files, for an editor."""
    from diskbench.cli.matrix_schema import schema_for_editors

    typer.echo(json.dumps(schema_for_editors(), indent=2))


@app.command()
def plan(
    file: File,
    output: OutputOption = MatrixOutput.table,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no cloud: plan from the catalogue only.")
    ] = False,
    seed: Seed = None,
) -> None:
    """Show cells, order, duration, cost, quota and credit of a matrix. Rents nothing."""
    from diskbench.engine.matrix.matrix_file import load_matrix, outlook_of, seed_of
    from diskbench.results.refreshed_catalogue import open_books

    loaded = load_matrix(file)
    outlook = outlook_of(loaded, open_books(), seed=seed_of(loaded.matrix, seed), offline=offline)
    if output is MatrixOutput.json:
        print_json(outlook.model_dump_json(indent=2))
    else:
        from diskbench.report.terminal.matrix_text import render_outlook

        typer.echo(render_outlook(outlook), nl=False)
    if any(block.problem is not None for block in outlook.blocks):
        raise typer.Exit(PROBLEM)


mount(app)
