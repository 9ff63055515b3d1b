"""Options that only Stratus has."""

from typing import ClassVar

from diskbench.model.options import Options, option

ALTITUDES = ("low", "high")


class StratusOptions(Options):
    """Who pays, and how high above the ground a disk is kept."""

    group: ClassVar[str] = "stratus"
    panel: ClassVar[str] = "Stratus"

    tenant: str | None = option(
        None, "Tenant that pays (default: ground).", metavar="NAME", in_key="no", scopes=True
    )
    altitude: str | None = option(
        None,
        "How high the disk is kept (default: low).",
        values=ALTITUDES,
        in_key="value",
        of_disk=True,
    )
    lightning: int | None = option(None, "Strikes an hour that the disk must bear.", ge=1, le=100)
