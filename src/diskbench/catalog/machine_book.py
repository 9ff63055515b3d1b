"""The form of `machines.yaml`: the limits of each machine of a provider towards its disks.

A machine is listed by its type (`types`), or belongs to a series whose caps depend on disk type and
vCPUs (`series`); `names` is the pattern that reads series and vCPUs from a type's name. A path has
a lasting baseline and may have a burst above it, with a bucket (docs/METHOD.md, "Credit").
"""

import re
from difflib import get_close_matches
from typing import Any, Literal

from pydantic import Field, model_validator

from diskbench.catalog.shipped import MACHINES, shipped_book
from diskbench.catalog.sourced_figures import Accounting, BurstTime, ProviderFile, SourcedFigure
from diskbench.model.base import Frozen


class LocalSpeed(SourcedFigure):
    """The IOPS of 4 KiB that all disks of a machine reach together."""

    read_iops: float
    write_iops: float


class LocalDisks(Frozen):
    """The equal disks that come with a machine; `size_gb` is 10^9 bytes. `speed` is None where no
    figure is known."""

    count: int
    size_gb: int
    nvme: bool = True
    speed: LocalSpeed | None = None


class MachineEntry(SourcedFigure):
    """One machine type. `iops` and `mb_per_s` (10^6 bytes) are the baseline of its path to network
    disks, `burst_…` what it reaches above it for a while, `cached_…` its path to disks with a host
    cache; None where no figure is published. `max_disks` counts network disks with the root disk,
    and with interfaces and local disks too unless `disks_apart`. `traits` are facts that only the
    machine's own provider reads.
    """

    vcpus: int
    memory_gib: float
    arch: Literal["x86_64", "arm64"] = "x86_64"
    current: bool = True
    burstable: bool = False
    iops: float | None = None
    mb_per_s: float | None = None
    burst_iops: float | None = None
    burst_mb_per_s: float | None = None
    cached_iops: float | None = None
    cached_mb_per_s: float | None = None
    max_disks: int
    disks_apart: bool = False
    local: LocalDisks | None = None
    traits: dict[str, bool | int | float | str] = Field(default_factory=dict)


class Cap(Frozen):
    """The joint limits of all disks of one type on a machine with at least `vcpus` vCPUs."""

    vcpus: int
    read_iops: float
    write_iops: float
    read_mib_per_s: float
    write_mib_per_s: float

    @model_validator(mode="before")
    @classmethod
    def _from_row(cls, row: Any) -> Any:  # noqa: ANN401 - as YAML has it
        return dict(zip(cls.model_fields, row, strict=True)) if isinstance(row, list) else row


class Fit(SourcedFigure):
    """How a series supports one type of disk. No caps: none is known to be published."""

    min_vcpus: int = 0
    caps: tuple[Cap, ...] = ()

    def cap(self, vcpus: int) -> Cap | None:
        """Return the cap of a machine with that number of vCPUs; None if none is known."""
        return max((c for c in self.caps if c.vcpus <= vcpus), key=lambda c: c.vcpus, default=None)


class Maintenance(SourcedFigure):
    """What becomes of a machine when its host is maintained: `only` that, but a machine with more
    local disks than `terminates_above_gib` is terminated."""

    only: Literal["MIGRATE", "TERMINATE"]
    terminates_above_gib: int | None = None


class Series(SourcedFigure):
    """One machine series. `local_ssd`: chosen when a machine is made, part of some machine types,
    part of every type, or not offered; `local_ssd_gib`: their size if it is not the usual one.
    `open`: disk types of which nothing is known here. `maintenance` is None where the cloud leaves
    a choice."""

    interface: Literal["scsi", "nvme"]
    local_ssd: Literal["optional", "bundled", "always", "none"] = "none"
    local_ssd_gib: int | None = None
    disks: dict[str, Fit] = Field(min_length=1)
    open: tuple[str, ...] = ()
    maintenance: Maintenance | None = None


class MachineBook(ProviderFile):
    """The file. `accounting` is how requests are counted on the path to network disks; `note` is
    printed below a table of these machines, `tried` are types in the order of trying them, `words`
    are in names of types that are not listed."""

    file = MACHINES
    kind = "catalogue of machines"

    note: str = ""
    burst: BurstTime | None = None
    accounting: Accounting | None = None
    names: re.Pattern[str] | None = None
    tried: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    types: dict[str, MachineEntry] = Field(default_factory=dict)
    series: dict[str, Series] = Field(default_factory=dict)

    def series_of(self, machine_type: str) -> Series | None:
        """Return the series of a machine type, by its name; None if it is not listed."""
        match = self.names.fullmatch(machine_type) if self.names else None
        return self.series.get(match["series"]) if match else None

    def family_of(self, machine_type: str) -> str:
        """Return what a cloud's quotas call the machine's family: the series that its name has, or
        the letters before the first figure."""
        match = self.names.fullmatch(machine_type) if self.names else None
        letters = re.match(r"[a-z]*", machine_type)
        return match["series"] if match else letters[0] if letters else ""

    def spelt(self, machine_type: str) -> str | None:
        """Return the known type that a name with a misspelt word means: m5.large for m5.lagre. None
        for any other name: another family, version or number of vCPUs may be new."""
        names = " ".join((*self.types, *self.tried, *self.words))
        words = sorted(set(re.findall("[A-Za-z]{5,}", names)))

        def nearest(typed: re.Match[str]) -> str:
            return next(iter(get_close_matches(typed[0], words, n=1, cutoff=0.75)), typed[0])

        spelt = re.sub("[A-Za-z]{4,}", nearest, machine_type)
        known = spelt in self.types or self.series_of(spelt) is not None
        return spelt if known and spelt != machine_type else None

    def takers(self, disk_type: str) -> tuple[str, ...]:
        """Return the series that support a type of disk."""
        return tuple(name for name, series in self.series.items() if disk_type in series.disks)

    def vcpus_of(self, machine_type: str) -> int | None:
        """Return the vCPUs of a machine type, as listed or from its name; None if unknown."""
        listed = self.types.get(machine_type)
        if listed is not None:
            return listed.vcpus
        match = self.names.fullmatch(machine_type) if self.names else None
        return int(match["vcpus"]) if match and match["vcpus"] else None


def machine_book(cloud: str) -> MachineBook:
    """The shipped machines of a provider; an empty book where it lists none. Raises InvalidValue
    for a file that breaks the rules."""
    book = shipped_book(MachineBook, cloud)
    return book if book is not None else MachineBook(format=1, cloud=cloud, sources={})
