"""Verification, inside the guest, that it is a machine of Google Cloud."""

from diskbench.plugin import GuestIdentity

_PROOF = """
curl=$(command -v curl) || exit 0
"$curl" -sf -m 3 --noproxy '*' -H 'Metadata-Flavor: Google' \\
    http://169.254.169.254/computeMetadata/v1/instance/id
"""
"""The header excludes forged requests from a guest (Compute Engine, "VM metadata")."""


def _is_instance(printed: str, instance_id: str) -> bool:
    """Whether the printed id belongs to the instance."""
    return printed.strip() == instance_id


GUEST = GuestIdentity(
    firmware=({"sys_vendor": "^Google$", "product_name": "Google"},),
    proof=_PROOF,
    is_instance=_is_instance,
    network_nvme_models=("nvme_card-pd",),
)
