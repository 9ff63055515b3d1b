"""Options that only the lab has: a host cache and an undocumented burst."""

from typing import ClassVar

from diskbench.model.options import Options, option


class LabOptions(Options):
    """What a lab host does beyond its disks' limits: a host cache, and a burst that no catalogue
    knows."""

    group: ClassVar[str] = "lab_host"
    panel: ClassVar[str] = "Lab"

    cache: str | None = option(
        None,
        "Host cache of the machine before the disk (default: none); of Azure's disks.",
        values=("none", "readonly", "readwrite"),
        in_key="value",
        of_disk=True,
    )
    hidden_burst: float = option(
        0.0,
        "How many times its limits the disk reaches at first, undocumented (0: no such burst).",
        ge=0,
        of_disk=True,
    )
    hidden_burst_for_s: float = option(
        0.0,
        "Seconds that an undocumented burst lasts from a full bucket.",
        flag="--hidden-burst-for",
        metavar="SECONDS",
        ge=0,
        of_disk=True,
    )
