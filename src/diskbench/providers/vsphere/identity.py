"""Verification, inside the guest, that it is a machine of vSphere."""

import uuid

from diskbench.plugin import GuestIdentity


def _is_instance(printed: str, instance_id: str) -> bool:
    """Whether both are one UUID. The byte order of its first three fields differs where firmware
    and reader interpret SMBIOS 2.6 (section 7.2.1) differently."""
    try:
        known, read = uuid.UUID(instance_id), uuid.UUID(printed.strip())
    except ValueError:
        return False
    return read.bytes in {known.bytes, known.bytes_le}


GUEST = GuestIdentity(
    firmware=({"sys_vendor": "VMware"}, {"product_name": "VMware"}),
    # The machine's UUID, which vCenter gave it (`config.uuid`); root alone may read it.
    proof="cat /sys/class/dmi/id/product_uuid",
    is_instance=_is_instance,
    network_nvme_models=("VMware Virtual NVMe",),
    needs_root=True,
)
