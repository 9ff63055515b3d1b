"""Translation of AWS's errors to diskbench's: by the service's error code, else by the SDK's class.

Codes: Amazon EC2 API Reference, "Error codes for the Amazon EC2 API" (as stored 2026).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
from diskbench.providers.error_table import CloudError, ErrorRow, ErrorTable, error_of

if TYPE_CHECKING:
    from botocore.exceptions import BotoCoreError, ClientError


_NO_CAPACITY = "AWS has no capacity for it: {told}"
_ELSEWHERE = "try another --zone, --region or --instance-type, or later"
_QUOTA = "the account's quota {quota!r} is used up: {told}"
_RAISE_QUOTA = (
    "raise it in the AWS console of that region: Service Quotas > {service} > {quota}; or give "
    "back what is not needed (diskbench gc)"
)
_QUOTAS = (
    ("(Vcpu|Instance)LimitExceeded", "Amazon EC2",
     "Running On-Demand instances (vCPUs) of that family"),
    ("MaxSpotInstanceCountExceeded", "Amazon EC2", "Spot Instance Requests of that family"),
    ("VolumeLimitExceeded", "Amazon EBS", "Storage for volumes of that type, in TiB"),
    ("MaxIOPSLimitExceeded|VolumeIOPSLimit", "Amazon EBS", "IOPS for Provisioned IOPS SSD volumes"),
    ("SecurityGroupLimitExceeded", "Amazon VPC", "VPC security groups per Region"),
    ("RulesPerSecurityGroupLimitExceeded", "Amazon VPC",
     "Inbound or outbound rules per security group"),
    ("NetworkInterfaceLimitExceeded", "Amazon VPC", "Network interfaces per Region"),
    ("SecurityGroupsPerInterfaceLimitExceeded", "Amazon VPC",
     "Security groups per network interface"),
)  # fmt: skip
"""Code → service and name of the quota in the console."""
_ALLOW_KEY = (
    "allow the key that encrypts the disks (--kms-key, or the account's default for EBS; "
    "docs/aws.md, UseTheKeyOfTheVolumes) and enable it, or choose another"
)
_NOT_ACCEPTED = "AWS does not accept the credentials: {said}"
_LOG_IN = (
    "log in: aws login{flag} (console credentials), aws sso login{flag} (single sign-on) or "
    "aws configure{flag} (access keys)"
)
_REFUSED = "AWS refuses {action}: {told}"
_FAILED = ErrorRow(Throttled, "AWS failed at {action}: {told}", "look at health.aws.amazon.com")
DENIED = (
    "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "UnauthorizedException",
    "NotAuthorized", "DependencyAccessDeniedException",
)  # fmt: skip
_NAMED = r"not authorized to perform: (?P<named>[a-z0-9-]+:[A-Za-z]+)"
_TAG_DEMANDED = r"aws:RequestTag/(?P<key>[^,)]+)"
_ABOVE = r"(?P<kind>service control policy|resource control policy|permissions boundary)"
"""What denies beside the user's own policies, and the resource's (IAM User Guide, "Access denied
error messages"): explicitly, or because it does not allow."""
NO_SPOT_ROLE = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
_CORRECT = "correct the value that it names"
_THEIR_REASON = "the reason is AWS's own"

TABLE: ErrorTable = (
    ErrorRow(
        NoCapacity, _NO_CAPACITY, _ELSEWHERE,
        codes=(
            "InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientCapacity",
            "InsufficientReservedInstances?Capacity", "InsufficientVolumeCapacity",
            "InsufficientCapacityOnHost", "InsufficientFreeAddressesInSubnet", "SpotMaxPriceTooLow",
            "InsufficientAddressCapacity", "UnfulfillableCapacity", "VolumeTypeNotAvailableInZone",
            "ReservationCapacityExceeded",
        ),
    ),
    # The limit of one call or one resource, which no quota raises.
    ErrorRow(
        RentalFailed, _REFUSED, "report it: one call of diskbench asks for more than EC2 takes",
        codes=("(Filter|Tag)LimitExceeded", "RequestResourceCountExceeded"),
    ),
    ErrorRow(
        InvalidValue, "the machine supports no more disks: {told}",
        "choose a larger --instance-type, or a smaller --count",
        codes=("AttachmentLimitExceeded",),
    ),
    # EC2 answers this where a zone does not offer the machine type, and to some invalid settings of
    # a machine too; the next zones then answer the same.
    ErrorRow(
        NoCapacity, _NO_CAPACITY, _ELSEWHERE, codes=("Unsupported",), action="ec2:RunInstances"
    ),
    ErrorRow(
        Throttled, "AWS throttles this account's calls: {told} at {action}",
        "run less at a time in this account and region",
        codes=(
            "RequestLimitExceeded", "Throttling", "ThrottlingException", "ThrottledException",
            "RequestThrottled", "RequestThrottledException", "TooManyRequestsException",
            "EC2ThrottledException", "BandwidthLimitExceeded", "SlowDown",
        ),
    ),
    ErrorRow(
        Throttled, "another call changes the same tags: {told} at {action}", "wait a moment",
        codes=("ConcurrentTagAccess",),
    ),
    # Accounts of the Free plan, which new ones may choose since 2025-07-15.
    ErrorRow(
        InvalidValue, "the account is on AWS's Free plan, which has no such machine: {told}",
        "add --instance-type m7i-flex.large, the largest that the plan has, or upgrade the account "
        "to the Paid plan (console: Billing and Cost Management)",
        codes=("InvalidParameterCombination",), said="not eligible for Free Tier",
    ),
    ErrorRow(
        InvalidValue, "--spot: the account has no role for spot machines yet, and these "
        "credentials may not make it: {told}",
        "once for the account: aws iam create-service-linked-role --aws-service-name "
        "spot.amazonaws.com{flag}",
        codes=(re.escape(NO_SPOT_ROLE),),
    ),
    ErrorRow(
        AccessDenied, "AWS may not use the key of the encrypted disk: {told}",
        _ALLOW_KEY, codes=("CustomerKeyHasBeenRevoked",),
    ),
    ErrorRow(
        InvalidValue, "there is no default network in this region: {told}",
        "give a --subnet, or: aws ec2 create-default-vpc",
        codes=("DefaultVpcDoesNotExist", "VPC(Id|Resource)NotSpecified"),
    ),
    *(
        ErrorRow(
            QuotaExceeded, _QUOTA, _RAISE_QUOTA, codes=(code,),
            otherwise={"service": service, "quota": quota},
        )
        for code, service, quota in _QUOTAS
    ),
    ErrorRow(
        QuotaExceeded, _QUOTA, _RAISE_QUOTA,
        codes=("(?P<quota>.*)LimitExceeded", "(?P<quota>.*)CountExceeded"),
        otherwise={"service": "Amazon EC2"},
    ),
    ErrorRow(
        AccessDenied, "AWS does not accept the credentials: {told}", _LOG_IN,
        codes=(
            "AuthFailure", "ExpiredToken", "ExpiredTokenException", "IncompleteSignature",
            "InvalidAccessKeyId", "InvalidClientTokenId", "MissingAuthenticationToken",
            "RequestExpired", "SignatureDoesNotMatch", "TokenRefreshRequired",
            "UnrecognizedClientException",
        ),
    ),
    ErrorRow(
        AccessDenied, "the AWS account is not allowed to do that: {told}",
        "resolve this at {page}: an image of the AWS Marketplace needs a subscription",
        codes=("OptInRequired",),
        found=(r"(?P<page>https://[^\s]*[^\s.,;)])",),
        otherwise={"page": "https://aws.amazon.com/marketplace"},
    ),
    ErrorRow(
        AccessDenied, "the AWS account is not allowed to do that: {told}", "resolve this with AWS",
        codes=("Blocked", "PendingVerification"),
    ),
    # A policy that denies explicitly, of the organisation or of the account; no permission helps.
    ErrorRow(
        InvalidValue, "a policy denies {named} without the tag {key!r}: {told}",
        "add --tag {key}=VALUE, or to tags in the settings (diskbench config)", codes=DENIED,
        said=_TAG_DEMANDED, found=(rf"{_NAMED}.*{_TAG_DEMANDED}", _TAG_DEMANDED),
        otherwise={"named": "{action}", "key": "KEY"},
    ),
    ErrorRow(
        InvalidValue, "a policy denies {named} of a disk without encryption: {told}",
        "add --kms-key KEY, such as alias/aws/ebs, the account's own", codes=DENIED,
        said="ec2:Encrypted|ec2:KmsKeyId", found=(_NAMED,), otherwise={"named": "{action}"},
    ),
    ErrorRow(
        InvalidValue,
        "a policy denies {named}, a {kind} and not your own rights: {told}",
        "ask who administers the AWS organisation, or the boundary of your role, to allow {named}; "
        "if the policy demands tags or encrypted disks: --tag KEY=VALUE, --kms-key KEY; if it "
        "admits some regions or machines only: --region, --instance-type",
        codes=DENIED, said=_ABOVE, found=(rf"{_NAMED}.*{_ABOVE}", _ABOVE),
        otherwise={"named": "{action}", "kind": "service control policy"},
    ),
    ErrorRow(
        InvalidValue, "a policy denies {named}: {told}",
        "add --tag KEY=VALUE for every tag that it demands, --kms-key KEY if it demands encrypted "
        "disks; else ask the person who set the policy",
        codes=DENIED, said="explicit deny", found=(_NAMED,), otherwise={"named": "{action}"},
    ),
    ErrorRow(
        AccessDenied, "these AWS credentials are not allowed to do {named}: {told}",
        "allow {named}; docs/aws.md has the whole policy",
        codes=DENIED, found=(_NAMED,),
        otherwise={"named": "{action}"},
    ),
    replace(
        _FAILED,
        codes=(
            "InternalError(Exception)?", "InternalFailure", "InternalServerError",
            "ServiceException", "ServiceUnavailable", "Unavailable",
        ),
    ),
    ErrorRow(InvalidValue, _REFUSED, _CORRECT, codes=("Invalid.*",)),
    ErrorRow(RentalFailed, _REFUSED, _THEIR_REASON, codes=("Insufficient.*",)),
    replace(_FAILED, statuses=range(500, 600)),
    ErrorRow(
        InvalidValue, _REFUSED, _CORRECT,
        codes=(
            "(Malformed|Missing|Unknown|Unsupported).*",
            ".*(NotFound|NotFoundException|ValidationError|ValidationException)",
            "IllegalArgumentException", "(BootForVolumeType|EncryptedVolumes).*", "NonEBSInstance",
            "ZonesMismatched", "DisallowedForDedicatedTenancyNetwork",
        ),
    ),
    ErrorRow(RentalFailed, _REFUSED, _THEIR_REASON),
)  # fmt: skip
"""Errors by the service's code."""

_BY_A_PERSON = "another program ended it: start a new run"
STATE_TABLE: ErrorTable = (
    ErrorRow(
        NoCapacity, _NO_CAPACITY, _ELSEWHERE,
        codes=(r"Server\.Insufficient\w*Capacity", r"Server\.InternalError"),
    ),
    ErrorRow(
        RentalFailed, "AWS ended the spot machine: {told}", "start a new run, without --spot",
        codes=(r"Server\.SpotInstance(Termination|Shutdown)",),
    ),
    ErrorRow(
        QuotaExceeded, _QUOTA, _RAISE_QUOTA, codes=(r"Client\.VolumeLimitExceeded",),
        otherwise={
            "service": "Amazon EBS", "quota": "Storage for volumes of that type, in TiB",
        },
    ),
    ErrorRow(
        QuotaExceeded, _QUOTA, _RAISE_QUOTA,
        codes=(r"(Client|Server)\.(?P<quota>\w*)LimitExceeded",),
        otherwise={"service": "Amazon EC2"},
    ),
    # EC2 User Guide, "Troubleshoot instance launch issues": the caller may not use the key of the
    # volumes, or the key is disabled or deleted.
    ErrorRow(
        AccessDenied, "AWS could not open the encrypted disk of {what}: {told}",
        _ALLOW_KEY,
        codes=(r"Client\.InternalError", r"Client\.InvalidKMSKey\..*"),
    ),
    ErrorRow(
        RentalFailed, "{what} is {state}: {told}", _BY_A_PERSON,
        codes=(r"Client\.(User|Instance)Initiated\w+", r"Client\.InstanceTerminated"),
    ),
    ErrorRow(RentalFailed, "{what} is {state}: {told}", "start a new run"),
)  # fmt: skip
"""Why an instance ended, by the code of its StateReason (EC2 API Reference, StateReason, 2026)."""

SDK_TABLE: ErrorTable = (
    ErrorRow(
        AccessDenied, _NOT_ACCEPTED, "allow signin:CreateOAuth2Token, then: aws login{flag}",
        codes=("LoginInsufficientPermissions",),
    ),
    ErrorRow(AccessDenied, _NOT_ACCEPTED, "log in: aws login{flag}", codes=("LoginError",)),
    ErrorRow(
        HostUnavailable, "the AWS SDK lacks a part that these credentials need: {said}",
        "install it: pip install 'botocore[crt]'", codes=("MissingDependencyException",),
    ),
    ErrorRow(
        AccessDenied, _NOT_ACCEPTED, "log in: aws sso login{flag}",
        codes=(
            "SSOError", "SSOTokenLoadError", "UnauthorizedSSOTokenError", "TokenRetrievalError",
        ),
    ),
    ErrorRow(
        AccessDenied, "AWS does not accept the credentials: there are none, or not all ({said})",
        _LOG_IN, codes=("NoCredentialsError", "PartialCredentialsError"),
    ),
    ErrorRow(
        AccessDenied, _NOT_ACCEPTED, _LOG_IN,
        codes=("CredentialRetrievalError", "RefreshWithMFAUnsupportedError"),
    ),
    ErrorRow(
        Throttled, "no answer to {action}: {said}", "look at the network and --endpoint-url",
        codes=("HTTPClientError", "ConnectionError", "ResponseParserError"),
    ),
    ErrorRow(
        HostUnavailable, "the AWS configuration cannot be read: {said}", "correct it",
        codes=("ConfigParseError", "ConfigNotFound"),
    ),
    ErrorRow(InvalidValue, "the AWS SDK refuses {action}: {said}", "correct what it names"),
)  # fmt: skip
"""Errors by botocore's exception class or a base class of it."""

_ENCODED = re.compile(r"(?P<before>.*)Encoded authorization failure message: (?P<text>\S+)", re.S)
_STATE_CODE = re.compile(r"((?:Client|Server)\.[\w.]*\w)(?=:|$)")
_DECODED_ACTION = re.compile(r'"action"\s*:\s*"([a-z0-9-]+:[A-Za-z]+)"')


def error_code(error: BaseException | None) -> str:
    """AWS's code of an error, diskbench's or the SDK's; "" where it has none."""
    while error is not None:
        response = getattr(error, "response", None)
        if isinstance(response, dict):
            return str(response.get("Error", {}).get("Code", ""))
        error = error.__cause__
    return ""


REGION_OFF = frozenset({"AuthFailure", "InvalidClientTokenId", "UnrecognizedClientException"})
"""Codes for credentials that a region does not know: wrong ones, or of an account that has not
enabled the region."""


def of_region(error: DiskbenchError, region: str, *, is_enabled: bool | None) -> DiskbenchError:
    """The error where a region that needs to be enabled refuses the credentials; `is_enabled` is
    None where that is not known."""
    enable = f"aws account enable-region --region-name {region}"
    if is_enabled:
        return error
    if is_enabled is None:
        advice = f"{error.advice}; or enable the region, if the account has not: {enable}"
        return AccessDenied(error.message, advice=advice)
    return InvalidValue(
        f"the account has not enabled {region}",
        advice=f"enable it, which takes minutes: {enable}; or use another --region",
        field="region",
    )


def is_missing(error: BaseException) -> bool:
    """Whether AWS reports that the resource does not exist, or no longer exists."""
    code = error_code(error)
    gone = code in {"ParameterNotFound", "InvalidAMIID.Unavailable"}  # a deregistered image
    return gone or code.endswith((".NotFound", "NotFoundException"))


def translate(
    error: Exception,
    action: str,
    *,
    profile: str | None = None,
    decode: Callable[[str], str | None] | None = None,
) -> DiskbenchError:
    """The diskbench error for an error of boto; `action` is the IAM name of the call
    (`ec2:RunInstances`).

    `decode` decodes EC2's encoded authorization messages, and may fail. An exception of botocore
    that reports a programming error is returned unchanged.
    """
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    if isinstance(error, ClientError):
        return _of_service(error, action, profile, decode)
    if isinstance(error, ResponseParserError | BotoCoreError):
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
    message = str(details.get("Message", "")) or "no reason given"
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return of_code(code, message, action, status=int(status), profile=profile, decode=decode)


def of_code(
    code: str,
    text: str,
    action: str,
    *,
    status: int = 0,
    profile: str | None = None,
    decode: Callable[[str], str | None] | None = None,
) -> DiskbenchError:
    """The diskbench error for an AWS code, from an answer or from a state's reason."""
    encoded = _ENCODED.match(text)
    if encoded is not None:
        before = encoded["before"].strip()
        text = before + _decoded(decode(encoded["text"]) if decode else None, before)
    return error_of(TABLE, CloudError((code,), text, action, status, {"flag": _flag(profile)}))


def _decoded(opened: str | None, before: str) -> str:
    """What a decoded message tells beyond `before`: the action, that a policy denies it explicitly,
    and on which keys that depends. The keys of the request itself stand elsewhere in it."""
    action_match = None if re.search(_NAMED, before) else _DECODED_ACTION.search(opened or "")
    words = f" (not authorized to perform: {action_match[1]})" if action_match else ""
    try:
        document = json.loads(opened or "{}")
        if document.get("explicitDeny") and "explicit deny" not in before:
            words += " (an explicit deny)"
        keys = [
            str(condition["key"])
            for statement in document["matchedStatements"]["items"]
            if document.get("explicitDeny")
            for condition in statement["conditions"]["items"]
        ]
    except (ValueError, TypeError, KeyError):
        return words
    return f"{words} (the policy depends on {', '.join(keys)})" if keys else words


def of_state(instance: Mapping[str, Any], why: str) -> DiskbenchError:
    """The error for an instance that ended, by the code of its state's reason; `why` is EC2's
    text."""
    reason = instance.get("StateReason") or {}
    # Live accounts reported "Server.InternalError" with the message "Client.InternalError: Client
    # error on launch" (aws/karpenter-provider-aws issue 1407, 2022): the message decides.
    code_match = _STATE_CODE.match(str(reason.get("Message") or ""))
    code = code_match[1] if code_match else str(reason.get("Code") or "")
    more = {"what": f"instance {instance['InstanceId']}", "state": instance["State"]["Name"]}
    return error_of(
        STATE_TABLE, CloudError((code,), why, "ec2:RunInstances", 0, {**more, "told": why})
    )


def _of_sdk(error: BotoCoreError | Exception, action: str, profile: str | None) -> DiskbenchError:
    from botocore import exceptions as sdk

    if isinstance(error, sdk.ProfileNotFound):
        # `profile` is None where AWS_PROFILE sets it.
        return UnknownName("AWS profile", str(error.kwargs["profile"]), _profiles())
    if isinstance(error, sdk.NoRegionError):
        return no_region()
    classes = tuple(kind.__name__ for kind in type(error).__mro__)
    return error_of(SDK_TABLE, CloudError(classes, str(error), action, 0, {"flag": _flag(profile)}))


def _flag(profile: str | None) -> str:
    """The option that gives the AWS command line the profile."""
    return f" --profile {profile}" if profile else ""


def no_region() -> InvalidValue:
    """The error for a missing region: none was given, and the AWS configuration has none."""
    return InvalidValue(
        "no AWS region: set --region, AWS_REGION or the AWS configuration",
        advice="add --region, such as --region eu-central-1, or: aws configure set region REGION",
        field="region",
    )


def _profiles() -> tuple[str, ...]:
    import botocore.session

    return tuple(botocore.session.get_session().available_profiles)
