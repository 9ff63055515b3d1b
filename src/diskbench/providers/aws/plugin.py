"""The AWS plugin of diskbench, and how a guest shows that it is a machine of AWS."""

from __future__ import annotations

import contextlib
import json

from diskbench.plugin import GuestIdentity, Plugin, Redaction

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


PLUGIN = Plugin(
    name="aws",
    title="AWS",
    summary="Machines and EBS volumes of Amazon Web Services, or of an emulator.",
    provider="diskbench.providers.aws.cloud:AWSProvider",
    rents=True,
    options=(
        "diskbench.providers.aws.options:AwsOptions",
        "diskbench.providers.options:NetworkOptions",
        "diskbench.providers.options:EmulationOptions",
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
