"""The expectation of the catalogue for a disk of which others published figures.

It is the plan of the same runs on the same disk and machine, made on assumed facts: no cloud is
asked, and nothing is rented.
"""

from __future__ import annotations

from diskbench.catalog.books import Books
from diskbench.catalog.post_file import Published
from diskbench.engine.trial.planning import draft
from diskbench.errors import DiskbenchError
from diskbench.fio.profiles import shipped_profile
from diskbench.model.expectation import PlanExpectation
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.model.spec import Cell, TargetSpec
from diskbench.plan.expectation import expectation_of
from diskbench.units import GIB

_CAMPAIGN = "published"
GUEST_SHARE = 0.974
"""The share of a machine's memory that its guest has: in the first post a c4.xlarge of 7.5 GiB
wrote 15.68 GB, twice its memory (github.com/cunnie/cloud_storage_benchmarks, 2018-04-15)."""


def published_outlook(figure: Published, books: Books, runs: int = 1) -> PlanExpectation | None:
    """The expected result of `runs` runs of the figure's profile on its disk and machine; None
    where the disk's size is not known, or no catalogue contains the disk."""
    if figure.size_gib is None:
        return None
    try:
        profile = shipped_profile(figure.profile)
        plan = draft(_cell(figure, runs), profile, _rental(figure), _CAMPAIGN, books)
        return expectation_of(plan, books)
    except DiskbenchError:  # a profile that no longer takes the parameters, a disk too small for it
        return None


def _spec(figure: Published) -> RentSpec:
    spec = RentSpec(
        disk=figure.disk_type,
        size_gib=figure.size_gib,
        iops=figure.provisioned_iops,
        instance_type=figure.instance_type,
        region=figure.region,
    )
    cache = figure.cache
    return spec.with_groups({figure.provider: {"cache": cache}}) if cache else spec


def _cell(figure: Published, runs: int) -> Cell:
    return Cell(
        provider=figure.provider,
        target=TargetSpec(kind="device", path="/dev/disk"),
        rent=_spec(figure),
        profile=figure.profile,
        parameters=tuple((name, f"{value:.0f}") for name, value in figure.parameters.items()),
        runs=runs,
    )


def _rental(figure: Published) -> Rental:
    assert figure.size_gib is not None
    return Rental(
        scope=Scope(provider=figure.provider, region=figure.region or ""),
        spec=_spec(figure),
        offer=figure.disk,
        disk=DiskSpec(
            type=figure.disk_type, size_gib=figure.size_gib, iops=figure.provisioned_iops
        ),
        instance_type=figure.instance_type,
        cores=figure.cores,
        memory_bytes=int(figure.memory_gib * GIB * GUEST_SHARE) if figure.memory_gib else None,
    )
