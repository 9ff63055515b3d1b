"""`diskbench published`: what others have published of cloud disks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from diskbench.catalog.post_file import Published
from diskbench.catalog.published import PublishedDocument, filtered, find_published, load_published
from diskbench.cli import completion
from diskbench.cli.terminal import TableOrJson, argument, option, print_json
from diskbench.model.verdict import Verdict
from diskbench.plan.published import published_verdict
from diskbench.report.published.text import list_lines, show_lines
from diskbench.results.refreshed_catalogue import open_books


def list_(
    post: Annotated[str | None, option("POST", "Only figures of this post, as iaas-2018.")] = None,
    provider: Annotated[
        str | None,
        option(
            "NAME", "Only figures of this provider's disks.", autocompletion=completion.providers
        ),
    ] = None,
    disk: Annotated[
        str | None,
        option(
            "TYPE",
            "Only of one disk: its type, or a part of its name.",
            autocompletion=completion.disks,
        ),
    ] = None,
    output: TableOrJson = "table",
) -> None:
    """List the figures, one per line; ! marks doubtful ones."""
    figures = filtered(load_published(), seed=post, provider=provider, disk=disk)
    if output == "json":
        _print_document(figures)
        return
    for line in list_lines(figures):
        print(line)


def show(
    name: Annotated[str, argument("ID", "An id, or the beginning of ids up to a slash.")],
    output: TableOrJson = "table",
) -> None:
    """Show figures with machine, method, samples, doubts and verdict."""
    figures, books = find_published(name), open_books()
    if output == "json":
        _print_document(figures, {one.id: published_verdict(one, books) for one in figures})
        return
    for line in show_lines(figures, books):
        print(line)


def _print_document(
    figures: Iterable[Published], verdicts: Mapping[str, Verdict] | None = None
) -> None:
    document = PublishedDocument(published=tuple(figures), verdicts=dict(verdicts or {}))
    print_json(document.model_dump_json())
