"""What the owner of a disk expects of it, as typed: for disks that no catalogue knows."""

from pydantic import Field

from diskbench.model.base import Frozen


class Promise(Frozen):
    """Each figure holds for reads and for writes; None where nothing is expected. MB are 10^6."""

    iops: float | None = Field(default=None, gt=0)
    mb_per_s: float | None = Field(default=None, gt=0)

    def words(self) -> str:
        """`5,000 IOPS, 100 MB/s, by --promise`."""
        told = []
        if self.iops is not None:
            told.append(f"{self.iops:,.0f} IOPS")
        if self.mb_per_s is not None:
            told.append(f"{self.mb_per_s:,g} MB/s")
        return f"{', '.join(told)}, by --promise"
