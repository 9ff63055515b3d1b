"""The physical limits of a kind of disk, whatever is promised: a faster rate comes from a cache.

a link carries     6 Gbit/s (SATA revision 3.0, SATA-IO 2009) or 12 Gbit/s (SAS-3, T10 2013) in
                   8b/10b: 600 and 1,200 MB/s
I/Os a second      what the link carries, in blocks of the load; where they are not known, in
                   blocks of 4 KiB, the least that a filesystem reads: 146,484 on SATA
a turning disk     1,000 random I/Os: half a turn at 15,000 rpm takes 2 ms, and a deep queue at
                   best halves it twice (our choice)
"""

from __future__ import annotations

from dataclasses import dataclass

from diskbench.units import KIB, format_iops, format_mb_per_s

LINKS = {"sata": 600e6, "sas": 1200e6}
"""The bytes a second that a link carries, by its name in lsblk's TRAN."""
TURNING_IOPS = 1000.0
_LEAST_BLOCK = 4 * KIB


@dataclass(frozen=True, slots=True)
class Medium:
    """A local disk: its link (`sata`, `sas`), and whether it is rotational."""

    link: str
    turns: bool = False

    def impossible(
        self,
        iops: float | None,
        bytes_per_s: float | None,
        *,
        block_bytes: int | None = None,
        random: bool = False,
    ) -> str:
        """Return why this disk cannot reach a rate; empty if it can."""
        carries = LINKS.get(self.link)
        if carries is None:
            return ""
        name = self.link.upper()
        if bytes_per_s is not None and bytes_per_s > carries:
            return (
                f"{format_mb_per_s(bytes_per_s)} MB/s is more than the {name} link carries "
                f"({format_mb_per_s(carries)} MB/s)"
            )
        most = carries / (block_bytes or _LEAST_BLOCK)
        if iops is not None and iops > most:
            return (
                f"{format_iops(iops)} IOPS is more than the {name} link carries "
                f"({format_iops(most)} IOPS of {(block_bytes or _LEAST_BLOCK) / KIB:g} KiB)"
            )
        if self.turns and random and iops is not None and iops > TURNING_IOPS:
            return (
                f"{format_iops(iops)} random IOPS is more than any rotating disk does "
                f"({format_iops(TURNING_IOPS)} IOPS)"
            )
        return ""
