"""Verification, inside the guest, that it is a machine of AWS."""

from __future__ import annotations

import contextlib
import json

from diskbench.plugin import GuestIdentity

_PROOF = """
curl=$(command -v curl) || exit 0
url=http://169.254.169.254/latest
token=$("$curl" -sf -m 3 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $url/api/token) ||
    exit 0
printf 'X-aws-ec2-metadata-token: %s\\n' "$token" |
    "$curl" -sf -m 3 -H @- $url/dynamic/instance-identity/document
"""
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
    is_instance=_is_instance,
    network_nvme_models=("Amazon Elastic Block Store",),
    type_in_product=True,
)
