"""`diskbench published`: what others have published of cloud disks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from diskbench.cli.terminal import print_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from diskbench.catalog.post_file import Published
    from diskbench.model.verdict import Verdict

app = typer.Typer(
    help="List and show measurements of cloud disks that others published.", no_args_is_help=True
)

Output = Annotated[
    Literal["table", "json"], typer.Option("--output", help="What to print on stdout.")
]


@app.command("list")
def list_(
    post: Annotated[
        str | None,
        typer.Option("--post", metavar="POST", help="Only figures of this post, as iaas-2018."),
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option("--provider", metavar="NAME", help="Only figures of this provider's disks."),
    ] = None,
    disk: Annotated[
        str | None,
        typer.Option(
            "--disk", metavar="TYPE", help="Only of one disk: its type, or a part of its name."
        ),
    ] = None,
    output: Output = "table",
) -> None:
    """List the figures, one per line; ! marks doubtful ones."""
    from diskbench.catalog.published import filtered, load_published

    figures = filtered(load_published(), seed=post, provider=provider, disk=disk)
    if output == "json":
        _print_document(figures)
        return
    from diskbench.report.published.text import list_lines

    for line in list_lines(figures):
        print(line)


@app.command()
def show(
    name: Annotated[
        str, typer.Argument(metavar="ID", help="An id, or the beginning of ids up to a slash.")
    ],
    output: Output = "table",
) -> None:
    """Show figures with machine, method, samples, doubts and verdict."""
    from diskbench.catalog.published import find_published
    from diskbench.results.refreshed_catalogue import open_books

    figures, books = find_published(name), open_books()
    if output == "json":
        from diskbench.plan.published import published_verdict

        _print_document(
            figures, {figure.id: published_verdict(figure, books) for figure in figures}
        )
        return
    from diskbench.report.published.text import show_lines

    for line in show_lines(figures, books):
        print(line)


def _print_document(
    figures: Iterable[Published], verdicts: Mapping[str, Verdict] | None = None
) -> None:
    from diskbench.catalog.published import PublishedDocument

    document = PublishedDocument(published=tuple(figures), verdicts=dict(verdicts or {}))
    print_json(document.model_dump_json())
