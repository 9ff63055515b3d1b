"""A key pair is deleted by its name or by its id (EC2 API Reference, DeleteKeyPair); moto knows the
name only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulators.aws.call import Refusal

if TYPE_CHECKING:
    from emulators.aws.call import Answer, Call, Proceed
    from emulators.aws.cloud import Cloud


def hook(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:  # noqa: ARG001 - a hook's form
    """Give moto the name where the id was given; an id that is not there is refused."""
    name = call.params.get("KeyPairId")
    if call.service == "ec2" and call.action == "DeleteKeyPair" and name is not None:
        found = [pair.key_name for pair in call.ec2.key_pairs.values() if pair.id == name]
        if not found:
            raise Refusal("InvalidKeyPair.NotFound", f"The key pair '{name}' does not exist")
        call.params["KeyName"] = found[0]
    return proceed()
