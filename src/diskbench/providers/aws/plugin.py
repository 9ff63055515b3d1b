"""The AWS plugin of diskbench."""

from diskbench.plugin import Plugin
from diskbench.providers.aws.identity import GUEST

PLUGIN = Plugin(
    name="aws",
    title="AWS",
    summary="Machines and EBS volumes of Amazon Web Services, or what an emulator makes of them.",
    provider="diskbench.providers.aws.provider:AWSProvider",
    rents=True,
    options=(
        "diskbench.providers.aws.options:AwsOptions",
        "diskbench.providers.private_network:NetworkOptions",
        "diskbench.providers.emulation:EmulationOptions",
    ),
    account_option="profile_name",
    zone_region=r"([a-z]+(?:-[a-z]+)+-\d+)(?:[a-z]|-[a-z0-9-]+)",
    label="AWS",
    guest=GUEST,
    errors="diskbench.providers.aws.errors:TABLE",
    catalogue="diskbench.providers.aws:catalogue",
)
