"""Options that only Google Cloud has."""

from typing import ClassVar

from diskbench.model.options import Options, option


class GcpOptions(Options):
    """Who pays."""

    group: ClassVar[str] = "gcp"
    panel: ClassVar[str] = "Google Cloud"

    project: str | None = option(
        None,
        "Project (default: that of the credentials).",
        metavar="ID",
        in_key="no",
        scopes=True,
    )
