"""Whether a guest can prove which cloud it runs in, beyond its firmware strings.

Any hypervisor can write a cloud's name into its firmware. The metadata service at the link-local
address knows the machine's id: a guest that gets the id which the control plane gave its machine
runs in that cloud. The request is made inside the guest, never from here. The provider defines the
request (diskbench.plugin.GuestIdentity).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.plugins import known_plugin

if TYPE_CHECKING:
    from diskbench.model.facts import CloudFacts
    from diskbench.ports import Host

_ASK_S = 15.0


def vouched(host: Host, cloud: CloudFacts, provider: str, instance_id: str | None) -> bool:
    """Whether the guest proves that it is the machine `instance_id` of `provider`.

    False where the firmware names another cloud, the metadata service does not answer or returns
    another id, and for a provider without such a proof. Raises ConnectionLost.
    """
    if instance_id is None or cloud.vendor != provider:
        return False
    plugin = known_plugin(provider)
    guest = plugin.guest if plugin else None
    if guest is None or guest.is_instance is None:
        return False
    printed = host.run(guest.proof, timeout_s=_ASK_S, root=guest.needs_root).text
    return guest.is_instance(printed, instance_id)
