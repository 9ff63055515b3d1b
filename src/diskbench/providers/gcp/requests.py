"""The requests that change resources, in the Compute Engine API's form: pure.

Each creating call labels its resource with the lease and carries a requestId derived from lease,
role and request: Google treats a repeated call as the first one.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from diskbench.model.rental import Claim, DiskSpec

Request = dict[str, Any]

LEASE_LABEL = "diskbench-lease"
EXPIRES_LABEL = "diskbench-expires"
OWNER_LABEL = "diskbench-owner"
LAB_KEY = "diskbench-lab"
"""The metadata key for an emulated cloud's configuration, which does not fit into a label."""
_TOKENS = uuid.UUID("0f7d8a2e-54a3-5d0e-9a53-8f4bdc1c7a11")
_LABEL_VALUE = re.compile(r"[^a-z0-9_-]")
"""Characters that Google refuses in the value of a label (Instance.labels: RFC 1035)."""
_MAX_LABEL_VALUE = 63
_REGION = re.compile(r"[a-z]+-[a-z]+[0-9]+")
_IN_TWO_ZONES = "-regional"
_REGIONAL = frozenset({"hyperdisk-balanced-high-availability"})
"""Types that are made of a region only; Google has no other name for a persistent disk of one."""
_RULE = re.compile(r"diskbench lease=(?P<lease>[a-z0-9-]+) expires=(?P<expires>[0-9]+)\b")
MIN_RUN_S, MAX_RUN_S = 30, 120 * 86_400
"""The range of max_run_duration (Google Cloud, "Limit the run time of a VM")."""


def name_of(lease_id: str, kind: str) -> str:
    """`diskbench-LEASE-KIND`."""
    return f"diskbench-{lease_id}-{kind}"


SNAPSHOT = "snapshot"
"""The kind of a lease's own snapshot."""


def is_regional(disk_type: str) -> bool:
    """Whether a disk of this type of the catalogue is in two zones of a region."""
    return disk_type.endswith(_IN_TWO_ZONES) or disk_type in _REGIONAL


def google_type(disk_type: str) -> str:
    """What Google calls a disk type of the catalogue."""
    return disk_type.removesuffix(_IN_TWO_ZONES)


def below(scope: str) -> str:
    """The part of a path that names a zone or a region: `zones/us-central1-a`."""
    return f"regions/{scope}" if _REGION.fullmatch(scope) else f"zones/{scope}"


def addressed(collection: str, scope: str, name: str) -> tuple[str, Request]:
    """The collection of the API that a resource of a scope (a zone, a region, or "" for a global
    one) is in, and the request that names it. Disks of a region have a collection of their own."""
    named = {collection.removesuffix("s"): name}
    if not scope:
        return collection, named
    if _REGION.fullmatch(scope):
        return f"region{collection.capitalize()}", {"region": scope, **named}
    return collection, {"zone": scope, **named}


def disk_kind(index: int, turn: int = 1) -> str:
    """The kind of the disk number `index`, from 0, of a turn on its machine, from 1."""
    return f"disk-{index}" if turn == 1 else f"disk-{turn}-{index}"


def device_name(index: int, turn: int = 1) -> str:
    """The device name of the disk number `index` of a turn: the guest shows it as
    /dev/disk/by-id/google-NAME."""
    return f"diskbench-{index}" if turn == 1 else f"diskbench-{turn}-{index}"


def token(lease_id: str, role: str, request: Mapping[str, Any]) -> str:
    """The requestId of a request: UUIDv5 of lease, role and the request's digest."""
    digest = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
    return str(uuid.uuid5(_TOKENS, f"{lease_id}/{role}/{digest}"))


def labels(claim: Claim) -> dict[str, str]:
    """The labels of every machine and disk of a lease."""
    values = {
        LEASE_LABEL: claim.lease_id,
        EXPIRES_LABEL: str(int(claim.expires_at)),
        OWNER_LABEL: claim.owner,
        "diskbench-version": claim.version,
    }
    ours = {
        key: _LABEL_VALUE.sub("_", value.lower())[:_MAX_LABEL_VALUE]
        for key, value in values.items()
    }
    return {**dict(claim.tags), **ours}


def insert_firewall(claim: Claim, network: str, cidr: str) -> Request:
    """A rule that admits SSH from one network to the machine with the lease's network tag. Rules
    have no labels: the description names the lease."""
    name = name_of(claim.lease_id, "ssh")
    rule = {
        "name": name,
        "description": f"diskbench lease={claim.lease_id} expires={int(claim.expires_at)} "
        f"owner={claim.owner} version={claim.version}",
        "network": network,
        "direction": "INGRESS",
        "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}],
        "sourceRanges": [cidr],
        "targetTags": [name],
    }
    return {
        "firewallResource": rule,
        "requestId": token(claim.lease_id, "ssh", rule),
    }


def lease_of_rule(rule: Mapping[str, Any]) -> tuple[str, float] | None:
    """Lease and expiry of a firewall rule made by diskbench, by its description and name; None
    for any other."""
    match = _RULE.match(str(rule.get("description", "")))
    if match is None or rule.get("name") != name_of(match["lease"], "ssh"):
        return None
    return match["lease"], float(match["expires"])


@dataclass(frozen=True)
class GcpLaunch:
    """One machine. `boot` is its root disk; its type is "" where Google chooses. `run_s` is the
    maximum run time. `local_ssds` are the interfaces of the added local SSDs. `maintenance` is
    what becomes of it when its host is maintained; None leaves that to Google. `shielded` asks for
    all that the constraint compute.requireShieldedVm demands."""

    project: str
    zone: str
    machine_type: str
    image: str
    boot: Mapping[str, Any]
    network: Mapping[str, Any]
    tag: str
    run_s: float
    user: str
    user_key: str
    user_data: str = field(repr=False)
    local_ssds: int = 0
    local_interface: str = "nvme"
    spot: bool = False
    placement: str | None = None
    maintenance: str | None = None
    shielded: bool = False
    lab: str = ""
    kms_key: str | None = None


def insert_instance(claim: Claim, launch: GcpLaunch) -> Request:
    """One machine that Google deletes, with its disks, at the end of its run time."""
    name = name_of(claim.lease_id, "machine")
    carried = labels(claim)
    boot = {
        "boot": True,
        "autoDelete": True,
        "initializeParams": {
            "diskName": name_of(claim.lease_id, "root"),
            "sourceImage": launch.image,
            "labels": carried,
            **launch.boot,
        },
        **_encrypted(launch.kms_key),
    }
    local = {
        "type": "SCRATCH",
        "autoDelete": True,
        "interface": launch.local_interface.upper(),
        "initializeParams": {"diskType": f"zones/{launch.zone}/diskTypes/local-ssd"},
    }
    instance: Request = {
        "name": name,
        "description": f"diskbench lease {claim.lease_id}",
        "machineType": f"zones/{launch.zone}/machineTypes/{launch.machine_type}",
        "labels": carried,
        "tags": {"items": [launch.tag]},
        "disks": [boot, *[local] * launch.local_ssds],
        "networkInterfaces": [dict(launch.network)],
        "metadata": {"items": _metadata(launch)},
        "scheduling": _scheduling(launch),
    }
    if launch.shielded:
        instance["shieldedInstanceConfig"] = {
            "enableSecureBoot": True,
            "enableVtpm": True,
            "enableIntegrityMonitoring": True,
        }
    if launch.placement is not None:
        region = launch.zone.rpartition("-")[0]
        instance["resourcePolicies"] = [
            f"projects/{launch.project}/regions/{region}/resourcePolicies/{launch.placement}"
        ]
    request = {"zone": launch.zone, "instanceResource": instance}
    return {**request, "requestId": token(claim.lease_id, "machine", request)}


def _metadata(launch: GcpLaunch) -> list[dict[str, str]]:
    """The guest's metadata. Google accounts and the project's keys cannot log in: only the
    lease's key can."""
    values = {
        "user-data": launch.user_data,
        "ssh-keys": f"{launch.user}:{launch.user_key}",
        "enable-oslogin": "FALSE",
        "block-project-ssh-keys": "TRUE",
    }
    if launch.lab:
        values[LAB_KEY] = launch.lab
    return [{"key": key, "value": value} for key, value in values.items()]


def _scheduling(launch: GcpLaunch) -> Request:
    """When the machine ends: at its run time or (spot) when Google needs the capacity. It is
    never restarted, which would be another machine."""
    seconds = min(max(math.ceil(launch.run_s), MIN_RUN_S), MAX_RUN_S)
    scheduling: Request = {
        "automaticRestart": False,
        "instanceTerminationAction": "DELETE",
        "maxRunDuration": {"seconds": str(seconds)},
    }
    if launch.spot:
        scheduling["provisioningModel"] = "SPOT"
    if launch.maintenance is not None:
        scheduling["onHostMaintenance"] = launch.maintenance
    return scheduling


def boot_disk(disk_type: str, zone: str, disk: DiskSpec) -> Request:
    """The request's root disk; with a type of "" Google chooses."""
    made: Request = {"diskSizeGb": str(disk.size_gib), **_provisioned(disk)}
    if disk_type:
        made["diskType"] = f"zones/{zone}/diskTypes/{disk_type}"
    return made


def insert_disk(
    claim: Claim,
    disk: DiskSpec,
    project: str,
    scope: str,
    index: int,
    *,
    replicas: tuple[str, ...] = (),
    kms_key: str | None = None,
    snapshot: str | None = None,
) -> Request:
    """Create one disk of a zone, or of a region with the data in both zones of `replicas`:
    encrypted with the user's key where one is given, empty or with the data of a snapshot."""
    kind = disk_kind(index, claim.turn)
    where = below(scope)
    resource: Request = {
        "name": name_of(claim.lease_id, kind),
        "description": f"diskbench lease {claim.lease_id}",
        "type": f"projects/{project}/{where}/diskTypes/{google_type(disk.type)}",
        "sizeGb": str(disk.size_gib),
        "labels": labels(claim),
        **_provisioned(disk),
        **_encrypted(kms_key),
    }
    if replicas:
        resource["replicaZones"] = [f"projects/{project}/zones/{zone}" for zone in replicas]
    if snapshot is not None:
        resource["sourceSnapshot"] = snapshot
    request = {"region" if replicas else "zone": scope, "diskResource": resource}
    return {**request, "requestId": token(claim.lease_id, kind, request)}


def insert_snapshot(claim: Claim, project: str, zone: str) -> Request:
    """Make the lease's snapshot, of its first disk."""
    source = name_of(claim.lease_id, disk_kind(0))
    resource = {
        "name": name_of(claim.lease_id, SNAPSHOT),
        "description": f"diskbench lease {claim.lease_id}",
        "sourceDisk": f"projects/{project}/zones/{zone}/disks/{source}",
        "labels": labels(claim),
    }
    request = {"snapshotResource": resource}
    return {**request, "requestId": token(claim.lease_id, SNAPSHOT, request)}


def _encrypted(kms_key: str | None) -> Request:
    return {"diskEncryptionKey": {"kmsKeyName": kms_key}} if kms_key is not None else {}


def _provisioned(disk: DiskSpec) -> Request:
    made: Request = {}
    if disk.iops is not None:
        made["provisionedIops"] = str(disk.iops)
    if disk.throughput_mib_per_s is not None:
        made["provisionedThroughput"] = str(int(disk.throughput_mib_per_s))
    return made


def attach_disk(
    lease_id: str, project: str, zone: str, index: int, attempt: int = 0, *,
    turn: int = 1, scope: str | None = None,
) -> Request:  # fmt: skip
    """The disk number `index` on the lease's machine, under our device name, to be deleted with the
    machine. `scope` is the disk's where it is not the machine's zone.

    `attempt` separates a second attempt from a repetition of the first: for the same requestId
    Google returns the first outcome.
    """
    disk = name_of(lease_id, disk_kind(index, turn))
    request = {
        "zone": zone,
        "instance": name_of(lease_id, "machine"),
        "attachedDiskResource": {
            "source": f"projects/{project}/{below(scope or zone)}/disks/{disk}",
            "deviceName": device_name(index, turn),
            "autoDelete": True,
            "mode": "READ_WRITE",
        },
    }
    return {**request, "requestId": token(lease_id, f"attach-{index}-{attempt}", request)}


def detach_disk(lease_id: str, zone: str, device: str, attempt: str) -> Request:
    """Detach the disk `device` from the lease's machine; `attempt` is new at each attempt."""
    request = {"zone": zone, "instance": name_of(lease_id, "machine"), "deviceName": device}
    return {**request, "requestId": token(lease_id, f"detach-{attempt}", request)}


def set_auto_delete(lease_id: str, zone: str, index: int, turn: int = 1) -> Request:
    """Let the disk number `index` be deleted with its machine."""
    request = {
        "zone": zone,
        "instance": name_of(lease_id, "machine"),
        "deviceName": device_name(index, turn),
        "autoDelete": True,
    }
    return {**request, "requestId": token(lease_id, f"auto-delete-{index}", request)}


def delete(lease_id: str, request: Request, attempt: str) -> Request:
    """A deletion; `attempt` is new at each attempt, because the last outcome may have been that
    the resource was in use."""
    return {**request, "requestId": token(lease_id, f"delete-{attempt}", request)}


def of_lease(lease_id: str | None) -> Request:
    """The filter that finds the machines and disks of one lease, or of all."""
    value = f"={lease_id}" if lease_id else ":*"
    return {"filter": f"labels.{LEASE_LABEL}{value}"}
