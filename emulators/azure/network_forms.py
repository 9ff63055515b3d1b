"""What Azure makes of a network resource that is put: checked, and with the members it adds.

Those are the members of the recordings of azure-mgmt-network 19.3.0 and azure-mgmt-compute 29.1.0.
"""

import ipaddress
import uuid
from typing import Any

from emulators.azure.call import Refusal, not_found, wrong
from emulators.azure.cloud import Cloud
from emulators.azure.subscriptions import ZONAL

NETWORK = "Microsoft.Network/virtualNetworks"
SUBNET = f"{NETWORK}/subnets"
ADDRESS = "Microsoft.Network/publicIPAddresses"
SECURITY = "Microsoft.Network/networkSecurityGroups"
INTERFACE = "Microsoft.Network/networkInterfaces"
_PUBLIC = ipaddress.ip_network("203.0.113.0/24")
"""TEST-NET-3: leads nowhere. SSH finds the machines by the emulator's configuration."""


def filled(
    cloud: Cloud, made: dict[str, Any], given: dict[str, Any], before: dict[str, Any] | None
) -> dict[str, Any]:
    """The properties of `made`, a document without them, as they were `given`; `before` is what was
    there. Raises Refusal."""
    kept: dict[str, Any] = (before or {}).get("properties") or {}
    match made["type"]:
        case "Microsoft.Network/virtualNetworks":
            return _network(cloud, made, given)
        case "Microsoft.Network/virtualNetworks/subnets":
            return _subnet(cloud, made, given)
        case "Microsoft.Network/publicIPAddresses":
            return _public(made, given, kept)
        case "Microsoft.Network/networkSecurityGroups":
            return _security(made, given)
    return _interface(cloud, made, given, kept)


def _network(cloud: Cloud, made: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    ranges = (given.get("addressSpace") or {}).get("addressPrefixes")
    if not ranges:
        raise Refusal("InvalidRequestFormat", "Cannot parse the request: no addressSpace.")
    for subnet in given.get("subnets") or []:
        identity = f"{made['id']}/subnets/{subnet['name']}"
        document = {"name": subnet["name"], "id": identity, "etag": made["etag"]}
        below = {"provisioningState": "Updating"}
        below |= _subnet(cloud, document | {"ranges": ranges}, subnet.get("properties") or {})
        cloud.save(document | {"properties": below, "type": SUBNET})
    kept = {key: given[key] for key in ("dhcpOptions",) if given.get(key)}
    return {
        "addressSpace": {"addressPrefixes": ranges},
        **kept,
        "subnets": [],
        "virtualNetworkPeerings": [],
        "enableDdosProtection": given.get("enableDdosProtection", False),
    }


def _subnet(cloud: Cloud, made: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    ranges = made.pop("ranges", None)
    if ranges is None:
        above = cloud.find(made["id"].rsplit("/subnets/", 1)[0])
        if above is None:
            raise not_found(NETWORK, made["id"].split("/")[-3], made["id"].split("/")[4])
        ranges = above["properties"]["addressSpace"]["addressPrefixes"]
    prefix = given.get("addressPrefix") or next(iter(given.get("addressPrefixes") or []), None)
    if prefix is None:
        raise Refusal("NoAddressPrefixOrPoolProvided", "No address prefix was provided.")
    inside = ipaddress.ip_network(prefix)
    if not any(inside.subnet_of(ipaddress.ip_network(one)) for one in ranges):  # type: ignore[arg-type]
        raise Refusal(
            "NetcfgInvalidSubnet",
            f"Subnet '{made['name']}' is not valid because its IP address range is outside the IP "
            "address range of its virtual network.",
        )
    security = given.get("networkSecurityGroup")
    if security:
        cloud.get(security["id"], "InvalidResourceReference")
    return {
        "addressPrefix": prefix,
        **({"networkSecurityGroup": {"id": security["id"]}} if security else {}),
        **({"defaultOutboundAccess": given["defaultOutboundAccess"]}
           if given.get("defaultOutboundAccess") is not None else {}),
        "delegations": [],
        "privateEndpointNetworkPolicies": "Disabled",
        "privateLinkServiceNetworkPolicies": "Enabled",
    }  # fmt: skip


def _public(made: dict[str, Any], given: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    made.setdefault("sku", {}).setdefault("name", "Basic")
    made["sku"].setdefault("tier", "Regional")
    way = given.get("publicIPAllocationMethod", "Dynamic")
    if made["sku"]["name"] == "Standard" and way != "Static":
        raise Refusal(
            "StandardSkuPublicIPAddressesMustBeStatic",
            "Standard sku publicIp must have AllocationMethod set to Static.",
        )
    if made.get("zones") and made["location"] not in ZONAL:
        raise Refusal("LocationNotSupportAvailabilityZones", f"No zones in {made['location']}.")
    told = kept.get("ipAddress")
    return {
        **({"ipAddress": told} if told else {}),
        "publicIPAddressVersion": given.get("publicIPAddressVersion", "IPv4"),
        "publicIPAllocationMethod": way,
        "idleTimeoutInMinutes": given.get("idleTimeoutInMinutes", 4),
        "ipTags": [],
        **({"deleteOption": given["deleteOption"]} if given.get("deleteOption") else {}),
        **{key: one for key, one in kept.items() if key == "ipConfiguration"},
    }  # fmt: skip


def _security(made: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    rules, seen = [], set()
    for rule in given.get("securityRules") or []:
        asked = rule.get("properties") or {}
        for needed in ("protocol", "access", "direction", "priority"):
            if asked.get(needed) is None:
                raise Refusal(
                    "SecurityRuleParameterMissing",
                    f"Required security rule parameter {needed} is missing for {rule['name']}.",
                )
        if not 100 <= asked["priority"] <= 4096:
            raise Refusal(
                "SecurityRuleInvalidPriority",
                f"Security rule {rule['name']} has an invalid priority {asked['priority']}.",
            )
        if (asked["direction"], asked["priority"]) in seen:
            raise Refusal(
                "SecurityRuleConflict",
                f"Security rule {rule['name']} conflicts with another rule of its priority.",
            )
        seen.add((asked["direction"], asked["priority"]))
        lists = dict.fromkeys(
            ("sourcePortRanges", "destinationPortRanges", "sourceAddressPrefixes",
             "destinationAddressPrefixes")
        )  # fmt: skip
        rules.append(
            {
                "name": rule["name"],
                "id": f"{made['id']}/securityRules/{rule['name']}",
                "etag": made["etag"],
                "type": f"{SECURITY}/securityRules",
                "properties": {
                    "provisioningState": "Succeeded",
                    **{key: [] for key in lists},
                    **asked,
                },
            }
        )
    return {"securityRules": rules, "defaultSecurityRules": []}


def _interface(
    cloud: Cloud, made: dict[str, Any], given: dict[str, Any], kept: dict[str, Any]
) -> dict[str, Any]:
    asked = given.get("ipConfigurations")
    if not asked:
        raise Refusal("NetworkInterfaceMustHaveAtLeastOneIpConfiguration", "It has none.")
    known = {
        one["name"]: one["properties"]["privateIPAddress"]
        for one in kept.get("ipConfigurations", [])
    }
    configurations = [
        _configuration(cloud, made, one, known.get(one["name"]), primary=index == 0)
        for index, one in enumerate(asked)
    ]
    security = given.get("networkSecurityGroup")
    if security:
        cloud.get(security["id"], "InvalidResourceReference")
    made["kind"] = "Regular"
    suffix = uuid.uuid5(uuid.NAMESPACE_URL, made["id"]).hex[:26]
    return {
        "ipConfigurations": configurations,
        "dnsSettings": {
            "dnsServers": [],
            "appliedDnsServers": [],
            "internalDomainNameSuffix": f"{suffix}.bx.internal.cloudapp.net",
        },
        "enableAcceleratedNetworking": given.get("enableAcceleratedNetworking", False),
        "vnetEncryptionSupported": False,
        "enableIPForwarding": given.get("enableIPForwarding", False),
        "disableTcpStateTracking": False,
        **({"networkSecurityGroup": {"id": security["id"]}} if security else {}),
        **({"virtualMachine": kept["virtualMachine"]} if kept.get("virtualMachine") else {}),
        "hostedWorkloads": [],
        "tapConfigurations": [],
        "nicType": "Standard",
        "allowPort25Out": True,
    }


def _configuration(
    cloud: Cloud, made: dict[str, Any], asked: dict[str, Any], known: str | None, *, primary: bool
) -> dict[str, Any]:
    given = asked.get("properties") or {}
    where = given.get("subnet")
    if not where:
        raise wrong("Required parameter 'ipConfiguration.subnet' is missing (null).")
    subnet = cloud.get(where["id"], "InvalidResourceReference")
    identity = f"{made['id']}/ipConfigurations/{asked['name']}"
    public = given.get("publicIPAddress")
    if public:
        address = cloud.get(public["id"], "InvalidResourceReference")
        user = address["properties"].get("ipConfiguration", {}).get("id")
        if user not in {None, identity}:
            raise Refusal(
                "PublicIPAddressInUse", f"Resource {identity} is referencing public IP address "
                f"{address['id']} that is already allocated to resource {user}.",
            )  # fmt: skip
        address["properties"]["ipConfiguration"] = {"id": identity}
        if option := (public.get("properties") or {}).get("deleteOption"):
            address["properties"]["deleteOption"] = option
        public = {"id": address["id"]}
        if "deleteOption" in address["properties"]:
            public["properties"] = {"deleteOption": address["properties"]["deleteOption"]}
    # Unlike Azure's, private addresses are unique among all networks: SSH finds machines by them.
    hosts = ipaddress.ip_network(subnet["properties"]["addressPrefix"])
    private = known or str(hosts[4 + next(cloud.addresses) % (hosts.num_addresses - 5)])
    return {
        "name": asked["name"],
        "id": identity,
        "etag": made["etag"],
        "type": f"{INTERFACE}/ipConfigurations",
        "properties": {
            "provisioningState": "Succeeded",
            "privateIPAddress": private,
            "privateIPAllocationMethod": given.get("privateIPAllocationMethod", "Dynamic"),
            **({"publicIPAddress": public} if public else {}),
            "subnet": {"id": subnet["id"]},
            "primary": given.get("primary", primary),
            "privateIPAddressVersion": given.get("privateIPAddressVersion", "IPv4"),
        },
    }


def public_address(cloud: Cloud, identity: str) -> str:
    """The address itself; a dynamic one has it from now on, when its machine starts."""
    properties: dict[str, Any] = cloud.get(identity)["properties"]
    return str(properties.setdefault("ipAddress", _next_public(cloud)))


def _next_public(cloud: Cloud) -> str:
    return str(_PUBLIC[1 + next(cloud.addresses) % 250])
