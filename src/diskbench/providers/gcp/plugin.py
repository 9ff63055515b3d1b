"""The Google Cloud plugin of diskbench."""

from diskbench.plugin import Plugin
from diskbench.providers.gcp.identity import GUEST

PLUGIN = Plugin(
    name="gcp",
    title="Google Cloud",
    summary="Machines and disks of Google Cloud's Compute Engine, or what an emulator makes of "
    "them.",
    provider="diskbench.providers.gcp.provider:GCPProvider",
    rents=True,
    options=(
        "diskbench.providers.gcp.options:GcpOptions",
        "diskbench.providers.private_network:NetworkOptions",
        "diskbench.providers.emulation:EmulationOptions",
    ),
    account_option="project",
    zone_region=r"([a-z]+-[a-z]+\d+)-[a-z]",
    label="Google",
    guest=GUEST,
    catalogue="diskbench.providers.gcp:catalogue",
    quiet_loggers=("google",),
    errors="diskbench.providers.gcp.errors:TABLE",
)
