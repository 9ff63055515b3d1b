"""How fast the emulated datastores are: what two published comparisons measured on their like."""

from __future__ import annotations

from diskbench.model.rental import DiskSpec
from diskbench.units import GIB, MIB

_MB = 10**6
_ONE_KIB = 32
"""What ESXi's scheduler counts as one request against an IOPS limit; larger ones are several
(Broadcom KB 385258)."""
SPEEDS: dict[str, tuple[int, float]] = {
    "freenas": (7776, 104 * _MB),
    "sata": (26075, 470 * _MB),
    "nvme": (28484, 1614 * _MB),
    "san": (10000, 107 * _MB),
    "nfs": (5000, 100 * _MB),
    "vsan": (5000, 100 * _MB),
}
"""IOPS, and bytes a second: an iSCSI filer, a SATA and an NVMe SSD ("Benchmarking the Disk Speed of
IaaSes", 2018) and an iSCSI SAN on one gigabit ("Virtual Server vs. Real Server Disk Drive Speed",
2009). NFS and vSAN are our choice."""


def disk_on(datastore: str, size_bytes: int, iops_limit: int) -> DiskSpec:
    """The lab's disk for a virtual disk on a datastore; a limit of -1 is none."""
    iops, rate = SPEEDS[datastore]
    is_limited = 0 <= iops_limit < iops
    return DiskSpec(
        type="custom",
        size_gib=size_bytes // GIB,
        iops=iops_limit if is_limited else iops,
        io_kib=_ONE_KIB if is_limited else None,
        throughput_mib_per_s=rate / MIB,
    )
