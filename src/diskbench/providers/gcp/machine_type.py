"""Machine types and disk types as Compute Engine offers them, and where."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from diskbench.catalog.machine_book import machine_book
from diskbench.errors import InvalidValue, UnknownName
from diskbench.providers.gcp.disk_request import check_series, local_ssd_gib
from diskbench.providers.gcp.images import arch_of
from diskbench.providers.gcp.operations import last
from diskbench.providers.gcp.resolved import GcpMachine
from diskbench.units import MIB

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.providers.gcp.client import Compute, Item
    from diskbench.providers.gcp.disk_request import GcpDiskRequest

_HOLDS = 16
"""Disks of a type that does not report its number; the lowest of all (CSI driver's node.go,
2026)."""


def offered(compute: Compute, collection: str, name: str) -> dict[str, Item]:
    """The machine type or disk type in each zone that offers it, in all regions."""
    request = {"filter": f"name={name}"}
    return {
        last(str(item.get("zone", ""))): item
        for item in compute.listed_everywhere(collection, request)
        if item.get("name") == name
    }


def typed_machine(
    compute: Compute, name: str, zones: Sequence[str], where: str
) -> tuple[GcpMachine, tuple[str, ...]]:
    """Look up a machine type by name; returns it with those of the zones that offer it. Raises
    UnknownName for an unknown type, InvalidValue naming the zones that offer it when none of
    these does."""
    everywhere = offered(compute, "machineTypes", name)
    here = tuple(zone for zone in zones if zone in everywhere)
    if here:
        return machine(everywhere[here[0]]), here
    if not everywhere:
        known = machine_book("gcp").tried
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise UnknownName(
            "machine type", name, known,
            advice=f"{hint}gcloud compute machine-types list shows those of a zone",
            field="instance_type",
        )  # fmt: skip
    raise InvalidValue(
        f"{name} is not offered in {where}",
        advice=f"it is in {', '.join(sorted(everywhere))}",
    )


def disk_zones(
    compute: Compute, disk_type: str, zones: Sequence[str], where: str
) -> tuple[str, ...]:
    """Those of the zones that offer a disk type. Raises InvalidValue naming the zones that offer
    it."""
    everywhere = offered(compute, "diskTypes", disk_type)
    here = tuple(zone for zone in zones if zone in everywhere)
    if not here:
        raise InvalidValue(
            f"{disk_type} is not offered in {where} (where the machine is)",
            advice=f"it is in {', '.join(sorted(everywhere)) or 'no zone'}",
        )
    return here


def machine(described: Item) -> GcpMachine:
    """The machine type in one item of the API."""
    bundled = described.get("bundledLocalSsds", {})
    return GcpMachine(
        type=str(described["name"]),
        arch=arch_of(described),
        vcpus=int(described["guestCpus"]),
        memory_bytes=int(described["memoryMb"]) * MIB,
        max_disks=int(described.get("maximumPersistentDisks", _HOLDS)),
        shared_core=bool(described.get("isSharedCpu", False)),
        bundled_ssds=int(bundled.get("partitionCount", 0)),
        local_ssd_gib=local_ssd_gib(str(described["name"])),
    )


def check_support(machine: GcpMachine, requested: GcpDiskRequest) -> None:
    """Raise InvalidValue for disks that the machine does not support."""
    check_series(machine.type, machine.vcpus, requested)
    if requested.kind == "disk" and requested.count >= machine.max_disks:
        raise InvalidValue(
            f"--count {requested.count}: {machine.type} holds {machine.max_disks - 1} disks beside "
            "its root disk",
            advice="ask for fewer, or choose another --instance-type",
            field="count",
        )
    if (
        requested.kind == "local-ssd"
        and machine.bundled_ssds
        and requested.count > machine.bundled_ssds
    ):
        raise InvalidValue(
            f"--count {requested.count}: {machine.type} comes with {machine.bundled_ssds} local "
            "SSDs",
            advice="ask for fewer, or choose another --instance-type",
            field="count",
        )
