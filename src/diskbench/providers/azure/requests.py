"""The requests that make or change resources, in Azure's form: pure.

Each resource is put under a name derived from the lease and is tagged by the creating call: a
repeated call finds what the first one made.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diskbench.model.rental import Claim, DiskSpec

Request = dict[str, Any]

LEASE_TAG = "diskbench-lease"
EXPIRES_TAG = "diskbench-expires"
OWNER_TAG = "diskbench-owner"
USER = "diskbench"
"""The machine's login user, which Azure creates."""
INSIDE = "VirtualNetwork"
"""The service tag of a machine's own network, its peers and what is connected to them by VPN
(Azure virtual networks, "Service tags")."""
_NETWORK = "10.93.0.0/24"
"""Address range of the lease's own network, which has no other members and no routes."""
_TAG_VALUE = re.compile(r"[^ -~]")
_MAX_TAG_VALUE = 256


def group_name(lease_id: str) -> str:
    """The resource group of a lease."""
    return f"diskbench-{lease_id}"


def name_of(lease_id: str, kind: str) -> str:
    """`diskbench-LEASE-KIND`."""
    return f"diskbench-{lease_id}-{kind}"


def disk_kind(index: int, turn: int = 1) -> str:
    """The kind of the disk number `index`, from 0, which is its LUN as well, of a turn on its
    machine, from 1."""
    return f"disk-{index}" if turn == 1 else f"disk-{turn}-{index}"


def tags(claim: Claim, lab: str = "") -> dict[str, str]:
    """The tags of every resource of a lease; `lab` is set for an emulated cloud only."""
    values = {
        LEASE_TAG: claim.lease_id,
        EXPIRES_TAG: str(int(claim.expires_at)),
        OWNER_TAG: claim.owner,
        "diskbench-version": claim.version,
        "diskbench-lab": lab,
    }
    ours = {
        key: _TAG_VALUE.sub("_", value)[:_MAX_TAG_VALUE]
        for key, value in values.items()
        if value or key != "diskbench-lab"
    }
    return {**dict(claim.tags), **ours}


def resource_group(claim: Claim, region: str) -> Request:
    """The group that holds all resources of a lease."""
    return {"location": region, "tags": tags(claim)}


def security_group(claim: Claim, region: str, cidr: str) -> Request:
    """A security group that admits SSH from one network (IPv4 or IPv6) and nothing else from
    outside."""
    rule = {
        "description": "diskbench controller",
        "priority": 100,
        "direction": "Inbound",
        "access": "Allow",
        "protocol": "Tcp",
        "sourceAddressPrefix": "*" if cidr.endswith("/0") else cidr,
        "sourcePortRange": "*",
        "destinationAddressPrefix": "*",
        "destinationPortRange": "22",
    }
    return {
        "location": region,
        "tags": tags(claim),
        "properties": {"securityRules": [{"name": "ssh", "properties": rule}]},
    }


def virtual_network(claim: Claim, region: str) -> Request:
    """A network of the lease's own, with one subnet."""
    return {
        "location": region,
        "tags": tags(claim),
        "properties": {
            "addressSpace": {"addressPrefixes": [_NETWORK]},
            "subnets": [{"name": "default", "properties": {"addressPrefix": _NETWORK}}],
        },
    }


def public_address(claim: Claim, region: str) -> Request:
    """A public address; only the Standard kind is sold, and it admits no traffic by default."""
    return {
        "location": region,
        "tags": tags(claim),
        "sku": {"name": "Standard"},
        "properties": {"publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4"},
    }


def interface(
    claim: Claim, region: str, *, subnet: str, group: str, address: str | None
) -> Request:
    """The machine's interface, by the ids of the resources that it uses. Accelerated networking
    keeps the size's default: disk traffic does not use it."""
    where: Request = {"subnet": {"id": subnet}, "privateIPAllocationMethod": "Dynamic"}
    if address is not None:
        where["publicIPAddress"] = {"id": address, "properties": {"deleteOption": "Delete"}}
    return {
        "location": region,
        "tags": tags(claim),
        "properties": {
            "ipConfigurations": [{"name": "default", "properties": where}],
            "networkSecurityGroup": {"id": group},
        },
    }


@dataclass(frozen=True)
class AzureLaunch:
    """One machine. `image` is an image reference, `zone` None lets Azure choose."""

    region: str
    size: str
    zone: str | None
    image: Mapping[str, str]
    interface: str
    public_key: str
    user_data: str = field(repr=False)
    os_disk: DiskSpec | None = None
    os_type: str = "Premium_LRS"
    os_caching: str = "ReadWrite"
    ultra: bool = False
    spot: bool = False
    placement: str | None = None
    lab: str = ""
    controller: str | None = None
    plan: Mapping[str, str] | None = None
    encryption_set: str | None = None


def virtual_machine(claim: Claim, launch: AzureLaunch) -> Request:
    """One machine whose OS disk and interface are deleted with it."""
    os_disk: Request = {
        "name": name_of(claim.lease_id, "os"),
        "createOption": "FromImage",
        "caching": launch.os_caching,
        "deleteOption": "Delete",
        "managedDisk": {"storageAccountType": launch.os_type},
    }
    if launch.encryption_set is not None:
        os_disk["managedDisk"]["diskEncryptionSet"] = {"id": launch.encryption_set}
    if launch.os_disk is not None:
        os_disk["diskSizeGB"] = launch.os_disk.size_gib
    properties: Request = {
        "hardwareProfile": {"vmSize": launch.size},
        "storageProfile": {"imageReference": dict(launch.image), "osDisk": os_disk},
        "osProfile": {
            "computerName": f"diskbench-{claim.lease_id}"[:63].rstrip("-"),
            "adminUsername": USER,
            "customData": base64.b64encode(launch.user_data.encode()).decode(),
            "linuxConfiguration": {
                "disablePasswordAuthentication": True,
                "provisionVMAgent": True,
                "ssh": {
                    "publicKeys": [
                        {
                            "path": f"/home/{USER}/.ssh/authorized_keys",
                            "keyData": launch.public_key,
                        }
                    ]
                },
            },
        },
        "networkProfile": {
            "networkInterfaces": [
                {"id": launch.interface, "properties": {"primary": True, "deleteOption": "Delete"}}
            ]
        },
    }
    if launch.controller is not None:
        properties["storageProfile"]["diskControllerType"] = launch.controller
    if launch.ultra:
        properties["additionalCapabilities"] = {"ultraSSDEnabled": True}
    if launch.spot:
        properties["priority"] = "Spot"
        properties["evictionPolicy"] = "Delete"
        properties["billingProfile"] = {"maxPrice": -1}
    if launch.placement is not None:
        properties["proximityPlacementGroup"] = {"id": launch.placement}
    request: Request = {
        "location": launch.region,
        "tags": tags(claim, launch.lab),
        "properties": properties,
    }
    if launch.plan is not None:
        request["plan"] = dict(launch.plan)
    return {**request, **_zones(launch.zone)}


@dataclass(frozen=True)
class NewDisk:
    """One disk to make; `zone` None is a regional disk."""

    region: str
    zone: str | None
    spec: DiskSpec
    tier: str | None = None
    bursting: bool = False
    lab: str = ""
    encryption_set: str | None = None
    snapshot: str | None = None
    plus: bool = False


def disk(claim: Claim, new: NewDisk) -> Request:
    """Create one disk, empty or from a snapshot."""
    copied = {"createOption": "Copy", "sourceResourceId": new.snapshot}
    properties: Request = {
        "creationData": copied if new.snapshot is not None else {"createOption": "Empty"},
        "diskSizeGB": new.spec.size_gib,
        "networkAccessPolicy": "DenyAll",
        "publicNetworkAccess": "Disabled",
    }
    if new.plus:
        properties["creationData"]["performancePlus"] = True
    if new.encryption_set is not None:
        properties["encryption"] = {
            "type": "EncryptionAtRestWithCustomerKey",
            "diskEncryptionSetId": new.encryption_set,
        }
    if new.spec.iops is not None:
        properties["diskIOPSReadWrite"] = new.spec.iops
    if new.spec.throughput_mib_per_s is not None:
        properties["diskMBpsReadWrite"] = int(new.spec.throughput_mib_per_s)
    if new.tier is not None:
        properties["tier"] = new.tier
    if new.bursting:
        properties["burstingEnabled"] = True
    request: Request = {
        "location": new.region,
        "tags": tags(claim, new.lab),
        "sku": {"name": new.spec.type},
        "properties": properties,
    }
    return {**request, **_zones(new.zone)}


def snapshot(claim: Claim, region: str, disk_id: str) -> Request:
    """Make the lease's snapshot of a disk: incremental, which Premium SSD v2 requires."""
    return {
        "location": region,
        "tags": tags(claim),
        "sku": {"name": "Standard_LRS"},
        "properties": {
            "creationData": {"createOption": "Copy", "sourceResourceId": disk_id},
            "incremental": True,
            "networkAccessPolicy": "DenyAll",
            "publicNetworkAccess": "Disabled",
        },
    }


def attachment(disk_id: str, lun: int, caching: str) -> Request:
    """The attachment of one disk, deleted with its machine."""
    return {
        "lun": lun,
        "createOption": "Attach",
        "caching": caching,
        "deleteOption": "Delete",
        "managedDisk": {"id": disk_id},
    }


def data_disks(attached: Sequence[Mapping[str, Any]]) -> Request:
    """The update that gives a machine exactly these data disks."""
    return {
        "properties": {
            "storageProfile": {"dataDisks": [dict(disk_entry) for disk_entry in attached]}
        }
    }


def new_expiry(expires_at: float) -> Request:
    """Set a new expiry in the tags of a resource; its other tags stay."""
    return {"operation": "Merge", "properties": {"tags": {EXPIRES_TAG: str(int(expires_at))}}}


def of_lease(lease_id: str) -> str:
    """The filter that finds the groups of one lease. Quotes in it are doubled, as OData has it."""
    quoted = lease_id.replace("'", "''")
    return f"tagName eq '{LEASE_TAG}' and tagValue eq '{quoted}'"


def of_any_lease() -> str:
    """The filter that finds the groups of all leases."""
    return f"tagName eq '{LEASE_TAG}'"


def _zones(zone: str | None) -> Request:
    return {} if zone is None else {"zones": [zone]}
