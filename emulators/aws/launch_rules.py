"""What RunInstances refuses: unknown images, types and keys, types that a zone does not have.

Codes: EC2 API Reference, "Error codes for the Amazon EC2 API"; a type that a zone does not offer is
Unsupported (EC2 User Guide, "Troubleshoot instance launch issues").
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from emulators.aws.call import Answer, Call, Proceed, Refusal
from emulators.aws.cloud import Cloud

MAX_USER_DATA = 16_384
"""Bytes before encoding: EC2 User Guide, "Work with instance user data"."""


FREE = frozenset({
    "t3.micro", "t3.small", "t4g.micro", "t4g.small", "c7i-flex.large", "m7i-flex.large",
})  # fmt: skip
"""The machines of the Free plan (Billing User Guide, "Free Tier", 2025-07)."""
SPOT_ROLE = "AWSServiceRoleForEC2Spot"


def hook(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:
    """Refuse what cannot be launched; tell of the role of spot machines, whose maker AWS is."""
    if call.service == "ec2" and call.action == "RunInstances":
        check_launch(cloud, call)
    if call.service == "iam" and call.params.get("RoleName") == SPOT_ROLE:
        return _spot_role(cloud, call)
    return proceed()


def _spot_role(cloud: Cloud, call: Call) -> Answer:
    if not cloud.spot_role:
        said = f"The role with name {SPOT_ROLE} cannot be found."
        raise Refusal("NoSuchEntity", said, status=404)
    path = "/aws-service-role/spot.amazonaws.com/"
    made = {
        "Path": path,
        "RoleName": SPOT_ROLE,
        "RoleId": "AROADISKBENCH0000001",
        "Arn": f"arn:aws:iam::{call.response.current_account}:role{path}{SPOT_ROLE}",
        "CreateDate": datetime(2026, 1, 1, tzinfo=UTC),
    }
    return call.answer({"Role": made})


def check_launch(cloud: Cloud, call: Call) -> None:
    """Raise Refusal for what cannot be launched."""
    if cloud.free_plan and call.params.get("InstanceType") not in FREE:
        raise Refusal(
            "InvalidParameterCombination",
            "The specified instance type is not eligible for Free Tier. For a list of Free Tier "
            "instance types, run 'describe-instance-types' with the filter "
            "'free-tier-eligible=true'.",
        )
    if call.params.get("InstanceMarketOptions") and not cloud.spot_role:
        raise Refusal(
            "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
            "The provided credentials do not have permission to create the service-linked role for "
            "EC2 Spot Instances.",
            status=403,
        )
    _check_image(call)
    _check_key(call)
    _check_zone(call)
    _check_user_data(call)


def instance_type(call: Call) -> Mapping[str, Any]:
    """The type that a launch names, as DescribeInstanceTypes has it. Raises Refusal."""
    from moto.ec2.models.instance_types import INSTANCE_TYPES

    name = call.params.get("InstanceType", "m1.small")
    if name not in INSTANCE_TYPES:
        raise Refusal("InvalidParameterValue", f"Invalid value '{name}' for InstanceType.")
    found: Mapping[str, Any] = INSTANCE_TYPES[name]
    return found


def _check_image(call: Call) -> None:
    image = call.ec2.amis.get(call.params.get("ImageId"))
    if image is None:
        name = call.params.get("ImageId")
        raise Refusal("InvalidAMIID.NotFound", f"The image id '[{name}]' does not exist")
    archs = instance_type(call)["ProcessorInfo"]["SupportedArchitectures"]
    if image.architecture not in archs:
        raise Refusal(
            "InvalidParameterValue",
            f"The architecture '{','.join(archs)}' of the specified instance type does not match "
            f"the architecture '{image.architecture}' of the specified AMI.",
        )


def _check_key(call: Call) -> None:
    name = call.params.get("KeyName")
    if name is not None and name not in call.ec2.key_pairs:
        raise Refusal("InvalidKeyPair.NotFound", f"The key pair '{name}' does not exist")


def _check_zone(call: Call) -> None:
    zone = launch_zone(call)
    if zone is None:
        return
    if call.ec2.get_zone_by_name(zone) is None:
        raise Refusal("InvalidParameterValue", f"Invalid availability zone: [{zone}]")
    name = call.params["InstanceType"]
    offering = zones_with(call, name)
    if zone not in offering:
        raise Refusal(
            "Unsupported",
            f"Your requested instance type ({name}) is not supported in your requested "
            f"Availability Zone ({zone}). Please retry your request by not specifying an "
            f"Availability Zone or choosing {', '.join(sorted(offering))}.",
        )


def launch_zone(call: Call) -> str | None:
    """The zone that a RunInstances or CreateVolume names, by itself or by its subnet."""
    params = call.params
    interfaces = params.get("NetworkInterfaces") or [{}]
    subnet = params.get("SubnetId") or interfaces[0].get("SubnetId")
    if subnet:
        found = call.ec2.get_subnet(subnet)
        return str(found.availability_zone)
    placed = params.get("Placement", {}).get("AvailabilityZone")
    return placed or params.get("AvailabilityZone")


def zones_with(call: Call, name: str) -> set[str]:
    """The zones of the call's region that offer a type."""
    from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS

    rows = INSTANCE_TYPE_OFFERINGS["availability-zone"].get(call.region, ())
    return {row["Location"] for row in rows if row["InstanceType"] == name}


def _check_user_data(call: Call) -> None:
    given = call.params.get("UserData")
    if given is None:
        return
    try:
        size = len(base64.b64decode(given, validate=True))
    except (binascii.Error, ValueError):
        raise Refusal("InvalidParameterValue", "Invalid BASE64 encoding of user data.") from None
    if size > MAX_USER_DATA:
        raise Refusal("InvalidParameterValue", f"User data is limited to {MAX_USER_DATA} bytes")
