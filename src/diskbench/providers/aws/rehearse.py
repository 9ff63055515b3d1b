"""The requests of a rental with DryRun: EC2 checks permission and parameters, and makes nothing
(Amazon EC2 API Reference, "DryRun")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.providers.aws import requests
from diskbench.providers.aws.errors import error_code
from diskbench.providers.aws.provision import AwsOrder, launch_request
from diskbench.providers.aws.resolved import AwsResolved
from diskbench.providers.skeleton.doctor import Bystander, DryRun, nobody, rehearsed, unused_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.finding import Finding
    from diskbench.model.rental import Rental
    from diskbench.providers.aws.client import AwsClient, AwsSessions
    from diskbench.providers.aws.resolved import AwsZone
    from diskbench.providers.aws.timing import AwsTiming

_ALLOWED = "DryRunOperation"
_ADVICE = "allow it: diskbench doctor --print-policy aws has all that is needed"
_UNTRIED = (
    "calls that change or delete (AttachVolume, AuthorizeSecurityGroupIngress, "
    "TerminateInstances …), because they need a resource with the lease's tag; and capacity, which "
    "EC2 does not report"
)


def rehearse(sessions: AwsSessions, rental: Rental, timing: AwsTiming) -> list[Finding]:
    """See ports.Rehearses."""
    details = AwsResolved.model_validate(rental.details)
    watch = Bystander()
    order = AwsOrder(
        ec2=sessions.of_scope(rental.scope, timing).edge("ec2", timing),
        claim=nobody(),
        spec=rental.spec,
        details=details,
        keys=unused_keys(),
        watch=watch,
        timing=timing,
    )
    return rehearsed(f"aws {details.region}", list(_runs(order)), advice=_ADVICE, untried=_UNTRIED)


def _runs(order: AwsOrder) -> Sequence[DryRun]:
    claim, places = order.claim, order.details.places
    key = requests.import_key_pair(claim, order.keys.user_public)
    runs = [_dry(order.ec2, "ec2:ImportKeyPair", "import_key_pair", key)]
    if order.spec.security_group is None:
        group = requests.create_security_group(claim, places[0].vpc)
        runs.append(_dry(order.ec2, "ec2:CreateSecurityGroup", "create_security_group", group))
    for place in places:
        if order.volume is not None:
            volume = requests.create_volume(claim, order.volume, place.zone, 0, order.lab)
            disk = f"{order.volume.type}, {order.volume.size_gib} GiB"
            what = f"ec2:CreateVolume of {disk} in {place.zone}"
            runs.append(_dry(order.ec2, what, "create_volume", volume))
        what = f"ec2:RunInstances of {order.details.machine.type} in {place.zone}"
        runs.append(_dry(order.ec2, what, "run_instances", _launch(order, place)))
    return runs


def _launch(order: AwsOrder, place: AwsZone) -> requests.Request:
    """The launch without the lease's key and group, which do not exist yet: EC2 refuses names of
    resources that do not exist. The subnet's default group stands in for the group."""
    request = launch_request(order, order.spec.security_group or "", place)
    del request["KeyName"]
    if order.spec.security_group is None:
        for interface in request["NetworkInterfaces"]:
            del interface["Groups"]
    return request


def _dry(ec2: AwsClient, what: str, operation: str, request: requests.Request) -> DryRun:
    def send() -> None:
        try:
            ec2.call(operation, {**request, "DryRun": True})
        except DiskbenchError as error:
            if error_code(error) != _ALLOWED:
                raise

    return DryRun(what, send)
