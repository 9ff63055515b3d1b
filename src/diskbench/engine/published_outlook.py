"""The expectation of the catalogue for a disk of which others published figures: the plan of the
same runs on the same disk and machine, made on assumed facts. No cloud is asked, and nothing is
rented."""

from diskbench.catalog.books import Books
from diskbench.catalog.published import Published
from diskbench.engine.trial.planning import draft
from diskbench.errors import DiskbenchError
from diskbench.fio.profiles import shipped_profile
from diskbench.model.expectation import PlanExpectation
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.model.spec import Cell, TargetSpec
from diskbench.plan.expectation import expectation_of
from diskbench.units import GIB

GUEST_SHARE = 0.974
"""The share of a machine's memory that its guest has: in the first post a c4.xlarge of 7.5 GiB
wrote 15.68 GB, twice its memory (github.com/cunnie/cloud_storage_benchmarks, 2018-04-15)."""


def published_outlook(figure: Published, runs: int = 1, *, books: Books) -> PlanExpectation | None:
    """The expected result of `runs` runs of the figure's profile on its disk and machine; None
    where the disk's size is not known, or no catalogue contains the disk."""
    if figure.size_gib is None:
        return None
    size, sold, memory = figure.size_gib, figure.provisioned_iops, figure.memory_gib
    try:
        spec = RentSpec(
            disk=figure.disk_type,
            size_gib=size,
            iops=sold,
            instance_type=figure.instance_type,
            region=figure.region,
        )
        if figure.cache:
            spec = spec.with_groups({figure.provider: {"cache": figure.cache}})
        cell = Cell(
            provider=figure.provider,
            target=TargetSpec(kind="device", path="/dev/disk"),
            rent=spec,
            profile=figure.profile,
            parameters=tuple((name, f"{value:.0f}") for name, value in figure.parameters.items()),
            runs=runs,
        )
        rental = Rental(
            scope=Scope(provider=figure.provider, region=figure.region or ""),
            spec=spec,
            offer=figure.disk,
            disk=DiskSpec(type=figure.disk_type, size_gib=size, iops=sold),
            instance_type=figure.instance_type,
            cores=figure.cores,
            memory_bytes=int(memory * GIB * GUEST_SHARE) if memory else None,
        )
        plan = draft(cell, shipped_profile(figure.profile), rental, "published", books)
        return expectation_of(plan, books)
    except DiskbenchError:  # a profile that no longer takes the parameters, a disk too small for it
        return None
