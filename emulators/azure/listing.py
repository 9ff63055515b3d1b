"""`python -m emulators.azure.listing`: what is rented, by the SDK's plain list calls.

Subscription, credentials and certificate authority come from the environment, as for any client.
Ends with 1 when there is anything.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any


def rented(endpoint: str, subscription: str) -> Mapping[str, list[str]]:
    """The names of everything that is rented, or can be left behind, by kind."""
    from azure.mgmt.compute import ComputeManagementClient
    from azure.mgmt.network import NetworkManagementClient
    from azure.mgmt.resource.resources import ResourceManagementClient

    from azure.identity import DefaultAzureCredential

    credential = DefaultAzureCredential()
    there: Any = {"base_url": endpoint, "credential_scopes": [f"{endpoint}/.default"]}
    compute = ComputeManagementClient(credential, subscription, **there)
    network = NetworkManagementClient(credential, subscription, **there)
    resources = ResourceManagementClient(credential, subscription, **there)
    listed: dict[str, Iterable[Any]] = {
        "resource groups": resources.resource_groups.list(),
        "virtual machines": compute.virtual_machines.list_all(),
        "disks": compute.disks.list(),
        "interfaces": network.network_interfaces.list_all(),
        "addresses": network.public_ip_addresses.list_all(),
        "security groups": network.network_security_groups.list_all(),
        "networks": network.virtual_networks.list_all(),
    }
    return {kind: [str(one.name) for one in found] for kind, found in listed.items()}


def main() -> int:
    """Print the listing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoint-url", required=True)
    given = parser.parse_args()
    found = rented(given.endpoint_url, os.environ["AZURE_SUBSCRIPTION_ID"])
    for kind, names in found.items():
        print(f"  {kind:20} {len(names)}  {' '.join(names)}".rstrip())
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
