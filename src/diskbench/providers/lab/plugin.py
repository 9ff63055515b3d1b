"""The lab plugin of diskbench, and its options: a host cache and an undocumented burst."""

from typing import ClassVar

from diskbench.model.options import Options, option
from diskbench.plugin import Plugin


class LabOptions(Options):
    """What a lab host does beyond its disks' limits: a host cache, and a burst that no catalogue
    knows."""

    group: ClassVar[str] = "lab_host"
    panel: ClassVar[str] = "Lab"

    cache: str | None = option(
        None, "Host cache in front of the disk (default: none); for Azure's disks only.",
        values=("none", "readonly", "readwrite"), in_key="value", of_disk=True,
    )  # fmt: skip
    hidden_burst: float = option(
        0.0,
        "How many times its limits the disk reaches at first, undocumented (0: no such burst).",
        ge=0, of_disk=True,
    )  # fmt: skip
    hidden_burst_for_s: float = option(
        0.0, "Seconds that an undocumented burst lasts from a full bucket.",
        flag="--hidden-burst-for", metavar="SECONDS", ge=0, of_disk=True,
    )  # fmt: skip


PLUGIN = Plugin(
    name="lab",
    title="Lab",
    summary="Hosts made of this machine, with disks as slow as a cloud's; always marked emulated.",
    provider="diskbench.providers.lab.cloud:LabProvider",
    rents=True,
    options=(
        "diskbench.providers.options:EmulationOptions",
        "diskbench.providers.lab.plugin:LabOptions",
    ),
    refuses=dict.fromkeys(
        (
            "region", "zone", "image", "subnet", "security_group", "placement",
            "ssh_cidr", "tag", "kms_key", "from_snapshot", "snapshot_of_fill", "account",
            "endpoint_url", "spot",
        ),
        "leave it out: the lab is this machine",
    ),
)  # fmt: skip
