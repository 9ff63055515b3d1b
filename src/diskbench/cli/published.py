"""`diskbench published`: what others have published of cloud disks."""

from typing import Annotated

from diskbench.catalog.published import PublishedDocument, filtered, find_published
from diskbench.cli import completion
from diskbench.cli.terminal import TableOrJson, argument, option, print_json
from diskbench.plan.published import published_verdict
from diskbench.report.published.text import list_lines, show_lines
from diskbench.results.refreshed_catalogue import open_books


def list_(
    post: Annotated[
        str | None, option("POST", "Only figures of this post, such as iaas-2018.")
    ] = None,
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
            "Only figures of this disk: its type, or a part of its name.",
            autocompletion=completion.disks,
        ),
    ] = None,
    output: TableOrJson = "table",
) -> None:
    """List the figures, one per line; ! marks doubtful ones."""
    figures = filtered(seed=post, provider=provider, disk=disk)
    if output == "json":
        print_json(PublishedDocument(published=figures).model_dump_json())
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
        verdicts = {one.id: published_verdict(one, books) for one in figures}
        print_json(PublishedDocument(published=figures, verdicts=verdicts).model_dump_json())
        return
    print(*show_lines(figures, books), sep="\n")
