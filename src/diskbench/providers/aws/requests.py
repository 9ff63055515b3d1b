"""The requests that change resources, in EC2's form: pure.

Each creating call tags its resource with the lease and carries a token derived from lease, role
and request: a repeated call finds what the first one made.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diskbench.model.rental import Claim, DiskSpec

Request = dict[str, Any]

LEASE_TAG = "diskbench-lease"
EXPIRES_TAG = "diskbench-expires"
OWNER_TAG = "diskbench-owner"
_TOKENS = uuid.UUID("6f1ca5a5-8f6e-5bd5-9d32-2f0c2ad0c1a7")
_TAG_VALUE = re.compile(r"[^\w .:/=+@-]")
"""Characters that EC2 refuses in the value of a tag (User Guide, "Tag restrictions")."""
_MAX_TAG_VALUE = 256


def name_of(lease_id: str, kind: str) -> str:
    """`diskbench-LEASE-KIND`."""
    return f"diskbench-{lease_id}-{kind}"


SNAPSHOT = "snapshot"
"""The kind of a lease's own snapshot; copies of its disks carry the names of disks."""


def disk_kind(index: int, turn: int = 1) -> str:
    """The kind of the disk number `index`, from 0, of a turn on its machine, from 1."""
    return f"disk-{index}" if turn == 1 else f"disk-{turn}-{index}"


def attach_name(index: int) -> str:
    """The name under which the disk number `index` is attached: /dev/sdf and on."""
    return f"/dev/sd{chr(ord('f') + index)}"


def token(lease_id: str, role: str, request: Mapping[str, Any]) -> str:
    """The client token of a request: UUIDv5 of lease, role and the request's digest, because AWS
    refuses a different request with the same token."""
    digest = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
    return str(uuid.uuid5(_TOKENS, f"{lease_id}/{role}/{digest}"))


def tags(claim: Claim, kind: str, lab: str = "") -> list[dict[str, str]]:
    """The tags of every resource of a lease; `lab` is set for an emulated cloud only."""
    values = {
        "Name": name_of(claim.lease_id, kind),
        LEASE_TAG: claim.lease_id,
        EXPIRES_TAG: str(int(claim.expires_at)),
        OWNER_TAG: claim.owner,
        "diskbench-version": claim.version,
        "diskbench-lab": lab,
    }
    return [
        {"Key": key, "Value": _TAG_VALUE.sub("_", value)[:_MAX_TAG_VALUE]}
        for key, value in values.items()
        if value or key != "diskbench-lab"
    ] + [{"Key": key, "Value": value} for key, value in claim.tags]


def import_key_pair(claim: Claim, public_key: str) -> Request:
    """The user's public key, under the lease's name."""
    return {
        "KeyName": name_of(claim.lease_id, "key"),
        "PublicKeyMaterial": public_key.encode(),
        "TagSpecifications": [_tagged("key-pair", tags(claim, "key"))],
    }


def create_security_group(claim: Claim, vpc_id: str) -> Request:
    """A security group that admits no traffic yet."""
    return {
        "GroupName": name_of(claim.lease_id, "group"),
        "Description": f"diskbench lease {claim.lease_id}",
        "VpcId": vpc_id,
        "TagSpecifications": [_tagged("security-group", tags(claim, "group"))],
    }


def allow_ssh(claim: Claim, group_id: str, cidr: str) -> Request:
    """A rule that admits SSH from one network (IPv4 or IPv6) and nothing else."""
    note = {"Description": "diskbench controller"}
    ranges = (
        {"Ipv6Ranges": [{"CidrIpv6": cidr, **note}]}
        if ":" in cidr
        else {"IpRanges": [{"CidrIp": cidr, **note}]}
    )
    return {
        "GroupId": group_id,
        "IpPermissions": [{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, **ranges}],
        "TagSpecifications": [_tagged("security-group-rule", tags(claim, "rule"))],
    }


@dataclass(frozen=True)
class AwsLaunch:
    """One machine to launch. `root` is its root disk (`root_disk`). `public` requests a public
    address; None lets the subnet decide."""

    image: str
    instance_type: str
    subnet: str
    group: str
    user_data: str = field(repr=False)
    root_device: str
    root: Mapping[str, Any]
    public: bool | None = None
    ebs_optimized: bool | None = None
    spot: bool = False
    placement: str | None = None
    lab: str = ""


def run_instances(claim: Claim, launch: AwsLaunch, generation: int = 0) -> Request:
    """Launch one machine that is terminated, with its root disk, when it is switched off.

    `generation` counts the machines of the lease that ended before it: with an unchanged token
    EC2 would return one of those.
    """
    machine = tags(claim, "machine", launch.lab)
    tagged = [
        _tagged("instance", machine),
        _tagged("volume", tags(claim, "root", launch.lab)),
        _tagged("network-interface", tags(claim, "interface")),
    ]
    request: Request = {
        "ImageId": launch.image,
        "InstanceType": launch.instance_type,
        "MinCount": 1,
        "MaxCount": 1,
        "KeyName": name_of(claim.lease_id, "key"),
        "UserData": launch.user_data,
        "NetworkInterfaces": [
            {
                "DeviceIndex": 0,
                "SubnetId": launch.subnet,
                "Groups": [launch.group],
                "DeleteOnTermination": True,
                **({} if launch.public is None else {"AssociatePublicIpAddress": launch.public}),
            }
        ],
        "BlockDeviceMappings": [
            {
                "DeviceName": launch.root_device,
                "Ebs": {**launch.root, "DeleteOnTermination": True},
            }
        ],
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {
            "HttpEndpoint": "enabled",
            "HttpTokens": "required",
            "HttpPutResponseHopLimit": 1,
        },
    }
    if launch.ebs_optimized is not None:
        request["EbsOptimized"] = launch.ebs_optimized
    if launch.placement is not None:
        request["Placement"] = {"GroupName": launch.placement}
    if launch.spot:
        request["InstanceMarketOptions"] = {
            "MarketType": "spot",
            "SpotOptions": {
                "SpotInstanceType": "one-time",
                "InstanceInterruptionBehavior": "terminate",
            },
        }
        tagged.append(_tagged("spot-instances-request", tags(claim, "spot")))
    request["TagSpecifications"] = tagged
    return {**request, "ClientToken": token(claim.lease_id, f"machine-{generation}", request)}


def dry_launch(image: str, instance_type: str) -> Request:
    """Ask EC2 whether a machine could be launched, tagged as the policy demands, without launching
    it."""
    nobody = Claim(lease_id="doctor", expires_at=0, owner="doctor", version="0")
    kinds = ("instance", "volume", "network-interface")
    return {
        "ImageId": image,
        "InstanceType": instance_type,
        "MinCount": 1,
        "MaxCount": 1,
        "TagSpecifications": [_tagged(kind, tags(nobody, "doctor")) for kind in kinds],
        "DryRun": True,
    }


def root_disk(disk: DiskSpec, kms_key: str | None = None) -> Request:
    """The request's root disk, encrypted with `kms_key`."""
    return {"VolumeType": disk.type, **_volume(disk, size="VolumeSize"), **_encrypted(kms_key)}


@dataclass(frozen=True)
class Origin:
    """What a volume is made from: the user's key that encrypts it, a snapshot, and the MiB/s at
    which that is loaded."""

    kms_key: str | None = None
    snapshot: str | None = None
    rate_mib_per_s: int | None = None


_EMPTY = Origin()


def create_volume(
    claim: Claim, disk: DiskSpec, zone: str, index: int, lab: str = "", origin: Origin = _EMPTY
) -> Request:
    """Create one volume."""
    kind = disk_kind(index, claim.turn)
    request: Request = {
        "AvailabilityZone": zone,
        "VolumeType": disk.type,
        **_volume(disk, size="Size"),
        **_encrypted(origin.kms_key),
        **({"SnapshotId": origin.snapshot} if origin.snapshot else {}),
        **({"VolumeInitializationRate": rate} if (rate := origin.rate_mib_per_s) else {}),
        "TagSpecifications": [_tagged("volume", tags(claim, kind, lab))],
    }
    return {**request, "ClientToken": token(claim.lease_id, kind, request)}


def create_snapshot(claim: Claim, volume_id: str, lab: str = "") -> Request:
    """Make the snapshot of a lease, which has no client token: it is looked up by its name."""
    tagged = [_tagged("snapshot", tags(claim, SNAPSHOT, lab))]
    return {"VolumeId": volume_id, "TagSpecifications": tagged}


def restore_fast(snapshot_id: str, zone: str) -> Request:
    """Begin, or end, that volumes made from a snapshot in a zone are loaded from the start."""
    return {"AvailabilityZones": [zone], "SourceSnapshotIds": [snapshot_id]}


def _volume(disk: DiskSpec, *, size: str) -> Request:
    request: Request = {size: disk.size_gib}
    if disk.iops is not None:
        request["Iops"] = disk.iops
    if disk.throughput_mib_per_s is not None:
        request["Throughput"] = int(disk.throughput_mib_per_s)
    return request


def _encrypted(kms_key: str | None) -> Request:
    return {} if kms_key is None else {"Encrypted": True, "KmsKeyId": kms_key}


def attach_volume(volume_id: str, instance_id: str, device: str) -> Request:
    """Attach a volume to a machine under the name `device`."""
    return {"VolumeId": volume_id, "InstanceId": instance_id, "Device": device}


def detach_volume(volume_id: str, instance_id: str) -> Request:
    """Detach a volume from a machine, without force."""
    return {"VolumeId": volume_id, "InstanceId": instance_id}


def end_with_machine(instance_id: str, devices: Sequence[str]) -> Request:
    """The disks attached as `devices` are deleted with the machine."""
    return {
        "InstanceId": instance_id,
        "BlockDeviceMappings": [
            {"DeviceName": device, "Ebs": {"DeleteOnTermination": True}} for device in devices
        ],
    }


def new_expiry(ids: Sequence[str], expires_at: float) -> Request:
    """Set a new expiry on all resources with these ids; their other tags stay."""
    return {"Resources": list(ids), "Tags": [{"Key": EXPIRES_TAG, "Value": str(int(expires_at))}]}


def of_lease(lease_id: str) -> list[dict[str, Any]]:
    """The filter that finds everything of one lease."""
    return [{"Name": f"tag:{LEASE_TAG}", "Values": [lease_id]}]


def of_any_lease() -> list[dict[str, Any]]:
    """The filter that finds everything of all leases."""
    return [{"Name": "tag-key", "Values": [LEASE_TAG]}]


def _tagged(resource: str, carried: list[dict[str, str]]) -> Request:
    return {"ResourceType": resource, "Tags": carried}
