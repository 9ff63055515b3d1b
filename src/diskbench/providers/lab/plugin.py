"""The lab plugin of diskbench."""

from diskbench.plugin import Plugin

_NO_CLOUD = "leave it out: the lab is this machine"

PLUGIN = Plugin(
    name="lab",
    title="Lab",
    summary="Hosts made of this machine, with disks as slow as a cloud's; always marked emulated.",
    provider="diskbench.providers.lab.cloud:LabProvider",
    rents=True,
    options=(
        "diskbench.providers.options:EmulationOptions",
        "diskbench.providers.lab.options:LabOptions",
    ),
    refuses=dict.fromkeys(
        (
            "region", "zone", "image", "subnet", "security_group", "placement",
            "ssh_cidr", "tag", "kms_key", "from_snapshot", "snapshot_of_fill",
            "account",
            "endpoint_url", "spot",
        ),
        _NO_CLOUD,
    ),
)  # fmt: skip
