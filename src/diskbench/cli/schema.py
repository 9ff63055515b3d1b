"""`diskbench schema`: the JSON schemas of what `--output json` prints."""

from __future__ import annotations

from typing import Annotated

import typer

DOCUMENTS = ("results",)


def schema(
    document: Annotated[str, typer.Argument(help=f"Which document: {', '.join(DOCUMENTS)}.")],
) -> None:
    """Print the JSON schema of a document."""
    import json

    from diskbench.errors import UnknownName
    from diskbench.store.document import results_schema

    if document not in DOCUMENTS:
        raise UnknownName("document", document, DOCUMENTS)
    print(json.dumps(results_schema(), indent=2))
