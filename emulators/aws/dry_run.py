"""Requests that only ask whether they would be allowed: EC2 checks permission and form, and says
so with an error (Amazon EC2 API Reference, "DryRun"). moto knows it for some actions only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulators.aws.call import Refusal

if TYPE_CHECKING:
    from emulators.aws.call import Answer, Call, Proceed
    from emulators.aws.cloud import Cloud


def hook(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:  # noqa: ARG001 - a hook's form
    """Carry out nothing that is only asked about."""
    if call.service == "ec2" and call.dry:
        message = "Request would have succeeded, but DryRun flag is set."
        raise Refusal("DryRunOperation", message, status=412)
    return proceed()
