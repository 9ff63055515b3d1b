"""What is known of vSphere's storage: kinds of datastores and disks, and the queues of controllers.

No speed is promised; a virtual disk gets what array, network and host leave it. What can be known
is how many requests a controller passes on at once, and an IOPS limit where somebody set one.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from diskbench.catalog.book import parse_book, shipped
from diskbench.catalog.entry import Accounting, Figure, Size, Source
from diskbench.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

_FILE = "vsphere.yaml"


class Datastore(Figure):
    """A kind of datastore. `io_kib` is what an IOPS limit of its policy counts as one I/O."""

    title: str
    io_kib: int | None = None


class Provisioning(Figure):
    """How a virtual disk is made; `write_first` where a first write measures its allocation."""

    title: str
    write_first: bool


class Queue(Figure):
    """Requests at once: of the adapter and of one disk, by default and at most."""

    adapter: int
    adapter_max: int
    disk: int
    disk_max: int


class ControllerLimits(Figure):
    """How many controllers of a kind a machine has, and devices each."""

    controllers: int
    devices: int


class Controller(Frozen):
    """A kind of controller; `queue` is None where no figure is known."""

    title: str
    queue: Queue | None = None
    limits: ControllerLimits


class IopsLimit(Figure):
    """What a limit of a virtual disk may be; I/Os of a reservation are counted in pieces."""

    minimum: int
    unlimited: int
    reservation_io_kib: int


class Shares(Figure):
    """What a level of shares stands for."""

    low: int
    normal: int
    high: int


class Rule(Figure):
    """Something to know that is no number."""

    title: str


class VsphereBook(Frozen):
    """The file."""

    format: Literal[1]
    cloud: Literal["vsphere"]
    sources: dict[str, Source]
    datastores: dict[str, Datastore] = Field(min_length=1)
    provisioning: dict[str, Provisioning]
    controllers: dict[str, Controller]
    iops_limit: IopsLimit
    shares: Shares
    accounting: Accounting
    size_gib: Size
    enforcement: Rule

    def figures(self) -> Iterator[Figure]:
        """Everything with a figure in it."""
        yield from self.datastores.values()
        yield from self.provisioning.values()
        for one in self.controllers.values():
            yield from (one.limits, *([one.queue] if one.queue else []))
        yield from (self.iops_limit, self.shares, self.accounting, self.size_gib)
        yield self.enforcement

    @model_validator(mode="after")
    def _every_source_is_listed(self) -> VsphereBook:
        missing = {figure.source for figure in self.figures()} - set(self.sources)
        if missing:
            raise ValueError(f"not in the list of sources: {', '.join(sorted(missing))}")
        return self


@functools.cache
def vsphere_book() -> VsphereBook:
    """The shipped file."""
    return parse_vsphere(shipped(_FILE), where=_FILE)


def parse_vsphere(text: str, *, where: str) -> VsphereBook:
    """The book from YAML. Raises InvalidValue naming `where` and every fault."""
    return parse_book(VsphereBook, text, where=where, wanted="catalogue of vSphere")
