"""The rows of a run, from its plan: pure, so that a run and its rebuild agree."""

from collections.abc import Mapping, Sequence
from typing import Any

from diskbench.model.run import RUN_FIELDS
from diskbench.model.spec import Plan
from diskbench.store.bought import bought, bought_by_others
from diskbench.store.clock import ulid_time
from diskbench.store.manifest import ImportRecord, Manifest
from diskbench.store.parsed_files import PARSER_VERSION

_EPOCH = "1970-01-01T00:00:00.000000+00:00"


def campaign_row(campaign_id: str) -> dict[str, Any]:
    """The row of a campaign."""
    return {"campaign_id": campaign_id, "created_at": ulid_time(campaign_id)}


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
    created_at = ulid_time(run_id) or _EPOCH
    return {
        "run_id": run_id,
        "trial_id": plan.trial_id,
        "campaign_id": plan.campaign_id,
        "run_index": run_index,
        "replicate": cell.replicate,
        "state": "planned",
        "error_kind": None,
        "error": None,
        "advice": None,
        "created_at": created_at,
        "started_at": None,
        "finished_at": None,
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
    times: tuple[str | None, str | None],
    evidence_url: str,
) -> dict[str, Any]:
    """The row of a run that somebody else measured; what its file lacks is None.

    `times` are the beginning and the end in the file. Without either the run has no date.
    """
    started_at, finished_at = times
    hostname = facts.get("hosts")
    memory_bytes = facts.get("physical_memory_bytes")
    known = {
        "run_id": manifest.run_id,
        "trial_id": manifest.trial_id,
        "campaign_id": manifest.campaign_id,
        "run_index": manifest.run_index,
        "replicate": 0,
        "state": manifest.state,
        "created_at": record.created_at,
        "started_at": started_at,
        "finished_at": finished_at or started_at,
        "measured_at": started_at or finished_at,
        "profile": record.name,
        "parameters": {},
        "labels": manifest.labels,
        "provider": f"import/{record.kind}",
        "hostname": str(hostname) if hostname is not None else None,
        "memory_bytes": int(memory_bytes) if memory_bytes is not None else None,
        "fio_version": manifest.fio_version,
        "emulated": False,
        "unverified": True,
        "imported": True,
        "evidence_url": evidence_url,
        "diskbench_version": manifest.diskbench_version,
        "format": manifest.format,
        "parser_version": PARSER_VERSION,
        **bought_by_others(manifest.labels),
    }
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
