"""`python -m emulators.gcp.listing`: what is rented, by plain list calls.

Credentials come from the environment, as for any client. Ends with 1 when there is anything.
"""

import argparse
import sys
from collections.abc import Mapping
from typing import Any


def rented(endpoint: str, project: str) -> Mapping[str, list[str]]:
    """The names of everything that is rented, or can be left behind, by kind."""
    from google.api_core.client_options import ClientOptions
    from google.cloud import compute_v1

    options = ClientOptions(api_endpoint=endpoint)
    found: dict[str, list[str]] = {}
    clients: dict[str, Any] = {
        "instances": compute_v1.InstancesClient(client_options=options),
        "disks": compute_v1.DisksClient(client_options=options),
    }
    for kind, client in clients.items():
        scopes = client.aggregated_list(project=project)
        found[kind] = [
            f"{one.name} ({one.status})" for _, scope in scopes for one in getattr(scope, kind)
        ]
    firewalls = compute_v1.FirewallsClient(client_options=options).list(project=project)
    return found | {"firewall rules": [one.name for one in firewalls]}


def main() -> int:
    """Print the listing."""
    parser = argparse.ArgumentParser(prog="python -m emulators.gcp.listing")
    parser.add_argument("--endpoint-url", required=True)
    parser.add_argument("--project", required=True)
    given = parser.parse_args()

    found = rented(given.endpoint_url, given.project)
    for kind, names in found.items():
        print(f"  {kind:20} {len(names)}  {' '.join(names)}".rstrip())
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
