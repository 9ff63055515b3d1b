"""The AWS plugin of diskbench: options that only AWS has, and how a guest shows that it is a
machine of AWS."""

import contextlib
import json
from typing import ClassVar

from diskbench.model.options import Options, option
from diskbench.plugin import GuestIdentity, Plugin, Redaction


class AwsOptions(Options):
    """Who pays, and how fast a snapshot is loaded."""

    group: ClassVar[str] = "aws"
    panel: ClassVar[str] = "AWS"

    profile_name: str | None = option(
        None,
        "Named credentials of the AWS configuration files (default: AWS_PROFILE).",
        metavar="NAME",
        in_key="no",
        scopes=True,
    )
    initialization_rate: int | None = option(
        None,
        "MiB/s at which a disk from a snapshot is loaded, 100 to 300; billed apart.",
        metavar="MIB_PER_S",
        of_disk=True,
    )
    fast_snapshot_restore: bool = option(
        default=False,
        about="Fast Snapshot Restore for the snapshot of --snapshot-of-fill; an hour is billed.",
        of_disk=True,
    )


_ASK = """
curl=$(command -v curl) || exit 0
url=http://169.254.169.254/latest
token=$("$curl" -sf -m 3 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $url/api/token) ||
    exit 0
printf 'X-aws-ec2-metadata-token: %s\\n' "$token" |
    "$curl" -sf -m 3 -H @- $url/"""
_PROOF = f"{_ASK}dynamic/instance-identity/document\n"
_MACHINE_TYPE = f"{_ASK}meta-data/instance-type\n"
"""IMDSv2: a token first, then the identity document (AWS EC2 User Guide, instance identity
documents). The token is passed by standard input: all users can read arguments."""


def _is_instance(printed: str, instance_id: str) -> bool:
    """Whether the identity document belongs to the instance."""
    with contextlib.suppress(ValueError, RecursionError):
        document = json.loads(printed)
        return isinstance(document, dict) and document.get("instanceId") == instance_id
    return False


GUEST = GuestIdentity(
    firmware=(
        {"sys_vendor": "Amazon EC2"},
        {"bios_vendor": "(?i)amazon"},
        {"product_version": r"\.amazon$"},
    ),
    proof=_PROOF,
    machine_type=_MACHINE_TYPE,
    is_instance=_is_instance,
    network_nvme_models=("Amazon Elastic Block Store",),
    type_in_product=True,
)


_VARIABLES = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ROLE_ARN",
)  # fmt: skip

PLUGIN = Plugin(
    name="aws",
    title="AWS",
    summary="Machines and EBS volumes of Amazon Web Services, or of an emulator.",
    provider="diskbench.providers.aws.cloud:AWSProvider",
    rents=True,
    options=(
        "diskbench.providers.aws.plugin:AwsOptions",
        "diskbench.providers.options:NetworkOptions",
        "diskbench.providers.options:EmulationOptions",
    ),
    account_option="profile_name",
    zone_region=r"([a-z]+(?:-[a-z]+)+-\d+)(?:[a-z]|-[a-z0-9-]+)",
    label="AWS",
    guest=GUEST,
    redaction=Redaction(
        variables=_VARIABLES,
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
