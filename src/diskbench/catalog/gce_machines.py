"""Google Cloud's machine series as load generators: which disks they take, and how fast.

A machine has a cap for all its disks of one type together, by its vCPUs; what one disk promises
above that cannot be had there.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Literal

from pydantic import Field, model_validator

from diskbench.catalog.book import parse_book, shipped
from diskbench.catalog.entry import Figure, Source
from diskbench.model.base import Frozen

_FILE = "gcp_machines.yaml"
_TYPE = re.compile(r"(?P<series>[a-z]+[0-9]+[a-z]*)-[a-z0-9-]*?(?P<vcpus>[0-9]+)?(-lssd|-metal)?")


class Cap(Frozen):
    """What all disks of one type may do on one machine, from `vcpus` on."""

    vcpus: int
    read_iops: float
    write_iops: float
    read_mib_per_s: float
    write_mib_per_s: float

    @model_validator(mode="before")
    @classmethod
    def _from_row(cls, row: Any) -> Any:  # noqa: ANN401 - as YAML has it
        return dict(zip(cls.model_fields, row, strict=True)) if isinstance(row, list) else row


class Fit(Figure):
    """How a series takes one type of disk. No caps: none is published that we know of."""

    min_vcpus: int = 0
    caps: tuple[Cap, ...] = ()

    def cap(self, vcpus: int) -> Cap | None:
        """The cap of a machine with so many vCPUs; None where none is known."""
        return max((c for c in self.caps if c.vcpus <= vcpus), key=lambda c: c.vcpus, default=None)


class Series(Figure):
    """One machine series. `local_ssd`: chosen when a machine is made, part of some machine types
    (`…-lssd`), or not to be had. `open`: disk types of which nothing is known here."""

    interface: Literal["scsi", "nvme"]
    local_ssd: Literal["optional", "bundled", "none"]
    disks: dict[str, Fit] = Field(min_length=1)
    open: tuple[str, ...] = ()


class Choices(Figure):
    """Machine types in the order in which they are tried."""

    types: tuple[str, ...]


class MachineBook(Frozen):
    """The file of machine series."""

    format: Literal[1]
    cloud: Literal["gcp"]
    sources: dict[str, Source]
    choices: Choices
    series: dict[str, Series]

    @model_validator(mode="after")
    def _every_source_is_listed(self) -> MachineBook:
        figures: list[tuple[str, Figure]] = [("choices", self.choices), *self.series.items()]
        for name, series in self.series.items():
            figures += [(f"{name} {disk}", fit) for disk, fit in series.disks.items()]
        for name, figure in figures:
            if figure.source not in self.sources:
                raise ValueError(f"{name}: {figure.source!r} is not in the list of sources")
        return self

    def series_of(self, machine_type: str) -> Series | None:
        """The series of a machine type, by its name; None for one that is not here."""
        return self.series.get(machine_type.partition("-")[0])

    def takers(self, disk_type: str) -> tuple[str, ...]:
        """The series that take a type of disk."""
        return tuple(name for name, one in self.series.items() if disk_type in one.disks)


def vcpus_of(machine_type: str) -> int | None:
    """The vCPUs in the name of a machine type (`n2-standard-8`); None where it names none
    (`e2-medium`, `n2-custom-4-8192`)."""
    if "-custom-" in machine_type:
        return None
    named = _TYPE.fullmatch(machine_type)
    return int(named["vcpus"]) if named and named["vcpus"] else None


@functools.cache
def machine_book() -> MachineBook:
    """The shipped file."""
    return parse_machines(shipped(_FILE), where=_FILE)


def parse_machines(text: str, *, where: str) -> MachineBook:
    """Machine series from YAML. Raises InvalidValue naming `where` and every fault."""
    return parse_book(MachineBook, text, where=where, wanted="catalogue of machine series")
