"""Regions, zones, the project, its networks: what is there before anybody rents anything."""

from typing import Any

from emulators.gcp import lists, quotas
from emulators.gcp.call import Call, Refusal, not_found
from emulators.gcp.cloud import Cloud
from emulators.gcp.regions import DEFAULT_NETWORK, REGIONS, ZONES, fixed, fixed_id, link, path_of


def check(cloud: Cloud, call: Call) -> None:
    """Raise Refusal for a project, zone or region that is not there."""
    if call.project != cloud.project and not call.method.startswith("images."):
        message = f"Permission denied on resource project {call.project}."
        raise Refusal(403, "forbidden", message)
    if not cloud.billed:
        message = (
            "This API method requires billing to be enabled. Please enable billing on project "
            f"#{call.project} by visiting https://console.developers.google.com/billing/enable?"
            f"project={call.project} then retry."
        )
        raise Refusal(403, "forbidden", message)
    if call.method == "regions.get":
        return
    if (zone := call.path.get("zone")) is not None and zone not in ZONES:
        raise Refusal(400, "invalid", f"Invalid value for field 'zone': '{zone}'. Unknown zone.")
    if (region := call.path.get("region")) is not None and region not in REGIONS:
        message = f"Invalid value for field 'region': '{region}'. Unknown region."
        raise Refusal(400, "invalid", message)


def network(cloud: Cloud, reference: str, project: str) -> str:
    """The path of the network that a reference names. Raises Refusal."""
    path = path_of(reference, project)
    if path != f"projects/{cloud.project}/global/networks/{DEFAULT_NETWORK}":
        raise not_found(path or reference)
    return path


def subnetwork_path(cloud: Cloud, region: str) -> str:
    """The path of the network's subnetwork in a region."""
    name = f"own-{region}" if cloud.custom_mode else DEFAULT_NETWORK
    return f"projects/{cloud.project}/regions/{region}/subnetworks/{name}"


def subnetwork_region(cloud: Cloud, reference: str, project: str) -> str:
    """The region of the subnetwork that a reference names. Raises Refusal."""
    path = path_of(reference, project)
    for region in REGIONS:
        if path == subnetwork_path(cloud, region):
            return region
    raise not_found(path or reference)


def projects_get(cloud: Cloud, _: Call) -> dict[str, Any]:
    """The project."""
    return project_row(cloud)


def project_row(cloud: Cloud) -> dict[str, Any]:
    """The project. OS Login is on in it, as an organisation's policy would have it."""
    path = f"projects/{cloud.project}"
    common = {
        "kind": "compute#metadata",
        "fingerprint": "ZW11bGF0ZWQ=",
        "items": [{"key": "enable-oslogin", "value": "TRUE"}],
    }
    return fixed(
        "project",
        path,
        commonInstanceMetadata=common,
        defaultServiceAccount=f"{fixed_id(path)}-compute@developer.gserviceaccount.com",
        xpnProjectStatus="UNSPECIFIED_XPN_PROJECT_STATUS",
        defaultNetworkTier="PREMIUM",
        quotas=quotas.of_project(cloud),
    )


def region_row(cloud: Cloud, region: str) -> dict[str, Any]:
    """One region, with its quotas."""
    zones = [link(f"projects/{cloud.project}/zones/{zone}") for zone in REGIONS[region]]
    path = f"projects/{cloud.project}/regions/{region}"
    told = quotas.told(cloud, region)
    return fixed("region", path, status="UP", zones=zones, quotas=told, description=region)


def regions_get(cloud: Cloud, call: Call) -> dict[str, Any]:
    """One region."""
    if call.path["region"] not in REGIONS:
        raise not_found(f"projects/{call.project}/regions/{call.path['region']}")
    return region_row(cloud, call.path["region"])


def regions_list(cloud: Cloud, call: Call) -> dict[str, Any]:
    """All regions."""
    rows = [region_row(cloud, region) for region in REGIONS]
    return lists.listed(call, "compute#regionList", rows)


def network_row(cloud: Cloud) -> dict[str, Any]:
    """The default network: one subnetwork in each region, and no firewall rule that lets SSH in."""
    path = f"projects/{cloud.project}/global/networks/{DEFAULT_NETWORK}"
    subnetworks = [link(subnetwork_path(cloud, region)) for region in REGIONS]
    return fixed(
        "network",
        path,
        autoCreateSubnetworks=not cloud.custom_mode,
        subnetworks=subnetworks,
        mtu=1460,
        routingConfig={"routingMode": "REGIONAL"},
    )


def networks_get(cloud: Cloud, call: Call) -> dict[str, Any]:
    """One network."""
    if call.path["network"] != DEFAULT_NETWORK:
        raise not_found(call.names("network", "networks"))
    return network_row(cloud)


def subnetwork_row(cloud: Cloud, region: str) -> dict[str, Any]:
    """The default network's subnetwork in a region."""
    path = subnetwork_path(cloud, region)
    number = list(REGIONS).index(region)
    return fixed(
        "subnetwork",
        path,
        network=network_row(cloud)["selfLink"],
        region=link(f"projects/{cloud.project}/regions/{region}"),
        ipCidrRange=f"10.{128 + number}.0.0/20",
        gatewayAddress=f"10.{128 + number}.0.1",
        purpose="PRIVATE",
        stackType=cloud.stack,
    )


def subnetworks_get(cloud: Cloud, call: Call) -> dict[str, Any]:
    """One subnetwork."""
    path = call.names("subnetwork", "subnetworks")
    if path != subnetwork_path(cloud, call.path["region"]):
        raise not_found(path)
    return subnetwork_row(cloud, call.path["region"])
