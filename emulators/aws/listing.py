"""`python -m emulators.aws.listing`: what is rented, by plain describe calls.

Endpoint and credentials come from the environment, as for any client. Ends with 1 when there is
anything.
"""

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from emulators.aws.rights import OWNER_KEY


def rented(ec2: Any) -> Mapping[str, list[str]]:
    """The ids of everything that is rented, or can be left behind, by kind."""
    instances = [
        f"{instance['InstanceId']} ({instance['State']['Name']})"
        for reservation in ec2.describe_instances()["Reservations"]
        for instance in reservation["Instances"]
        if instance["State"]["Name"] != "terminated"
    ]
    groups = ec2.describe_security_groups()["SecurityGroups"]
    return {
        "instances": instances,
        "volumes": [row["VolumeId"] for row in ec2.describe_volumes()["Volumes"]],
        "key pairs": [row["KeyName"] for row in ec2.describe_key_pairs()["KeyPairs"]],
        "security groups": [g["GroupName"] for g in groups if g["GroupName"] != "default"],
        "network interfaces": [
            row["NetworkInterfaceId"]
            for row in ec2.describe_network_interfaces()["NetworkInterfaces"]
        ],
        "addresses": [row["PublicIp"] for row in ec2.describe_addresses()["Addresses"]],
    }


def main() -> int:
    """Print the listing."""
    import boto3

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoint-url", required=True)
    parser.add_argument("--region", required=True)
    given = parser.parse_args()
    owner = {"aws_access_key_id": OWNER_KEY, "aws_secret_access_key": "no-secret"}
    ec2 = boto3.client("ec2", endpoint_url=given.endpoint_url, region_name=given.region, **owner)
    found = rented(ec2)
    for kind, names in found.items():
        print(f"  {kind:20} {len(names)}  {' '.join(names)}".rstrip())
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
