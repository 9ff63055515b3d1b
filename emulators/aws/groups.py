"""A security group in use is not deleted (EC2 API Reference, DeleteSecurityGroup)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulators.aws.call import Refusal

if TYPE_CHECKING:
    from emulators.aws.call import Answer, Call, Proceed
    from emulators.aws.cloud import Cloud

TERMINATED = 48


def hook(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:  # noqa: ARG001 - a hook's form
    """Refuse to delete a group while an instance that is not terminated has it."""
    if call.service == "ec2" and call.action == "DeleteSecurityGroup":
        name = call.params.get("GroupId") or call.params.get("GroupName")
        for instance in call.ec2.all_instances():
            groups = {g.id for g in instance.security_groups} | {
                g.name for g in instance.security_groups
            }
            on_nics = {g.id for nic in instance.nics.values() for g in nic.group_set}
            if instance.state_code != TERMINATED and name in groups | on_nics:
                raise Refusal("DependencyViolation", f"resource {name} has a dependent object")
    return proceed()
