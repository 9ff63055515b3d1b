"""Whether a guest can prove which cloud it runs in, beyond what its firmware says.

Any hypervisor can write a cloud's name into its firmware. The metadata service at the link-local
address knows the machine's own id: a guest that shows the id which the control plane gave its
machine runs where that control plane says. It is asked from inside the guest, never from here.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.model.facts import CloudFacts
    from diskbench.ports import Host

_ASK_S = 15.0
_AWS = """
curl=$(command -v curl) || exit 0
url=http://169.254.169.254/latest
token=$("$curl" -sf -m 3 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $url/api/token) ||
    exit 0
printf 'X-aws-ec2-metadata-token: %s\\n' "$token" |
    "$curl" -sf -m 3 -H @- $url/dynamic/instance-identity/document
"""
"""IMDSv2: a token first, then the identity document (AWS EC2 User Guide, instance identity
documents). The token goes by standard input: arguments can be read by everybody."""

_GCP = """
curl=$(command -v curl) || exit 0
"$curl" -sf -m 3 --noproxy '*' -H 'Metadata-Flavor: Google' \\
    http://169.254.169.254/computeMetadata/v1/instance/id
"""
"""The header keeps requests out that a guest was tricked into (Compute Engine, "VM metadata")."""

_AZURE = """
curl=$(command -v curl) || exit 0
"$curl" -sf -m 3 --noproxy '*' -H 'Metadata: true' \\
    'http://169.254.169.254/metadata/instance/compute/vmId?api-version=2021-02-01&format=text'
"""
"""The header is required, and proxies are refused (Azure Instance Metadata Service, "Security and
authentication")."""

_VSPHERE = "cat /sys/class/dmi/id/product_uuid"
"""The machine's UUID, which vCenter gave it (`config.uuid`); root only."""


def vouched(host: Host, cloud: CloudFacts, provider: str, instance_id: str | None) -> bool:
    """Whether the guest proves to be the machine `instance_id` of the cloud `provider`.

    False where the firmware names another cloud, where nothing answers, or where the metadata
    service does not know that id. Raises ConnectionLost.
    """
    if instance_id is None or cloud.vendor != provider:
        return False
    if provider == "gcp":
        return host.run(_GCP, timeout_s=_ASK_S).text.strip() == instance_id
    if provider == "azure":
        return host.run(_AZURE, timeout_s=_ASK_S).text.strip().lower() == instance_id.lower()
    if provider == "vsphere":
        told = host.run(_VSPHERE, timeout_s=_ASK_S, root=True).text
        return _same_uuid(told, instance_id)
    if provider != "aws":
        return False
    answer = host.run(_AWS, timeout_s=_ASK_S)
    with contextlib.suppress(ValueError):
        document = json.loads(answer.text)
        return isinstance(document, dict) and document.get("instanceId") == instance_id
    return False


def _same_uuid(told: str, known: str) -> bool:
    """Whether both are one UUID. Its first three fields stand the other way round where firmware
    and whoever reads it take SMBIOS 2.6 (section 7.2.1) differently."""
    try:
        ours, theirs = uuid.UUID(known), uuid.UUID(told.strip())
    except ValueError:
        return False
    return theirs.bytes in {ours.bytes, ours.bytes_le}
