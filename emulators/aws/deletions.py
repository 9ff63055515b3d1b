"""What EC2 knows of a deletion and moto does not: a security group in use stays (EC2 API Reference,
DeleteSecurityGroup), and a key pair goes by its name or by its id (DeleteKeyPair)."""

from emulators.aws.call import Answer, Call, Proceed, Refusal
from emulators.aws.cloud import Cloud

TERMINATED = 48


def hook(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:  # noqa: ARG001 - a hook's form
    """Refuse what may not be deleted; give moto the name of a key pair where its id was given."""
    if call.service == "ec2" and call.action == "DeleteSecurityGroup":
        _check_group(call, call.params.get("GroupId") or call.params.get("GroupName"))
    if (
        call.service == "ec2"
        and call.action == "DeleteKeyPair"
        and call.params.get("KeyPairId") is not None
    ):
        call.params["KeyName"] = _name_of_pair(call, call.params["KeyPairId"])
    return proceed()


def _check_group(call: Call, name: str | None) -> None:
    """Refuse to delete a group while an instance that is not terminated has it."""
    for instance in call.ec2.all_instances():
        groups = {g.id for g in instance.security_groups} | {
            g.name for g in instance.security_groups
        }
        on_nics = {g.id for nic in instance.nics.values() for g in nic.group_set}
        if instance.state_code != TERMINATED and name in groups | on_nics:
            raise Refusal("DependencyViolation", f"resource {name} has a dependent object")


def _name_of_pair(call: Call, identifier: str) -> str:
    """The name of the key pair with that id. Raises Refusal where there is none."""
    for pair in call.ec2.key_pairs.values():
        if pair.id == identifier:
            return str(pair.key_name)
    raise Refusal("InvalidKeyPair.NotFound", f"The key pair '{identifier}' does not exist")
