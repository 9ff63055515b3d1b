"""Whether AWS permits the rental: query the caller's identity, and send calls with DryRun, which
EC2 checks for permission and does not carry out (Amazon EC2 API Reference, "DryRun")."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from diskbench.errors import AccessDenied, DiskbenchError
from diskbench.model.finding import Finding, refusal
from diskbench.model.rental import Claim
from diskbench.providers.aws import policy, requests
from diskbench.providers.aws.errors import error_code, is_missing
from diskbench.providers.aws.images import find_image
from diskbench.providers.skeleton.doctor import http_date, reported_time, skew

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.rental import Scope
    from diskbench.providers.aws.client import Aws, AwsSessions
    from diskbench.providers.aws.timing import AwsTiming

_AT_ONCE = 4
_ALLOWED = "DryRunOperation"
_NOBODY = Claim(lease_id="doctor", expires_at=0, owner="doctor", version="0")
_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl doctor"
"""A public key whose private one is in RFC 8709's example; it is never imported."""
_MACHINE = "t3.micro"
_ADVICE = "allow it: diskbench doctor --print-policy aws has all that is needed"

Request = dict[str, Any]


def examine(sessions: AwsSessions, scope: Scope, timing: AwsTiming) -> list[Finding]:
    """See ports.Examinable."""
    where = f"aws {scope.region}" if scope.region else "aws"
    before = datetime.now(UTC)
    try:
        aws = sessions.of_scope(scope, timing)
        where = f"aws {aws.region}"
        identity = aws.edge("sts", timing).call("get_caller_identity")
    except DiskbenchError as error:
        cloud_time = _date(getattr(error.__cause__, "response", None) or {})
        clock = [] if cloud_time is None else [skew(where, cloud_time, before, datetime.now(UTC))]
        return [refusal("credentials", where, error), *clock]
    return [
        Finding(check="credentials", where=where, state="ok", told=str(identity["Arn"])),
        skew(where, _date(identity), before, datetime.now(UTC)),
        *_permissions(aws, where, timing),
    ]


def present(sessions: AwsSessions, scope: Scope, timing: AwsTiming) -> datetime:
    """See ports.TellsTime."""
    try:
        aws = sessions.of_scope(scope, timing)
        identity = aws.edge("sts", timing).call("get_caller_identity")
    except DiskbenchError as error:
        cloud_time = _date(getattr(error.__cause__, "response", None) or {})
        if cloud_time is None:
            raise
        return cloud_time
    return reported_time("aws", _date(identity))


def _date(answer: dict[str, Any]) -> datetime | None:
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return http_date(headers.get("date"))


def _permissions(aws: Aws, where: str, timing: AwsTiming) -> list[Finding]:
    try:
        dry_runs = _requests(aws, timing)
    except DiskbenchError as error:
        return [refusal("permissions", where, error)]
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        answers = list(
            pool.map(lambda request: _tried(aws, request[0], request[1], timing), dry_runs)
        )
    refused = [answer for answer in answers if answer is not None]
    denied = [
        Finding(
            check="permissions", where=where, state="problem", told=failure.message, advice=_ADVICE
        )
        for failure in refused
        if isinstance(failure, AccessDenied)
    ]
    others = [
        Finding(
            check="permissions",
            where=where,
            state="warning",
            told=failure.message,
            advice=failure.advice,
        )
        for failure in refused
        if not isinstance(failure, AccessDenied)
    ]
    untried = len(policy.CHANGE)
    allowed = Finding(
        check="permissions",
        where=where,
        state="ok",
        told=f"{len(dry_runs) - len(refused)} of {len(dry_runs)} actions tried are allowed; the "
        f"{untried} that change or delete cannot be tried without something that carries the tag",
    )
    return [*denied, *others, allowed]


def _requests(aws: Aws, timing: AwsTiming) -> Sequence[tuple[str, Request]]:
    """The requests to try: every EC2 action of the policy that needs no resource of a lease. Raises
    AccessDenied where the first read-only calls are denied."""
    ec2, ssm = aws.edge("ec2", timing), aws.edge("ssm", timing)
    zones = ec2.call("describe_availability_zones")["AvailabilityZones"]
    image = find_image(ec2, ssm, None, "x86_64")

    def tagged(kind: str) -> list[Request]:
        return [{"ResourceType": kind, "Tags": requests.tags(_NOBODY, "doctor")}]

    make: dict[str, Request] = {
        "create_security_group": {
            "GroupName": "diskbench-doctor",
            "Description": "never made",
            "TagSpecifications": tagged("security-group"),
        },
        "create_volume": {
            "AvailabilityZone": zones[0]["ZoneName"],
            "VolumeType": "gp3",
            "Size": 1,
            "TagSpecifications": tagged("volume"),
        },
        "import_key_pair": {
            "KeyName": "diskbench-doctor",
            "PublicKeyMaterial": _KEY.encode(),
            "TagSpecifications": tagged("key-pair"),
        },
        "run_instances": requests.dry_launch(image.id, _MACHINE),
    }
    look = [_operation(action) for action in policy.LOOK if action.startswith("ec2:")]
    return [*((name, {}) for name in look), *make.items()]


def _tried(aws: Aws, operation: str, request: Request, timing: AwsTiming) -> DiskbenchError | None:
    """Why the request is denied, or why that is unknown; None where it is allowed."""
    try:
        aws.edge("ec2", timing).call(operation, {**request, "DryRun": True})
    except DiskbenchError as error:
        return None if error_code(error) == _ALLOWED or is_missing(error) else error
    return None  # an emulator without DryRun for read-only calls


def _operation(action: str) -> str:
    """The SDK's method of an action: `describe_volumes` for `ec2:DescribeVolumes`."""
    word = action.partition(":")[2]
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in word).lstrip("_")
