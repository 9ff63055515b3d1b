"""Requests that only ask whether they would be allowed: EC2 checks permission and parameters, and
says so with an error (Amazon EC2 API Reference, "DryRun"). moto knows it for some actions only.

Public reports of dry runs name InvalidAMIID.NotFound, InvalidSubnetID.NotFound, Unsupported and
InvalidParameterValue; a lack of capacity is never told by one."""

from emulators.aws import launch_rules, volume_rules
from emulators.aws.call import Answer, Call, Proceed, Refusal
from emulators.aws.cloud import Cloud


def hook(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:
    """Carry out nothing that is only asked about."""
    if call.service == "ec2" and call.dry:
        if call.action == "RunInstances" and call.params.get("ImageId"):
            launch_rules.check_launch(cloud, call)
        if call.action == "CreateVolume":
            volume_rules.check_volume(call.params)
        message = "Request would have succeeded, but DryRun flag is set."
        raise Refusal("DryRunOperation", message, status=412)
    return proceed()
