"""Options that only Google Cloud has."""

from typing import ClassVar

from diskbench.model.options import Options, option


class GcpOptions(Options):
    """Who pays, and how a machine without a public address is reached."""

    group: ClassVar[str] = "gcp"
    panel: ClassVar[str] = "Google Cloud"

    project: str | None = option(
        None,
        "Project (default: that of the credentials).",
        metavar="ID",
        in_key="no",
        scopes=True,
    )
    iap: bool = option(
        default=False,
        about="Reach the machine by IAP TCP forwarding, without a public address; needs gcloud.",
        flag="--iap",
        in_key="no",
    )
