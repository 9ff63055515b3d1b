"""The requests that change resources, in the Compute Engine API's form: pure.

Each creating call labels its resource with the lease and carries a requestId derived from lease,
role and request: Google treats a repeated call as the first one.
"""

import math
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from diskbench.model.rental import Claim, DiskSpec
from diskbench.providers.cloud_init import user_data
from diskbench.providers.gcp.client import Compute, GceTiming
from diskbench.providers.gcp.disk_request import GcpResolved
from diskbench.providers.scripts import script
from diskbench.providers.skeleton import provision as skeleton
from diskbench.providers.skeleton.leases import LEASE_TAG, tags_of
from diskbench.providers.skeleton.provision import disk_kind, name_of, token_of

Request = dict[str, Any]

LAB_KEY = "diskbench-lab"
"""The metadata key for an emulated cloud's configuration, which does not fit into a label."""

_LABEL_VALUE = re.compile(r"[^a-z0-9_-]")
"""Characters that Google refuses in the value of a label (Instance.labels: RFC 1035)."""
_MAX_LABEL_VALUE = 63
_REGION = re.compile(r"[a-z]+-[a-z]+[0-9]+")
_IN_TWO_ZONES = "-regional"
_REGIONAL = frozenset({"hyperdisk-balanced-high-availability"})
"""Types that are made of a region only; Google has no other name for a persistent disk of one."""
_RULE = re.compile(r"diskbench lease=(?P<lease>[a-z0-9-]+) expires=(?P<expires>[0-9]+)\b")
GUEST_GRACE_S = 900.0
"""The guest powers itself off this much later than Google deletes it: a machine that is only
switched off is not deleted, and its disks cost money. Our choice."""
MIN_RUN_S, MAX_RUN_S = 30, 120 * 86_400
"""The range of max_run_duration (Google Cloud, "Limit the run time of a VM")."""


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


token = partial(token_of, uuid.UUID("0f7d8a2e-54a3-5d0e-9a53-8f4bdc1c7a11"))


def _once(lease_id: str, role: str, request: Request) -> Request:
    return {**request, "requestId": token(lease_id, role, request)}


def labels(claim: Claim) -> dict[str, str]:
    """The labels of every machine and disk of a lease."""
    longest, values = _MAX_LABEL_VALUE, tags_of(claim)
    ours = {k: _LABEL_VALUE.sub("_", value.lower())[:longest] for k, value in values.items()}
    return {**dict(claim.tags), **ours}


@dataclass(frozen=True, kw_only=True)
class GcpOrder(skeleton.Order):
    """The Compute Engine resources to make; `compute` is the API in one project."""

    details: GcpResolved
    timing: GceTiming
    compute: Compute

    @property
    def bare_metal(self) -> bool:
        return self.details.machine.bare_metal

    @property
    def disk(self) -> DiskSpec | None:
        """The disks to make; None where the machine's local disks are measured."""
        requested = self.details.requested
        return requested.spec(self.details.size_gib) if requested.kind == "disk" else None

    @property
    def root(self) -> DiskSpec:
        """The root disk: as requested where it is measured, else as large as its image."""
        requested = self.details.requested
        if requested.kind == "root":
            return requested.spec(self.details.size_gib)
        return DiskSpec(type=self.details.boot_type or "any", size_gib=self.details.image.root_gib)

    def device_name(self, index: int) -> str:
        """The device name of the disk number `index` of this turn: the guest shows it as
        /dev/disk/by-id/google-NAME."""
        turn = self.claim.turn
        return f"diskbench-{index}" if turn == 1 else f"diskbench-{turn}-{index}"

    def replicas(self, zone: str) -> tuple[str, ...]:
        """The two zones of the disks of a machine in `zone`; none where they are in one."""
        if self.disk is None or not is_regional(self.disk.type):
            return ()
        return (zone, next(other for other in self.details.region_zones if other != zone))

    def disk_scope(self, zone: str) -> str:
        """The region or the zone that the disks of a machine in `zone` belong to."""
        return self.details.region if self.replicas(zone) else zone

    @property
    def user_data(self) -> str:
        """The guest's data for its first boot; it holds keys."""
        ends_at, first = self.claim.expires_at + GUEST_GRACE_S, script("host_key.sh")
        first = f"cloud=google\n{first}"
        return user_data(self.guest(self.details.image.user, ends_at=ends_at, first=first))


def insert_firewall(order: GcpOrder) -> Request:
    """A rule that admits SSH from one network to the machine with the lease's network tag. Rules
    have no labels: the description names the lease."""
    claim, cidr = order.claim, order.details.ssh_cidr
    assert cidr is not None, "resolve refuses a rental without a tag and without a network"
    name = name_of(order.lease, "ssh")
    rule = {
        "name": name,
        "description": f"diskbench lease={order.lease} expires={int(claim.expires_at)} "
        f"owner={claim.owner} version={claim.version}",
        "network": order.details.network.network,
        "direction": "INGRESS",
        "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}],
        "sourceRanges": [cidr],
        "targetTags": [name],
    }
    return {"firewallResource": rule, "requestId": token(order.lease, "ssh", rule)}


def lease_of_rule(rule: Mapping[str, Any]) -> tuple[str, float] | None:
    """Lease and expiry of a firewall rule made by diskbench, by its description and name; None
    for any other."""
    match = _RULE.match(str(rule.get("description", "")))
    if match is None or rule.get("name") != name_of(match["lease"], "ssh"):
        return None
    return match["lease"], float(match["expires"])


def insert_instance(
    order: GcpOrder, zone: str, run_s: float, maintenance: str | None = None
) -> Request:
    """One machine that Google deletes, with its disks, at the end of its run time of `run_s`.
    `maintenance` is what becomes of it when its host is maintained; None leaves that to Google."""
    details, spec, requested = order.details, order.spec, order.details.requested
    carried = labels(order.claim)
    boot: Request = {
        "boot": True,
        "autoDelete": True,
        "initializeParams": {
            "diskName": name_of(order.lease, "root"),
            "sourceImage": details.image.link,
            "labels": carried,
            "diskSizeGb": str(order.root.size_gib),
            **_provisioned(order.root),
        },
        **_encrypted(spec.kms_key),
    }
    if details.boot_type:  # else Google chooses one
        boot["initializeParams"]["diskType"] = f"zones/{zone}/diskTypes/{details.boot_type}"
    local = {
        "type": "SCRATCH",
        "autoDelete": True,
        "interface": (requested.interface or "nvme").upper(),
        "initializeParams": {"diskType": f"zones/{zone}/diskTypes/local-ssd"},
    }
    # Google accounts and the project's keys cannot log in: only the lease's key can.
    metadata = {
        "user-data": order.user_data,
        "ssh-keys": f"{details.image.user}:{order.keys.user_public}",
        "enable-oslogin": "FALSE",
        "block-project-ssh-keys": "TRUE",
    } | ({LAB_KEY: order.lab} if order.lab else {})
    known = details.network
    interface: Request = (
        {"subnetwork": known.subnetwork} if known.subnetwork else {"network": known.network}
    )
    if details.reach == "public":
        interface["accessConfigs"] = [{"name": "External NAT", "type": "ONE_TO_ONE_NAT"}]
    chosen = requested.kind == "local-ssd" and not details.machine.bundled_ssds
    instance: Request = {
        "name": order.machine_name,
        "description": f"diskbench lease {order.lease}",
        "machineType": f"zones/{zone}/machineTypes/{details.machine.type}",
        "labels": carried,
        "tags": {"items": [details.tag or name_of(order.lease, "ssh")]},
        "disks": [boot, *[local] * (requested.count if chosen else 0)],
        "networkInterfaces": [interface],
        "metadata": {"items": [{"key": key, "value": one} for key, one in metadata.items()]},
        "scheduling": _scheduling(run_s, maintenance, spot=spec.spot),
    }
    if shielded(details):
        features = ("enableSecureBoot", "enableVtpm", "enableIntegrityMonitoring")
        instance["shieldedInstanceConfig"] = dict.fromkeys(features, True)
    if spec.placement is not None:
        instance["resourcePolicies"] = [
            f"projects/{details.project}/regions/{details.region}/resourcePolicies/{spec.placement}"
        ]
    return _once(order.lease, "machine", {"zone": zone, "instanceResource": instance})


def _scheduling(run_s: float, maintenance: str | None, *, spot: bool) -> Request:
    """When the machine ends: at its run time or (spot) when Google needs the capacity. It is
    never restarted, which would be another machine."""
    seconds = min(max(math.ceil(run_s), MIN_RUN_S), MAX_RUN_S)
    return {
        "automaticRestart": False,
        "instanceTerminationAction": "DELETE",
        "maxRunDuration": {"seconds": str(seconds)},
        **({"provisioningModel": "SPOT"} if spot else {}),
        **({"onHostMaintenance": maintenance} if maintenance else {}),
    }


def shielded(details: GcpResolved) -> bool:
    """Whether the machine is asked for as a Shielded VM, with Secure Boot: where its image can be
    one. Only x86-64 is: we found no reliable source about Secure Boot on Arm and bare metal."""
    machine = details.machine
    return details.image.uefi and machine.arch == "x86_64" and not machine.bare_metal


def insert_disk(order: GcpOrder, zone: str, index: int) -> Request:
    """Create the disk number `index` for a machine in `zone`: in the zone, or in its region with
    the data in two zones; encrypted with the user's key where one is given, empty or with the data
    of a snapshot."""
    disk, scope, replicas = order.disk, order.disk_scope(zone), order.replicas(zone)
    assert disk is not None, "a machine's own disks are not made"
    project, kind = order.details.project, disk_kind(index, order.claim.turn)
    resource: Request = {
        "name": name_of(order.lease, kind),
        "description": f"diskbench lease {order.lease}",
        "type": f"projects/{project}/{below(scope)}/diskTypes/{google_type(disk.type)}",
        "sizeGb": str(disk.size_gib),
        "labels": labels(order.claim),
        **_provisioned(disk),
        **_encrypted(order.spec.kms_key),
    }
    if replicas:
        resource["replicaZones"] = [f"projects/{project}/zones/{name}" for name in replicas]
    if order.details.snapshot is not None:
        resource["sourceSnapshot"] = order.details.snapshot
    request = {"region" if replicas else "zone": scope, "diskResource": resource}
    return _once(order.lease, kind, request)


def insert_snapshot(order: GcpOrder, zone: str) -> Request:
    """Make the lease's snapshot, of its first disk."""
    source = name_of(order.lease, disk_kind(0))
    resource = {
        "name": name_of(order.lease, SNAPSHOT),
        "description": f"diskbench lease {order.lease}",
        "sourceDisk": f"projects/{order.details.project}/zones/{zone}/disks/{source}",
        "labels": labels(order.claim),
    }
    return _once(order.lease, SNAPSHOT, {"snapshotResource": resource})


def _encrypted(kms_key: str | None) -> Request:
    return {"diskEncryptionKey": {"kmsKeyName": kms_key}} if kms_key is not None else {}


def _provisioned(disk: DiskSpec) -> Request:
    made: Request = {}
    if disk.iops is not None:
        made["provisionedIops"] = str(disk.iops)
    if disk.throughput_mib_per_s is not None:
        made["provisionedThroughput"] = str(int(disk.throughput_mib_per_s))
    return made


def attach_disk(order: GcpOrder, zone: str, index: int, attempt: int = 0) -> Request:
    """The disk number `index` on the lease's machine, under our device name, to be deleted with the
    machine.

    `attempt` separates a second attempt from a repetition of the first: for the same requestId
    Google returns the first outcome.
    """
    where = f"projects/{order.details.project}/{below(order.disk_scope(zone))}"
    request = {
        "zone": zone,
        "instance": order.machine_name,
        "attachedDiskResource": {
            "source": f"{where}/disks/{order.disk_name(index)}",
            "deviceName": order.device_name(index),
            "autoDelete": True,
            "mode": "READ_WRITE",
        },
    }
    return _once(order.lease, f"attach-{index}-{attempt}", request)


def detach_disk(order: GcpOrder, zone: str, device: str, attempt: str) -> Request:
    """Detach the disk `device` from the lease's machine; `attempt` is new at each attempt."""
    request = {"zone": zone, "instance": order.machine_name, "deviceName": device}
    return _once(order.lease, f"detach-{attempt}", request)


def set_auto_delete(order: GcpOrder, zone: str, index: int) -> Request:
    """Let the disk number `index` be deleted with its machine."""
    request = {
        "zone": zone,
        "instance": order.machine_name,
        "deviceName": order.device_name(index),
        "autoDelete": True,
    }
    return _once(order.lease, f"auto-delete-{index}", request)


def delete(lease_id: str, request: Request, attempt: str) -> Request:
    """A deletion; `attempt` is new at each attempt, because the last outcome may have been that
    the resource was in use."""
    return _once(lease_id, f"delete-{attempt}", request)


def of_lease(lease_id: str | None) -> Request:
    """The filter that finds the machines and disks of one lease, or of all."""
    value = f"={lease_id}" if lease_id else ":*"
    return {"filter": f"labels.{LEASE_TAG}{value}"}
