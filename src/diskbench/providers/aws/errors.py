"""AWS's errors as ours, once, at the edge: by the code that the service gives, else by the SDK's.

Codes: Amazon EC2 API Reference, "Error codes for the Amazon EC2 API" (as stored 2026).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from diskbench.errors import (
    AccessDenied,
    DiskbenchError,
    HostUnavailable,
    InvalidValue,
    NoCapacity,
    QuotaExceeded,
    RentalFailed,
    Throttled,
    UnknownName,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from botocore.exceptions import BotoCoreError, ClientError

_CAPACITY = frozenset(
    {
        "InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientCapacity",
        "InsufficientReservedInstanceCapacity", "InsufficientVolumeCapacity",
        "InsufficientCapacityOnHost", "InsufficientFreeAddressesInSubnet", "SpotMaxPriceTooLow",
    }
)  # fmt: skip
_NOT_IN_THAT_ZONE = ("Unsupported", "ec2:RunInstances")
"""What EC2 answers where a zone does not have the machine type (EC2 API Reference, "Error codes").
It answers so to some settings of a machine, too: the next zones then answer alike."""
_THROTTLED = frozenset(
    {
        "RequestLimitExceeded", "Throttling", "ThrottlingException", "ThrottledException",
        "RequestThrottled", "RequestThrottledException", "TooManyRequestsException",
        "EC2ThrottledException", "BandwidthLimitExceeded", "SlowDown",
    }
)  # fmt: skip
_OUTAGE = frozenset(
    {"InternalError", "InternalFailure", "InternalServerError", "ServiceUnavailable", "Unavailable"}
)
_LOGIN = frozenset(
    {
        "AuthFailure", "ExpiredToken", "ExpiredTokenException", "IncompleteSignature",
        "InvalidAccessKeyId", "InvalidClientTokenId", "MissingAuthenticationToken",
        "RequestExpired", "SignatureDoesNotMatch", "TokenRefreshRequired",
        "UnrecognizedClientException",
    }
)  # fmt: skip
_DENIED = frozenset(
    {
        "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "UnauthorizedException",
        "NotAuthorized", "Blocked", "OptInRequired", "PendingVerification",
    }
)  # fmt: skip
_QUOTAS = {
    "VcpuLimitExceeded": ("Amazon EC2", "Running On-Demand instances (vCPUs) of that family"),
    "InstanceLimitExceeded": ("Amazon EC2", "Running On-Demand instances (vCPUs) of that family"),
    "MaxSpotInstanceCountExceeded": ("Amazon EC2", "Spot Instance Requests of that family"),
    "VolumeLimitExceeded": ("Amazon EBS", "Storage for volumes of that type, in TiB"),
    "MaxIOPSLimitExceeded": ("Amazon EBS", "IOPS for Provisioned IOPS SSD volumes"),
    "SecurityGroupLimitExceeded": ("Amazon VPC", "VPC security groups per Region"),
    "RulesPerSecurityGroupLimitExceeded": (
        "Amazon VPC", "Inbound or outbound rules per security group",
    ),
    "NetworkInterfaceLimitExceeded": ("Amazon VPC", "Network interfaces per Region"),
    "SecurityGroupsPerInterfaceLimitExceeded": (
        "Amazon VPC", "Security groups per network interface",
    ),
}  # fmt: skip
_ACTION = re.compile(r"not authorized to perform: ([a-z0-9-]+:[A-Za-z]+)")
_ENCODED = re.compile(r"Encoded authorization failure message: (\S+)")
_DECODED_ACTION = re.compile(r'"action"\s*:\s*"([a-z0-9-]+:[A-Za-z]+)"')


def error_code(error: BaseException | None) -> str:
    """AWS's own code of an error, ours or the SDK's; "" where it has none."""
    while error is not None:
        response = getattr(error, "response", None)
        if isinstance(response, dict):
            return str(response.get("Error", {}).get("Code", ""))
        error = error.__cause__
    return ""


def is_missing(error: BaseException) -> bool:
    """Whether AWS says that the thing does not exist, or not any more."""
    code = error_code(error)
    gone = code in {"ParameterNotFound", "InvalidAMIID.Unavailable"}  # an image was deregistered
    return gone or code.endswith((".NotFound", "NotFoundException"))


def translate(
    error: Exception,
    action: str,
    *,
    profile: str | None = None,
    decode: Callable[[str], str | None] | None = None,
) -> DiskbenchError:
    """Our error for one of boto's; `action` is the IAM name of the call (`ec2:RunInstances`).

    `decode` opens EC2's encoded authorization messages, and may fail. What botocore raises for
    other reasons than the world outside comes back as it is.
    """
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    if isinstance(error, ClientError):
        return _of_service(error, action, profile, decode)
    if isinstance(error, ResponseParserError):
        return _no_answer(action, "it is no answer of AWS's")
    if isinstance(error, BotoCoreError):
        return _of_sdk(error, action, profile)
    raise error


def _of_service(
    error: ClientError,
    action: str,
    profile: str | None,
    decode: Callable[[str], str | None] | None,
) -> DiskbenchError:
    details = error.response.get("Error", {})
    code = str(details.get("Code", ""))
    said = str(details.get("Message", "")) or "no reason given"
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return of_code(code, said, action, status=int(status), profile=profile, decode=decode)


def of_code(
    code: str,
    said: str,
    action: str,
    *,
    status: int = 0,
    profile: str | None = None,
    decode: Callable[[str], str | None] | None = None,
) -> DiskbenchError:
    """Our error for a code that AWS gave, in an answer or as the reason of a state."""
    if code in _CAPACITY or (code, action) == _NOT_IN_THAT_ZONE:
        return NoCapacity(
            f"AWS has no capacity for it: {said} ({code})",
            advice="try another --zone, --region or --instance-type, or later",
        )
    if code in _THROTTLED:
        return Throttled(
            f"AWS throttles this account's calls: {said} ({code}) at {action}",
            look_at="run less at a time in this account and region",
        )
    if code in _QUOTAS or code.endswith("LimitExceeded"):
        service, quota = _QUOTAS.get(code, ("Amazon EC2", code.removesuffix("LimitExceeded")))
        return QuotaExceeded(
            f"the account's quota {quota!r} is used up: {said} ({code})",
            advice=f"raise it in the AWS console of that region: Service Quotas > {service} > "
            f"{quota}; or give back what is not needed (diskbench gc)",
        )
    if code in _LOGIN:
        return _not_logged_in(f"{said} ({code})", profile)
    if code in _DENIED:
        return _denied(code, said, action, decode)
    if code in _OUTAGE or (status >= 500 and not code.startswith(("Invalid", "Insufficient"))):
        return Throttled(
            f"AWS failed at {action}: {said} ({code or status})",
            look_at="look at health.aws.amazon.com",
        )
    if code.startswith(("Invalid", "Malformed", "Missing", "Unknown", "Unsupported")) or (
        code.endswith(("NotFound", "NotFoundException", "ValidationError", "ValidationException"))
    ):
        return InvalidValue(
            f"AWS refuses {action}: {said} ({code})",
            advice="correct the value that it names",
        )
    return RentalFailed(f"AWS refuses {action}: {said} ({code})", advice="the reason is AWS's own")


def _denied(
    code: str, said: str, action: str, decode: Callable[[str], str | None] | None
) -> AccessDenied:
    told = said
    encoded = _ENCODED.search(said)
    missing = _ACTION.search(said)
    named = missing.group(1) if missing else action
    if encoded is not None:
        told = said.partition("Encoded authorization failure message")[0].strip()
        opened = decode(encoded.group(1)) if decode else None
        found = _DECODED_ACTION.search(opened or "")
        named = found.group(1) if found else named
    if code in {"OptInRequired", "PendingVerification", "Blocked"}:
        return AccessDenied(
            f"the AWS account may not do that: {told} ({code})", advice="settle it with AWS"
        )
    return AccessDenied(
        f"these AWS credentials may not do {named}: {told} ({code})",
        advice=f"allow {named}; docs/aws.md has the whole policy",
    )


def _not_logged_in(why: str, profile: str | None, *, sso: bool = False) -> AccessDenied:
    flag = f" --profile {profile}" if profile else ""
    login, configure = f"aws sso login{flag}", f"aws configure{flag}"
    how = login if sso else f"{login} (single sign-on) or {configure} (access keys)"
    return AccessDenied(f"AWS does not accept the credentials: {why}", advice=f"log in: {how}")


def _of_sdk(error: BotoCoreError, action: str, profile: str | None) -> DiskbenchError:
    from botocore import exceptions as sdk

    why = str(error)
    if isinstance(error, sdk.ProfileNotFound):
        # `profile` is None where AWS_PROFILE names it.
        return UnknownName("AWS profile", str(error.kwargs["profile"]), _profiles())
    if isinstance(
        error,
        sdk.SSOError | sdk.SSOTokenLoadError | sdk.UnauthorizedSSOTokenError
        | sdk.TokenRetrievalError,
    ):  # fmt: skip
        return _not_logged_in(why, profile, sso=True)
    if isinstance(error, sdk.NoCredentialsError | sdk.PartialCredentialsError):
        return _not_logged_in(f"there are none, or not all ({why})", profile)
    if isinstance(error, sdk.CredentialRetrievalError | sdk.RefreshWithMFAUnsupportedError):
        return _not_logged_in(why, profile)
    if isinstance(error, sdk.NoRegionError):
        return no_region()
    if isinstance(error, sdk.HTTPClientError | sdk.ConnectionError):
        return _no_answer(action, why)
    if isinstance(error, sdk.ConfigParseError | sdk.ConfigNotFound):
        return HostUnavailable(f"the AWS configuration cannot be read: {why}", advice="correct it")
    return InvalidValue(f"the AWS SDK refuses {action}: {why}", advice="correct what it names")


def no_region() -> InvalidValue:
    """No region was given, and none stands in the AWS configuration."""
    return InvalidValue(
        "no AWS region: neither --region nor AWS_REGION nor the AWS configuration names one",
        advice="add --region, such as --region eu-central-1, or: aws configure set region REGION",
        field="region",
    )


def _no_answer(action: str, why: str) -> Throttled:
    return Throttled(
        f"no answer to {action}: {why}",
        look_at="look at the network and --endpoint-url",
    )


def _profiles() -> tuple[str, ...]:
    import botocore.session

    return tuple(botocore.session.get_session().available_profiles)
