"""Machine types, and the disks that each takes. Pure; its facts are its own: it proves diskbench's.

Compute Engine, "General-purpose machine family" and "Hyperdisk overview" (2026-08-26): N4 and C4
take no persistent disk, C3 no pd-standard and local SSD only as `-lssd`, E2 and N4 no local SSD;
"Extreme Persistent Disk": N2 from 64 vCPUs; Hyperdisk Extreme: C3 from 88, C4 from 96, N2 from 80,
C4D from 64, M4 from 112. "Set VM host maintenance policy" (2026): H4D, bare metal and a Z3 with
more than 18,000 GiB are only terminated, E2 and a smaller Z3 only migrated.
"""

from dataclasses import dataclass, field
from typing import Any

from emulators.gcp import lists, regions
from emulators.gcp.call import Call, Refusal
from emulators.gcp.cloud import Cloud
from emulators.gcp.regions import path_of

LOCAL = "local-ssd"
_TWICE = {"pd-standard-regional": 0, "pd-balanced-regional": 0, "pd-ssd-regional": 0}
"""Persistent disks in two zones: the documents name N1, N2, N2D and E2 for them."""
_HA, _ML = {"hyperdisk-balanced-high-availability": 0}, {"hyperdisk-ml": 0}
_OLD_DISKS = {"pd-standard": 0, "pd-balanced": 0, "pd-ssd": 0, "hyperdisk-throughput": 4}
_C3_DISKS = {
    "pd-balanced": 0, "pd-ssd": 0, "hyperdisk-balanced": 0, "hyperdisk-throughput": 0,
    "hyperdisk-extreme": 88, **_HA, **_ML,
}  # fmt: skip


@dataclass(frozen=True)
class Series:
    """A series: GB of memory for each vCPU by class, numbers of vCPUs, and which disks it takes
    from how many vCPUs on."""

    memory: dict[str, float]
    cpus: tuple[int, ...]
    disks: dict[str, int]
    local_ssd: bool = False
    new: bool = False
    arch: str = "X86_64"
    bundled: dict[int, int] = field(default_factory=dict)
    """vCPUs → local SSDs of its `-lssd` types, or of every type where it has no other."""
    always: bool = False
    local_gb: int = 375
    maintenance: str = ""
    """What `onHostMaintenance` must be; empty where either will do."""
    terminates_above_gb: float = float("inf")
    """With more local SSD than this it must be TERMINATE."""


_CLASSES = {"standard": 4.0, "highmem": 8.0, "highcpu": 1.0}
SERIES = {
    "n1": Series(
        {"standard": 3.75, "highmem": 6.5, "highcpu": 0.9},
        (1, 2, 4, 8, 16, 32, 64, 96),
        {"pd-standard": 0, "pd-balanced": 0, "pd-ssd": 0} | _TWICE,
        local_ssd=True,
    ),
    "n2": Series(
        _CLASSES,
        (2, 4, 8, 16, 32, 48, 64, 80, 96, 128),
        _OLD_DISKS | _TWICE | _ML | {"pd-extreme": 64, "hyperdisk-extreme": 80},
        local_ssd=True,
    ),
    "n2d": Series(
        _CLASSES, (2, 4, 8, 16, 32, 48, 64, 80, 96), _OLD_DISKS | _TWICE, local_ssd=True
    ),
    "e2": Series(
        _CLASSES,
        (2, 4, 8, 16, 32),
        _OLD_DISKS | _TWICE | {"hyperdisk-throughput": 2},
        maintenance="MIGRATE",
    ),
    "c2": Series({"standard": 4.0}, (4, 8, 16, 30, 60), _OLD_DISKS, local_ssd=True),
    "t2d": Series({"standard": 4.0}, (1, 2, 4, 8, 16, 32, 48, 60), _OLD_DISKS),
    "t2a": Series({"standard": 4.0}, (1, 2, 4, 8, 16, 32, 48), _OLD_DISKS, arch="ARM64"),
    "c3": Series(
        {"standard": 4.0, "highmem": 8.0, "highcpu": 2.0},
        (4, 8, 22, 44, 88, 176),
        _C3_DISKS,
        new=True,
        bundled={4: 1, 8: 2, 22: 4, 44: 8, 88: 16, 176: 32},
    ),
    "c3d": Series(
        {"standard": 4.0, "highmem": 8.0, "highcpu": 2.0},
        (4, 8, 16, 30, 60, 90, 180, 360),
        _C3_DISKS | {"hyperdisk-extreme": 60},
        new=True,
    ),
    "n4": Series(
        {"standard": 4.0, "highmem": 8.0, "highcpu": 2.0},
        (2, 4, 8, 16, 32, 48, 64, 80),
        {"hyperdisk-balanced": 0, "hyperdisk-throughput": 0, **_HA},
        new=True,
    ),
    "c4": Series(
        {"standard": 3.75, "highmem": 7.75, "highcpu": 2.0},
        (2, 4, 8, 16, 24, 32, 48, 96, 144, 192),
        {"hyperdisk-balanced": 0, "hyperdisk-throughput": 0, "hyperdisk-extreme": 96, **_HA},
        new=True,
    ),
    "c4d": Series(
        {"standard": 3.875},
        (2, 4, 8, 16, 32, 48, 64, 96),
        {"hyperdisk-balanced": 0, "hyperdisk-throughput": 0, "hyperdisk-extreme": 64, **_HA},
        new=True,
    ),
    "m4": Series(
        {"ultramem": 26.6},
        (56, 112, 224),
        {"hyperdisk-balanced": 0, "hyperdisk-extreme": 112},
        new=True,
    ),
    "h4d": Series(
        {"standard": 3.75},
        (192,),
        {"hyperdisk-balanced": 0, **_HA},
        new=True,
        maintenance="TERMINATE",
    ),
    # How many disks each type has is our choice; their size is not.
    "z3": Series(
        {"highmem": 8.0},
        (8, 88),
        {kind: 0 for kind in _C3_DISKS if kind not in _ML},
        new=True,
        bundled={8: 1, 88: 12},
        always=True,
        local_gb=3000,
        maintenance="MIGRATE",
        terminates_above_gb=18_000,
    ),
    "m3": Series(
        {"ultramem": 30.5},
        (32, 64, 128),
        {
            "pd-balanced": 0, "pd-ssd": 0, "pd-extreme": 0, "hyperdisk-balanced": 0,
            "hyperdisk-extreme": 64, **_HA,
        },
        local_ssd=True,
        new=True,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class MachineType:
    """One type that is sold."""

    name: str
    series: Series
    cpus: int
    memory_mb: int
    bundled: int = 0

    @property
    def maintenance(self) -> str:
        """What `onHostMaintenance` must be; empty where either will do."""
        local_gb = self.bundled * self.series.local_gb
        ends = self.name.endswith("-metal") or local_gb > self.series.terminates_above_gb
        return "TERMINATE" if ends else self.series.maintenance

    def takes(self, disk: str) -> bool:
        """May a disk of that type be attached?"""
        if disk == LOCAL:
            return self.series.local_ssd or self.bundled > 0
        return disk in self.series.disks and self.cpus >= self.series.disks[disk]


def _sold() -> dict[str, MachineType]:
    found = {}
    for name, series in SERIES.items():
        for kind, memory in series.memory.items():
            for cpus in series.cpus:
                full = f"{name}-{kind}-{cpus}"
                own = series.bundled[cpus] if series.always else 0
                found[full] = MachineType(full, series, cpus, int(memory * cpus * 1024), own)
        for cpus, disks in () if series.always else series.bundled.items():
            full = f"{name}-standard-{cpus}-lssd"
            found[full] = MachineType(full, series, cpus, 4096 * cpus, disks)
    metal = "c3-standard-192-metal"
    found[metal] = MachineType(metal, SERIES["c3"], 192, 768 * 1024)
    for size, memory_mb in (("micro", 1024), ("small", 2048), ("medium", 4096)):
        full = f"e2-{size}"
        found[full] = MachineType(full, SERIES["e2"], 2, memory_mb)
    return found


SOLD = _sold()


def in_zone(zone: str) -> dict[str, MachineType]:
    """The types that a zone offers."""
    return {name: kind for name, kind in SOLD.items() if zone != regions.OLD or not kind.series.new}


def named(call: Call, reference: str) -> MachineType:
    """The type that an instance's `machineType` names. Raises Refusal."""
    zone = call.path["zone"]
    path = path_of(reference, call.project)
    name = (path or "").removeprefix(f"{call.scope}/machineTypes/")
    field_name = "resource.machineType"
    if path is None:
        why = "The URL is malformed."
    elif f"/zones/{zone}/" not in path:
        why = f"The machine type is not in the zone '{zone}' of the instance."
    elif name not in in_zone(zone):
        why = f"Machine type with name '{name}' does not exist in zone '{zone}'."
    else:
        return SOLD[name]
    message = f"Invalid value for field '{field_name}': '{reference}'. {why}"
    raise Refusal(400, "invalid", message)


def aggregated_list(cloud: Cloud, call: Call) -> dict[str, Any]:
    """All machine types by zone."""
    rows = {
        f"projects/{cloud.project}/zones/{zone}/machineTypes/{kind.name}": _row(cloud, zone, kind)
        for zone in regions.ZONES
        for kind in in_zone(zone).values()
    }
    return lists.aggregated(call, "compute#machineTypeAggregatedList", "machineTypes", rows)


def _row(cloud: Cloud, zone: str, kind: MachineType) -> dict[str, Any]:
    path = f"projects/{cloud.project}/zones/{zone}/machineTypes/{kind.name}"
    row = regions.fixed(
        "machineType",
        path,
        zone=zone,
        guestCpus=kind.cpus,
        memoryMb=kind.memory_mb,
        isSharedCpu=kind.name in {"e2-micro", "e2-small", "e2-medium"},
        maximumPersistentDisks=16 if kind.cpus < 4 and kind.series.new else 128,
        maximumPersistentDisksSizeGb="263168",
        architecture=kind.series.arch,
        description=f"{kind.cpus} vCPUs, {kind.memory_mb / 1024:g} GB RAM",
    )
    if kind.bundled:
        row["bundledLocalSsds"] = {"defaultInterface": "NVME", "partitionCount": kind.bundled}
    return row
