"""The AWS plugin of diskbench."""

from diskbench.plugin import Plugin, Redaction
from diskbench.providers.aws.identity import GUEST

PLUGIN = Plugin(
    name="aws",
    title="AWS",
    summary="Machines and EBS volumes of Amazon Web Services, or of an emulator.",
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
    redaction=Redaction(
        variables=(
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_ROLE_ARN",
        ),
        options=("endpoint_url", "ssh_cidr", "placement"),
        fields=("PublicKeyMaterial", "UserId", "tagSet"),
        patterns={
            r"\b(?:AKIA|ASIA|AIDA|AROA|AGPA|ANPA)[A-Z0-9]{12,}\b(?::[\w+=,.@-]+)?": "AKIA{n:016d}",
            r"(?<![\d.])\d{12}(?![\d.])": "{n:012d}",
            r"(?<=:user/)[^<\"\s]+": "user-{n}",
            r"(?<=:assumed-role/)[^<\"\s]+": "role-{n}",
            r"(?<=:federated-user/)[^<\"\s]+": "user-{n}",
        },
        # The owners of the images that diskbench chooses by default: Canonical and Debian.
        public=("099720109477", "136693071363"),
    ),
    errors="diskbench.providers.aws.errors:TABLE",
    catalogue="diskbench.providers.aws:catalogue",
)
