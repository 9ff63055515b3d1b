"""What was bought for a run: place, disk and provisioning, as columns of its row. Pure, so that a
run, its rebuild and the frames that read evidence alone agree.

An existing machine reports its zone, from which the region follows on clouds that name zones after
regions. The type of its disk is unknown, unless a person gave it at import (`--as-disk`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from diskbench.catalog.entry import caches_disks
from diskbench.errors import InvalidValue
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec
from diskbench.model.spec import Plan
from diskbench.plan.limit_path import hint_of, named_disk
from diskbench.plugins import known_plugin
from diskbench.ports import EvidenceStore
from diskbench.store.archive import read_manifest, read_plan
from diskbench.units import MIB

if TYPE_CHECKING:
    import polars as pl

COLUMNS = (
    "region", "zone", "instance_type", "disk_cloud", "disk_type", "disk_gib", "disk_count",
    "provisioned_iops", "provisioned_bytes_per_s", "host_cache",
)  # fmt: skip
"""The columns of rows, frames and exports, in this order."""
_NOTHING: dict[str, Any] = dict.fromkeys(COLUMNS)


def bought(plan: Plan) -> dict[str, Any]:
    """The values of COLUMNS for the runs of a plan."""
    cloud = plan.facts.cloud
    values = _NOTHING | {
        "zone": _acquired(plan, "zone") or cloud.zone,
        "instance_type": _acquired(plan, "instance_type") or cloud.instance_type,
    }
    rental, spec = plan.rental, plan.cell.rent
    if rental is not None:
        cloud_name = rental.cloud or plan.cell.provider
        return values | _rented(rental.spec, rental.disk, cloud_name, rental.scope.region)
    if spec is not None:
        return values | _rented(spec, None, plan.cell.provider, None)
    return values | {"region": region_of(cloud.vendor, cloud.zone)}


def bought_by_others(labels: Mapping[str, str]) -> dict[str, Any]:
    """The values of COLUMNS for an imported run, from its labels, which store the options of the
    import. A disk that cannot be parsed is left out."""
    hint = hint_of(labels)
    values = _NOTHING | {"instance_type": hint.as_machine}
    if hint.as_disk is None:
        return values
    try:
        disk = named_disk(hint.as_disk)
    except InvalidValue:
        return values
    return values | {
        "disk_cloud": disk.cloud,
        "disk_type": disk.disk_type,
        "disk_gib": round(disk.size_gib),
        "disk_count": 1,
        "provisioned_iops": None if disk.iops is None else round(disk.iops),
        "provisioned_bytes_per_s": _bytes_per_s(disk.throughput, disk.cloud),
        "host_cache": disk.cache,
    }


def bought_for(evidence: EvidenceStore, run_id: str) -> dict[str, Any]:
    """The values of COLUMNS from the evidence of a run; all None without plan and manifest. Raises
    EvidenceDamaged."""
    try:
        return bought(read_plan(evidence, run_id))
    except KeyError:
        manifest = read_manifest(evidence, run_id)
        return bought_by_others(manifest.labels) if manifest else dict(_NOTHING)


def region_of(cloud: str | None, zone: str | None) -> str | None:
    """The region of a zone; None on a cloud whose zone names hold no region."""
    plugin = known_plugin(cloud or "")
    return plugin.region_of(zone or "") if plugin else None


def _acquired(plan: Plan, fact: str) -> str | None:
    """A fact that the provider reported of a rented machine; None for other machines."""
    value = plan.acquired.facts.get(fact) if plan.acquired else None
    return str(value) if value is not None else None


def _rented(
    spec: RentSpec, disk: DiskSpec | None, cloud: str, region: str | None
) -> dict[str, Any]:
    """The values for a rented disk: as resolved (`disk`), or as typed (`spec`)."""
    cache = spec.text("cache") or ("none" if caches_disks(cloud) else None)
    sold = disk.throughput_mib_per_s if disk else spec.throughput_mib_per_s
    return {
        "region": region or spec.region,
        "disk_cloud": cloud,
        "disk_type": disk.type if disk else spec.disk,
        "disk_gib": disk.size_gib if disk else spec.size_gib,
        "disk_count": disk.count if disk else spec.count,
        "provisioned_iops": disk.iops if disk else spec.iops,
        "provisioned_bytes_per_s": _bytes_per_s(sold, cloud),
        "host_cache": cache.lower() if cache else None,
    }


def _bytes_per_s(sold: float | None, cloud: str) -> float | None:
    """Throughput in the unit that the cloud sells (model/rental.py); MiB/s where it is unknown."""
    plugin = known_plugin(cloud)
    unit = plugin.throughput_unit_bytes if plugin else MIB
    return None if sold is None else float(sold) * unit


def with_bought(
    frame: pl.DataFrame, bought_by_run: Mapping[str, Mapping[str, Any]]
) -> pl.DataFrame:
    """A frame of runs with COLUMNS appended; `bought_by_run` has their values by run id."""
    import polars as pl

    types = {name: _kind(name) for name in COLUMNS}
    rows = [(run_id, *(of[name] for name in COLUMNS)) for run_id, of in bought_by_run.items()]
    facts = pl.DataFrame(rows, schema={"run_id": pl.String, **types}, orient="row")
    return frame.join(facts, on="run_id", how="left", maintain_order="left")


def _kind(name: str) -> Any:  # noqa: ANN401 - polars' own type of a data type
    import polars as pl

    if name in ("disk_gib", "disk_count", "provisioned_iops"):
        return pl.Int64
    return pl.Float64 if name == "provisioned_bytes_per_s" else pl.String
