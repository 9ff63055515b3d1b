"""The resources of a rental, and the requests that make or change them, in Azure's form: pure.

Names, and so ids, derive from the lease and tags come with the creating call: a repeated call finds
what the first one made, and a deployment that is only checked has the same requests."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diskbench.model.rental import Claim
from diskbench.providers.azure.client import DISKS, MACHINES, SNAPSHOTS, AzureClient, AzureTiming
from diskbench.providers.azure.disk_request import ZONE_REDUNDANT, AzureResolved
from diskbench.providers.cloud_init import user_data
from diskbench.providers.scripts import script
from diskbench.providers.skeleton import provision as skeleton
from diskbench.providers.skeleton.leases import LEASE_TAG, tags_of
from diskbench.providers.skeleton.provision import disk_kind, name_of

Request = dict[str, Any]

USER = "diskbench"
"""The machine's login user, which Azure creates."""
INSIDE = "VirtualNetwork"
"""The service tag of a machine's own network, its peers and what is connected to them by VPN
(Azure virtual networks, "Service tags")."""
_NETWORK = "10.93.0.0/24"
"""Address range of the lease's own network, which has no other members and no routes."""
_TAG_VALUE = re.compile(r"[^ -~]")
_MAX_TAG_VALUE = 256


_PRIVATE = {"networkAccessPolicy": "DenyAll", "publicNetworkAccess": "Disabled"}


def group_name(lease_id: str) -> str:
    """The resource group of a lease."""
    return f"diskbench-{lease_id}"


def tags(claim: Claim, lab: str = "") -> dict[str, str]:
    """The tags of every resource of a lease; `lab` is set for an emulated cloud only."""
    values = tags_of(claim, lab).items()
    ours = {key: _TAG_VALUE.sub("_", value)[:_MAX_TAG_VALUE] for key, value in values}
    return {**dict(claim.tags), **ours}


@dataclass(frozen=True, kw_only=True)
class AzureOrder(skeleton.Order):
    """The Azure resources to make; `edge` calls Resource Manager in one subscription."""

    details: AzureResolved
    timing: AzureTiming
    edge: AzureClient

    @property
    def group(self) -> str:
        return group_name(self.lease)

    def path(self, kind: str, role: str) -> str:
        """The path, which is the id, of a resource of the lease."""
        return self.edge.path(self.group, kind, name_of(self.lease, role))


@dataclass(frozen=True)
class Part:
    """One resource of a rental: `role` in its name, `path`, and the request that makes it."""

    kind: str
    role: str
    path: str
    request: Request = field(repr=False)

    @property
    def words(self) -> str:
        """`disk diskbench-LEASE-disk-0`."""
        return f"{self.role.partition('-')[0]} {self.path.rpartition('/')[2]}"


def parts(order: AzureOrder, zone: str | None) -> list[Part]:
    """All resources in the lease's group, each after those that it names."""
    return [*network(order), machine(order, zone), *disks(order, zone)]


def resource_group(order: AzureOrder) -> Request:
    """The group that holds all resources of a lease; each of these begins with the same."""
    return {"location": order.details.region, "tags": tags(order.claim)}


def network(order: AzureOrder) -> list[Part]:
    """The machine's interface, and before it what it needs and the user did not give."""
    made = []

    def add(kind: str, role: str, request: Request) -> str:
        kind = f"Microsoft.Network/{kind}"
        whole = {**resource_group(order), **request}
        made.append(Part(kind, role, order.path(kind, role), whole))
        return made[-1].path

    group, subnet = order.spec.security_group, order.details.subnet
    # Accelerated networking keeps the size's default: disk traffic does not use it.
    where: Request = {"privateIPAllocationMethod": "Dynamic"}
    if group is None:
        cidr = order.details.ssh_cidr
        assert cidr is not None, "resolve refuses a rental without a group and without a network"
        group = add("networkSecurityGroups", "group", _security_group(cidr))
    if subnet is None:
        # A network of the lease's own, with one subnet.
        below = [{"name": "default", "properties": {"addressPrefix": _NETWORK}}]
        space = {"addressSpace": {"addressPrefixes": [_NETWORK]}, "subnets": below}
        subnet = add("virtualNetworks", "network", {"properties": space}) + "/subnets/default"
        # Only the Standard kind is sold, and it admits no traffic by default.
        static = {"publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4"}
        standard = {"sku": {"name": "Standard"}, "properties": static}
        address = add("publicIPAddresses", "address", standard)
        where["publicIPAddress"] = {"id": address, "properties": {"deleteOption": "Delete"}}
    configured = [{"name": "default", "properties": {"subnet": {"id": subnet}, **where}}]
    used = {"ipConfigurations": configured, "networkSecurityGroup": {"id": group}}
    add("networkInterfaces", "interface", {"properties": used})
    return made


def _security_group(cidr: str) -> Request:
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
    return {"properties": {"securityRules": [{"name": "ssh", "properties": rule}]}}


def machine(order: AzureOrder, zone: str | None) -> Part:
    """One machine whose OS disk and interface are deleted with it; zone None lets Azure choose."""
    details, spec, requested = order.details, order.spec, order.details.requested
    is_root = requested.kind == "root"
    os_disk: Request = {
        "name": name_of(order.lease, "os"),
        "createOption": "FromImage",
        # Azure's default for disks that are not measured.
        "caching": (requested.caching or "None") if is_root else "ReadWrite",
        "deleteOption": "Delete",
        "managedDisk": {"storageAccountType": details.os_type},
    }
    if requested.encryption_set is not None:
        os_disk["managedDisk"]["diskEncryptionSet"] = {"id": requested.encryption_set}
    if is_root:
        os_disk["diskSizeGB"] = details.size_gib
    storage: Request = {"imageReference": dict(details.image.reference), "osDisk": os_disk}
    if details.machine.controller is not None:
        storage["diskControllerType"] = details.machine.controller
    card = {
        "id": order.path("Microsoft.Network/networkInterfaces", "interface"),
        "properties": {"primary": True, "deleteOption": "Delete"},
    }
    guest = user_data(order.guest(USER, first="cloud=azure\n" + script("host_key.sh")))
    key = {"path": f"/home/{USER}/.ssh/authorized_keys", "keyData": order.keys.user_public}
    properties: Request = {
        "hardwareProfile": {"vmSize": details.machine.size},
        "storageProfile": storage,
        "osProfile": {
            "computerName": f"diskbench-{order.lease}"[:63].rstrip("-"),
            "adminUsername": USER,
            "customData": base64.b64encode(guest.encode()).decode(),
            "linuxConfiguration": {
                "disablePasswordAuthentication": True,
                "provisionVMAgent": True,
                "ssh": {"publicKeys": [key]},
            },
        },
        "networkProfile": {"networkInterfaces": [card]},
    }
    if requested.type == "UltraSSD_LRS":
        properties["additionalCapabilities"] = {"ultraSSDEnabled": True}
    if spec.spot:
        bid = {"billingProfile": {"maxPrice": -1}}
        properties |= {"priority": "Spot", "evictionPolicy": "Delete", **bid}
    if spec.placement is not None:
        properties["proximityPlacementGroup"] = {"id": spec.placement}
    request = _of_compute(order, zone, properties)
    if details.image.plan is not None:
        request["plan"] = dict(details.image.plan)
    return Part(MACHINES, "machine", order.path(MACHINES, "machine"), request)


def disks(order: AzureOrder, zone: str | None) -> list[Part]:
    """The disks of this turn, empty or from a snapshot; zone None: regional disks."""
    requested, size_gib = order.details.requested, order.details.size_gib
    if requested.kind != "disk":
        return []
    copied = {"createOption": "Copy", "sourceResourceId": requested.snapshot}
    properties: Request = {
        "creationData": copied if requested.snapshot is not None else {"createOption": "Empty"},
        "diskSizeGB": size_gib,
        **_PRIVATE,
    }
    if requested.plus:
        properties["creationData"]["performancePlus"] = True
    if requested.encryption_set is not None:
        properties["encryption"] = {
            "type": "EncryptionAtRestWithCustomerKey",
            "diskEncryptionSetId": requested.encryption_set,
        }
    own = {
        "diskIOPSReadWrite": requested.iops,
        "diskMBpsReadWrite": requested.throughput_mib_per_s,
        "tier": requested.tier,
        "burstingEnabled": requested.bursting or None,
    }
    properties |= {name: value for name, value in own.items() if value is not None}
    zone = None if requested.type in ZONE_REDUNDANT else zone
    request = {**_of_compute(order, zone, properties), "sku": {"name": requested.type}}
    roles = [disk_kind(index, order.claim.turn) for index in range(requested.count)]
    return [Part(DISKS, role, order.path(DISKS, role), request) for role in roles]


def snapshot(order: AzureOrder) -> Part:
    """The lease's snapshot of its first disk: incremental, which Premium SSD v2 requires."""
    source = order.path(DISKS, disk_kind(0, order.claim.turn))
    copied = {"createOption": "Copy", "sourceResourceId": source}
    properties = {"creationData": copied, "incremental": True, **_PRIVATE}
    request = {**resource_group(order), "sku": {"name": "Standard_LRS"}, "properties": properties}
    return Part(SNAPSHOTS, "snapshot", order.path(SNAPSHOTS, "snapshot"), request)


def _of_compute(order: AzureOrder, zone: str | None, properties: Request) -> Request:
    zones = {} if zone is None else {"zones": [zone]}
    region, of_lab = order.details.region, tags(order.claim, order.lab)
    return {"location": region, "tags": of_lab, "properties": properties, **zones}


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
    return {"properties": {"storageProfile": {"dataDisks": [dict(entry) for entry in attached]}}}


def of_lease(lease_id: str | None) -> str:
    """The filter that finds the groups of one lease, or of any. Quotes in it are doubled, as OData
    has it."""
    quoted = (lease_id or "").replace("'", "''")
    return f"tagName eq '{LEASE_TAG}'" + (f" and tagValue eq '{quoted}'" if lease_id else "")
