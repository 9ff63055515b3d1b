"""The performance that a disk's owner expects, as typed: for disks in no catalogue."""

from pydantic import Field

from diskbench.model.base import Frozen


class Promise(Frozen):
    """Each figure holds for reads and for writes; None where nothing is expected. MB are 10^6.

    `io_kib` is the largest request that counts as one I/O of `iops`; a larger one counts as
    several. None: as the provider's catalogue counts, 256 KiB where none does.
    """

    iops: float | None = Field(default=None, gt=0)
    mb_per_s: float | None = Field(default=None, gt=0)
    io_kib: int | None = Field(default=None, ge=1)

    def words(self) -> str:
        """`5,000 IOPS, 100 MB/s, by --promise`."""
        parts = []
        if self.iops is not None:
            size = f" of up to {self.io_kib:,} KiB" if self.io_kib is not None else ""
            parts.append(f"{self.iops:,.0f} IOPS{size}")
        if self.mb_per_s is not None:
            parts.append(f"{self.mb_per_s:,g} MB/s")
        return f"{', '.join(parts)}, by --promise"
