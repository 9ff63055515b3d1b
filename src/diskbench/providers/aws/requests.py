"""The requests that change resources, in EC2's form: pure.

Each creating call tags its resource with the lease and carries a token derived from lease, role
and request: a repeated call finds what the first one made.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from diskbench.model.rental import Claim, DiskSpec
from diskbench.providers.aws.client import AwsClient, AwsTiming
from diskbench.providers.aws.disk_request import AwsResolved, AwsZone
from diskbench.providers.aws.plugin import AwsOptions
from diskbench.providers.cloud_init import user_data
from diskbench.providers.skeleton.leases import EXPIRES_TAG, LEASE_TAG, tags_of
from diskbench.providers.skeleton.provision import Order, disk_kind, name_of, token_of

Request = dict[str, Any]

_TAG_VALUE = re.compile(r"[^\w .:/=+@-]")
"""Characters that EC2 refuses in the value of a tag (User Guide, "Tag restrictions")."""
_MAX_TAG_VALUE = 256


SNAPSHOT = "snapshot"
"""The kind of a lease's own snapshot; copies of its disks carry the names of disks."""


def attach_name(index: int) -> str:
    """The name under which the disk number `index` is attached: /dev/sdf and on."""
    return f"/dev/sd{chr(ord('f') + index)}"


token = partial(token_of, uuid.UUID("6f1ca5a5-8f6e-5bd5-9d32-2f0c2ad0c1a7"))


def tags(claim: Claim, kind: str, lab: str = "") -> list[dict[str, str]]:
    """The tags of every resource of a lease; `lab` is set for an emulated cloud only."""
    values = {"Name": name_of(claim.lease_id, kind), **tags_of(claim, lab)}
    return [
        {"Key": key, "Value": _TAG_VALUE.sub("_", value)[:_MAX_TAG_VALUE]}
        for key, value in values.items()
    ] + [{"Key": key, "Value": value} for key, value in claim.tags]


@dataclass(frozen=True, kw_only=True)
class AwsOrder(Order):
    """The AWS resources to make; `ec2` is the API in one region."""

    details: AwsResolved
    timing: AwsTiming
    ec2: AwsClient

    def at(self, place: AwsZone) -> AwsOrder:
        """The same order with the machine type that is rented in `place`."""
        return replace(self, details=self.details.at(place))

    @property
    def bare_metal(self) -> bool:
        return self.details.machine.bare_metal

    @property
    def volume(self) -> DiskSpec | None:
        """The volumes to make; None where the machine's local disks are measured."""
        requested = self.details.requested
        return requested.spec(self.details.size_gib) if requested.kind == "volume" else None

    @property
    def root(self) -> DiskSpec:
        """The root disk: as requested where it is measured, else as large as its image."""
        requested = self.details.requested
        if requested.kind == "root":
            return requested.spec(self.details.size_gib)
        return DiskSpec(type=self.details.root_type, size_gib=self.details.image.root_gib)

    @property
    def user_data(self) -> str:
        """What the machine is told for its first boot."""
        return user_data(self.guest(self.details.image.user))


def import_key_pair(order: AwsOrder) -> Request:
    """The user's public key, under the lease's name."""
    return {
        "KeyName": name_of(order.lease, "key"),
        "PublicKeyMaterial": order.keys.user_public.encode(),
        "TagSpecifications": [_tagged("key-pair", tags(order.claim, "key"))],
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
    ranges, field = ("Ipv6Ranges", "CidrIpv6") if ":" in cidr else ("IpRanges", "CidrIp")
    source = {ranges: [{field: cidr, "Description": "diskbench controller"}]}
    return {
        "GroupId": group_id,
        "IpPermissions": [{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, **source}],
        "TagSpecifications": [_tagged("security-group-rule", tags(claim, "rule"))],
    }


def run_instances(order: AwsOrder, group: str, place: AwsZone, generation: int = 0) -> Request:
    """Launch one machine that is terminated, with its root disk, when it is switched off.

    `generation` counts the machines of the lease that ended before it: with an unchanged token
    EC2 would return one of those.
    """
    details, spec, claim = order.details, order.spec, order.claim
    tagged = [
        _tagged("instance", tags(claim, "machine", order.lab)),
        _tagged("volume", tags(claim, "root", order.lab)),
        _tagged("network-interface", tags(claim, "interface")),
    ]
    root = {"VolumeType": order.root.type, **_volume(order.root, "VolumeSize", spec.kms_key)}
    interface: Request = {
        "DeviceIndex": 0, "SubnetId": place.subnet, "Groups": [group], "DeleteOnTermination": True,
    }  # fmt: skip
    if place.public is not None:
        interface["AssociatePublicIpAddress"] = place.public
    request: Request = {
        "ImageId": details.image.id,
        "InstanceType": details.machine.type,
        "MinCount": 1,
        "MaxCount": 1,
        "KeyName": name_of(order.lease, "key"),
        "UserData": order.user_data,
        "NetworkInterfaces": [interface],
        "BlockDeviceMappings": [
            {"DeviceName": details.image.root_device, "Ebs": {**root, "DeleteOnTermination": True}}
        ],
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {
            "HttpEndpoint": "enabled",
            "HttpTokens": "required",
            "HttpPutResponseHopLimit": 1,
        },
    }
    # Where it is the default, requesting it changes nothing; where it is not offered, the request
    # fails.
    if details.machine.ebs_optimized != "unsupported":
        request["EbsOptimized"] = True
    if spec.placement is not None:
        request["Placement"] = {"GroupName": spec.placement}
    if spec.spot:
        once = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
        request["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": once}
        tagged.append(_tagged("spot-instances-request", tags(claim, "spot")))
    request["TagSpecifications"] = tagged
    return {**request, "ClientToken": token(order.lease, f"machine-{generation}", request)}


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


def create_volume(order: AwsOrder, zone: str, index: int) -> Request:
    """Create the disk number `index` of this turn, empty or from a snapshot."""
    kind = disk_kind(index, order.claim.turn)
    disk, snapshot = order.volume, order.spec.snapshot
    assert disk is not None, "the machine's own disks are not made"
    request: Request = {
        "AvailabilityZone": zone,
        "VolumeType": disk.type,
        **_volume(disk, "Size", order.spec.kms_key),
    }
    if snapshot is not None:
        request["SnapshotId"] = snapshot
        if rate := AwsOptions.of(order.spec).initialization_rate:
            request["VolumeInitializationRate"] = rate
    request["TagSpecifications"] = [_tagged("volume", tags(order.claim, kind, order.lab))]
    return {**request, "ClientToken": token(order.lease, kind, request)}


def create_snapshot(claim: Claim, volume_id: str, lab: str = "") -> Request:
    """Make the snapshot of a lease, which has no client token: it is looked up by its name."""
    tagged = [_tagged("snapshot", tags(claim, SNAPSHOT, lab))]
    return {"VolumeId": volume_id, "TagSpecifications": tagged}


def restore_fast(snapshot_id: str, zone: str) -> Request:
    """Begin, or end, that volumes made from a snapshot in a zone are loaded from the start."""
    return {"AvailabilityZones": [zone], "SourceSnapshotIds": [snapshot_id]}


def _volume(disk: DiskSpec, size: str, kms_key: str | None) -> Request:
    """The size, in the field `size`, performance and encryption of a volume."""
    request: Request = {size: disk.size_gib}
    if disk.iops is not None:
        request["Iops"] = disk.iops
    if disk.throughput_mib_per_s is not None:
        request["Throughput"] = int(disk.throughput_mib_per_s)
    return request if kms_key is None else {**request, "Encrypted": True, "KmsKeyId": kms_key}


def attach_volume(volume_id: str, instance_id: str, device: str) -> Request:
    """Attach a volume to a machine under the name `device`."""
    return {"VolumeId": volume_id, "InstanceId": instance_id, "Device": device}


def detach_volume(volume_id: str, instance_id: str) -> Request:
    """Detach a volume from a machine, without force."""
    return {"VolumeId": volume_id, "InstanceId": instance_id}


def end_with_machine(instance_id: str, devices: Sequence[str]) -> Request:
    """The disks attached as `devices` are deleted with the machine."""
    ends = {"Ebs": {"DeleteOnTermination": True}}
    mappings = [{"DeviceName": device, **ends} for device in devices]
    return {"InstanceId": instance_id, "BlockDeviceMappings": mappings}


def new_expiry(ids: Sequence[str], expires_at: float) -> Request:
    """Set a new expiry on all resources with these ids; their other tags stay."""
    return {"Resources": list(ids), "Tags": [{"Key": EXPIRES_TAG, "Value": str(int(expires_at))}]}


def only(**filters: Sequence[str]) -> Request:
    """A listing of what has, in each filter, one of the values."""
    return {
        "Filters": [
            {"Name": name.replace("_", "-"), "Values": list(values)}
            for name, values in filters.items()
        ]
    }


def of_lease(lease_id: str | None) -> Request:
    """The listing of everything of one lease, or of all."""
    tag = {f"tag:{LEASE_TAG}": [lease_id]} if lease_id else {"tag-key": [LEASE_TAG]}
    return only(**tag)


def _tagged(resource: str, carried: list[dict[str, str]]) -> Request:
    return {"ResourceType": resource, "Tags": carried}
