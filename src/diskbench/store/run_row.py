"""The rows of a run, from its plan, and what was bought for it: pure, so that a run and its rebuild
agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from diskbench.catalog.shipped import caches_disks
from diskbench.errors import InvalidValue
from diskbench.model.run import IMPORT, RUN_FIELDS
from diskbench.model.spec import Plan
from diskbench.plan.limit_path import hint_of, named_disk
from diskbench.plugin import Plugin, known_plugin
from diskbench.ports import EvidenceStore
from diskbench.store.archive import read_manifest, read_plan
from diskbench.store.dialects import ulid_time
from diskbench.store.export import polars_types
from diskbench.store.manifest import ImportRecord, Manifest
from diskbench.store.parse_step import PARSER_VERSION
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
    """The values of COLUMNS for the runs of a plan: of a rented disk as resolved, or as typed."""
    cloud, rental = plan.facts.cloud, plan.rental
    spec, disk = (rental.spec, rental.disk) if rental else (plan.cell.rent, None)
    values = _NOTHING | {
        "zone": _acquired(plan, "zone") or cloud.zone,
        "instance_type": _acquired(plan, "instance_type") or cloud.instance_type,
    }
    rented = (rental.cloud if rental else None) or plan.cell.provider
    name = (cloud.vendor or "") if spec is None else rented
    cache = (spec.text("cache") if spec else None) or ("none" if caches_disks(name) else None)
    plugin = known_plugin(name)
    if spec is None:
        return values | {"region": plugin.region_of(cloud.zone or "") if plugin else None}
    sold = disk.throughput_mib_per_s if disk else spec.throughput_mib_per_s
    return values | {
        "region": (rental.scope.region if rental else None) or spec.region,
        "disk_cloud": name,
        "disk_type": disk.type if disk else spec.disk,
        "disk_gib": disk.size_gib if disk else spec.size_gib,
        "disk_count": disk.count if disk else spec.count,
        "provisioned_iops": disk.iops if disk else spec.iops,
        "provisioned_bytes_per_s": _bytes_per_s(sold, plugin),
        "host_cache": cache.lower() if cache else None,
    }


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
        "provisioned_bytes_per_s": _bytes_per_s(disk.throughput, known_plugin(disk.cloud)),
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


def _acquired(plan: Plan, fact: str) -> str | None:
    """A fact that the provider reported of a rented machine; None for other machines."""
    value = plan.acquired.facts.get(fact) if plan.acquired else None
    return str(value) if value is not None else None


def _bytes_per_s(sold: float | None, plugin: Plugin | None) -> float | None:
    """Throughput in the unit that the cloud sells (model/rental.py); MiB/s where it is unknown."""
    unit = plugin.throughput_unit_bytes if plugin else MIB
    return None if sold is None else float(sold) * unit


def with_bought(
    frame: pl.DataFrame, bought_by_run: Mapping[str, Mapping[str, Any]]
) -> pl.DataFrame:
    """A frame of runs with COLUMNS appended; `bought_by_run` has their values by run id."""
    import polars as pl

    known = polars_types()
    types = {name: known[name] for name in COLUMNS}
    rows = [(run_id, *(of[name] for name in COLUMNS)) for run_id, of in bought_by_run.items()]
    facts = pl.DataFrame(rows, schema={"run_id": pl.String, **types}, orient="row")
    return frame.join(facts, on="run_id", how="left", maintain_order="left")


def trial_row(plan: Plan) -> dict[str, Any]:
    """The row of a trial; `plan` is everything its runs need."""
    document = plan.model_dump(mode="json")
    return {
        "trial_id": plan.trial_id,
        "campaign_id": plan.campaign_id,
        "replicate": plan.cell.replicate,
        "created_at": ulid_time(plan.trial_id),
        "plan": document,
        "rent": document["cell"]["rent"],
        "scope": (document["rental"] or {}).get("scope"),
    }


def run_row(plan: Plan, run_index: int, evidence_url: str) -> dict[str, Any]:
    """The row of one run of `plan` before it starts."""
    run_id = plan.run_ids[run_index]
    facts, target, cell = plan.facts, plan.target, plan.cell
    disk = facts.disk
    created_at = ulid_time(run_id) or "1970-01-01T00:00:00.000000+00:00"
    return {
        **dict.fromkeys(("error_kind", "error", "advice", "started_at", "finished_at")),
        "run_id": run_id,
        "trial_id": plan.trial_id,
        "campaign_id": plan.campaign_id,
        "run_index": run_index,
        "replicate": cell.replicate,
        "state": "planned",
        "created_at": created_at,
        "expected_s": plan.expected_s / len(plan.run_ids),
        "profile": plan.profile.name,
        "profile_digest": plan.profile.digest,
        "parameters": dict(plan.profile.parameters),
        "labels": dict(cell.labels),
        "provider": cell.provider,
        "address": plan.address,
        "target_kind": target.kind,
        "target_path": _each([target.path, *(disk.path for disk in cell.target.others)]),
        "target_device": _each(
            [target.device or (disk.path if disk else None), *(o.device for o in target.others)]
        ),
        "target_identity": _each([target.identity, *(o.identity for o in target.others)]),
        "filesystem": _filesystem(plan),
        "size_bytes": target.size_bytes,
        "hostname": facts.hostname or None,
        "cloud": facts.cloud.vendor,
        "cpu_model": facts.cpu.model or None,
        "cpu_count": facts.cpu.count,
        "memory_bytes": facts.memory_bytes or None,
        "kernel": facts.kernel or None,
        "distribution": facts.distribution or None,
        "virtualisation": facts.virtualisation,
        "fio_version": facts.fio_version,
        "disk_model": disk.model if disk else None,
        "disk_driver": disk.driver if disk else None,
        "disk_transport": disk.transport if disk else None,
        "disk_size_bytes": disk.size_bytes if disk else None,
        "emulated": plan.emulated,
        "unverified": facts.cloud.vendor is not None and not facts.cloud.verified,
        "imported": False,
        "evidence_url": evidence_url,
        "diskbench_version": plan.diskbench_version,
        "format": plan.format,
        "parser_version": PARSER_VERSION,
        "machine_lease": plan.machine.lease_id if plan.machine else None,
        "measured_at": created_at,
        **bought(plan),
    }


def imported_run_row(
    manifest: Manifest,
    record: ImportRecord,
    facts: Mapping[str, str | int | float],
    stated: Mapping[str, object],
    times: tuple[str | None, str | None],
    evidence_url: str,
) -> dict[str, Any]:
    """The row of a run that somebody else measured; what its file lacks is None.

    `stated` are columns that the file says of this run; its labels decide over them. `times` are
    the beginning and the end in the file. Without either the run has no date.
    """
    started_at, finished_at = times
    hostname = facts.get("hosts")
    memory_bytes = facts.get("physical_memory_bytes")
    known = {
        **dict(manifest),  # those of its fields that are columns
        "replicate": 0,
        "created_at": record.created_at,
        "started_at": started_at,
        "finished_at": finished_at or started_at,
        "measured_at": started_at or finished_at,
        "profile": record.name,
        "parameters": {},
        "provider": f"{IMPORT}{record.kind}",
        "hostname": str(hostname) if hostname is not None else None,
        "memory_bytes": int(memory_bytes) if memory_bytes is not None else None,
        "emulated": False,
        "unverified": True,
        "imported": True,
        "evidence_url": evidence_url,
        "parser_version": PARSER_VERSION,
        **stated,
    }
    known |= {k: v for k, v in bought_by_others(manifest.labels).items() if v is not None}
    return {name: known.get(name) for name in RUN_FIELDS}


def marks(row: Mapping[str, Any]) -> dict[str, bool]:
    """What a reader must know before believing the numbers of a run."""
    return {name: bool(row[name]) for name in ("emulated", "unverified", "imported")}


def _each(values: Sequence[str | None]) -> str | None:
    """What is known of each disk of a target, in its order."""
    return ", ".join(value for value in values if value) or None


def _filesystem(plan: Plan) -> str | None:
    """The filesystem that was measured through: ours, or the one found under the directory."""
    if plan.target.filesystem != "none":
        return plan.target.filesystem
    if plan.target.kind == "device":
        return None
    return plan.facts.mount.fstype if plan.facts.mount else None
