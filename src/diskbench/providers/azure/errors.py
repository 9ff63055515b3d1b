"""Translation of Azure's errors to diskbench's: by the service's error code, else by the SDK's
class.

Codes: "Common error codes" and "Allocation failures" of the Azure Resource Manager and Virtual
Machines documentation, and the exchanges recorded in azure-mgmt-compute's own tests.

DefaultAzureCredential reports each kind of credential that it tried, most of them as absent;
only those that exist and failed are useful (azure-identity 1.27, ChainedTokenCredential).
"""

from __future__ import annotations

import contextlib
import re
import ssl
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from diskbench.errors import (
    AccessDenied,
    Busy,
    DiskbenchError,
    HostUnavailable,
    InvalidValue,
    NoCapacity,
    QuotaExceeded,
    RentalFailed,
    Throttled,
    Unanswered,
)
from diskbench.providers.error_table import CloudError, ErrorRow, ErrorTable, error_of

if TYPE_CHECKING:
    from azure.core.exceptions import AzureError, HttpResponseError


_NO_CAPACITY = "Azure has no capacity for it: {told}"
_ELSEWHERE = "try another --zone, --region or --instance-type, or later"
_QUOTA = "the subscription's quota {quota} is used up: {told}"
_RAISE_QUOTA = (
    "raise it in the Azure portal: Subscriptions > Usage + quotas, in that region; or give back "
    "what is not needed (diskbench gc)"
)
_OF_QUOTA = r"^(?!.*(maximum number of data disks|disk size|extension|image ))"
"""All but the kinds of this code that are no quota: a quota is known by code and call, in any
language, and the others by their words."""
_QUOTA_NAME = (r"approved (?P<quota>[\w .-]*?[Cc]ores?) quota", r"'(?P<quota>[\w.-]+)'")
_LOG_IN = "log in: az login; or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET"
_DEMANDED = r"it demands the tag '(?P<tag>[^']+)'"
"""What `_message_of` adds of a policy's violation."""
NO_ROLE_HELPS = (
    "RequestDisallowedByPolicy", "RequestDisallowedByAzure", "ReadOnlyDisabledSubscription",
    "DisabledSubscription", "ExpiredSubscription",
)  # fmt: skip
"""What is refused whatever the caller's role permits."""
MISSING = ("ResourceNotFound", "ResourceGroupNotFound", "NotFound", "ParentResourceNotFound")


TABLE: ErrorTable = (
    ErrorRow(
        NoCapacity, _NO_CAPACITY, _ELSEWHERE,
        codes=(
            "AllocationFailed", "ZonalAllocationFailed",
            "Over[Cc]onstrained(Zonal)?AllocationRequest", "SkuNotAvailable",
            "NotAvailableForSubscription", "LocationNotAvailableForResourceType",
            "InsufficientCapacity",
        ),
    ),
    # One code for several kinds of error; the message decides (Virtual Machines, "Common error
    # messages").
    ErrorRow(
        NoCapacity, _NO_CAPACITY, _ELSEWHERE,
        codes=("OperationNotAllowed", "InvalidParameter"),
        said=r"requested (VM )?size .* (may )?not be available|VM size .* is not available",
    ),
    ErrorRow(
        Throttled, "Azure throttles this subscription's calls: {told} at {action}",
        "run less at a time in this subscription and region",
        codes=("OperationNotAllowed",), said="too many requests",
    ),
    ErrorRow(
        Busy, "Azure is busy at {action}: {told}",
        codes=("OperationNotAllowed",),
        said=r"in progress|is marked for deletion|is being|must first be created successfully",
    ),
    ErrorRow(
        QuotaExceeded, _QUOTA, _RAISE_QUOTA,
        codes=(".*(QuotaExceeded|LimitReached|LimitExceeded)",),
        found=_QUOTA_NAME, otherwise={"quota": "for this"},
    ),
    # Azure's answer to a new machine that exceeds a quota of cores (Azure Resource Manager,
    # "Resolve errors for resource quotas"); elsewhere the code means something else.
    ErrorRow(
        QuotaExceeded, _QUOTA, _RAISE_QUOTA,
        codes=("OperationNotAllowed",), said=_OF_QUOTA,
        action="Microsoft.Compute/virtualMachines/write",
        found=_QUOTA_NAME, otherwise={"quota": "for this"},
    ),
    # Before throttling: Azure also sends HTTP 429 for a resource that is being changed.
    ErrorRow(
        Busy, "Azure is busy at {action}: {told}",
        codes=(
            "AnotherOperationInProgress", "AttachDiskWhileBeingDetached", "Conflict",
            "ConflictingUserInput", "NicInUse", "NicReservedForAnotherVm", "OperationPreempted",
            "PreemptedByAnotherOperation", "ReferencedResourceNotProvisioned", "RetryableError.*",
            "CanceledAndSupersededDueToAnotherOperation", "DiskImageNotReady", "RequestConflict",
            "ResourceUpdateBlockedOnPlatformUpdate",
        ),
    ),
    ErrorRow(
        Throttled, "Azure throttles this subscription's calls: {told} at {action}",
        "run less at a time in this subscription and region",
        codes=(
            "TooManyRequests", "SubscriptionRequestsThrottled", "ResourceRequestsThrottled",
            "ResourceCollectionRequestsThrottled",
            "OperationNotAllowedOnVMImageAsVMsBeingProvisioned", "TooManyVMRedeploymentRequests",
        ),
        statuses=(429,),
    ),
    ErrorRow(
        AccessDenied, "Azure does not accept the credentials: {told}", _LOG_IN,
        codes=(
            "AuthenticationFailed", "InvalidAuthenticationToken", "ExpiredAuthenticationToken",
            "InvalidAuthenticationTokenTenant", "AuthenticationFailedInvalidHeader",
        ),
        statuses=(401,),
    ),
    ErrorRow(
        AccessDenied, "the subscription is not registered for {name}: {told}",
        "az provider register --namespace {name} --wait",
        codes=(
            "MissingSubscriptionRegistration", "SubscriptionNotRegistered",
            "MissingRegistrationForLocation", "NoRegisteredProviderFound",
            "InvalidSubscriptionRegistrationState",
        ),
        found=(r"namespace '?(?P<name>Microsoft\.[A-Za-z]+)'?",),
        otherwise={"name": "{namespace}"},
    ),
    ErrorRow(
        AccessDenied, "the image cannot be used by this subscription: {told}",
        "accept its terms (az vm image terms accept), or choose another --image",
        codes=(
            "VMMarketplaceInvalidInput", "MarketplacePurchaseEligibilityFailed",
            "ResourcePurchaseValidationFailed", "SubscriptionNotAuthorizedForImage",
        ),
    ),
    ErrorRow(
        RentalFailed, "the image's guest agent did not report the machine as ready: {told}",
        "choose another --image, or another --instance-type that it can boot",
        codes=("OSProvisioning(ClientError|InternalError|TimedOut)", "VMStartTimedOut"),
    ),
    ErrorRow(
        InvalidValue, "Azure does not take the key of --kms-key: {told}",
        "the disk encryption set must be in the region of the disks, and its identity must be "
        "allowed to wrap and unwrap with the key: az disk-encryption-set show --ids ID",
        codes=("KeyVault.*", "DiskEncryptionSet.*"),
    ),
    ErrorRow(
        InvalidValue, "Azure refuses {action}: {told}",
        "choose another --subnet, or one with free addresses",
        codes=("SubnetIsFull", "PrivateIPAddress.*", "SubnetsNotInSameVnet"),
    ),
    # "Planning for mandatory multifactor authentication" (aka.ms/mfaforazure): a policy's code.
    ErrorRow(
        AccessDenied, "Azure demands a second factor for it: {told}",
        "log in with one: az logout; az login; or use a service principal or managed identity",
        codes=("RequestDisallowedByPolicy", "RequestDisallowedByAzure"),
        said=r"mfaforazure|multi-?factor",
    ),
    ErrorRow(
        AccessDenied, "a policy of the subscription forbids it: {told}",
        "add --tag {tag}=VALUE; the person who set the policy knows the values",
        codes=("RequestDisallowedByPolicy",), said=r"\btags?\b",
        found=(_DEMANDED, r"tags\[(?P<tag>[^\]]+)\]"), otherwise={"tag": "KEY"},
    ),
    ErrorRow(
        AccessDenied, "a policy of the subscription forbids it: {told}",
        "ask the person who set the policy",
        codes=("RequestDisallowedByPolicy",),
    ),
    # Azure's own policy for subscriptions of students, trials and some new ones (azure-cli 32913).
    ErrorRow(
        AccessDenied, "Azure does not let this subscription use the region: {told}",
        "choose another --region: the portal lists them under Policy > Assignments > Allowed "
        "resource deployment regions",
        codes=("RequestDisallowedByAzure",),
    ),
    ErrorRow(
        AccessDenied, "the subscription is disabled: {told}",
        "reactivate it in the portal (Subscriptions > Overview: a bill, a spending limit, an ended "
        "trial), or use another --subscription; no role helps",
        codes=("(ReadOnlyDisabled|Disabled|Expired)Subscription",),
    ),
    ErrorRow(
        AccessDenied, "a lock forbids it: {told}", "az lock list, az lock delete",
        codes=("ScopeLocked",),
    ),
    ErrorRow(
        AccessDenied, "these Azure credentials are not allowed to do {named}: {told}",
        "allow {named}; docs/azure.md has the whole role",
        codes=(
            "AuthorizationFailed", "LinkedAuthorizationFailed", "DisallowedOperation", "Forbidden",
        ),
        statuses=(403,),
        found=(r"perform action '(?P<named>Microsoft\.[A-Za-z./]+)'",),
        otherwise={"named": "{action}"},
    ),
    ErrorRow(
        Throttled, "Azure failed at {action}: {told}", "look at azure.status.microsoft",
        statuses=range(500, 600),
    ),
    ErrorRow(
        RentalFailed, "Azure failed in the middle of {action}: {told}",
        "try again, or another --zone; look at azure.status.microsoft",
        codes=(
            ".*Internal(Operation|Execution|Server)?Error", "DiskPreparationError",
            "DiskProcessingError", "VMAgentStatusCommunicationError",
        ),
    ),
    ErrorRow(
        InvalidValue, "Azure refuses {action}: {told}", "correct the value that it names",
        codes=(*MISSING, "Invalid.*", ".*NotFound"), statuses=(400, 404),
    ),
    ErrorRow(RentalFailed, "Azure refuses {action}: {told}", "the reason is Azure's own"),
)  # fmt: skip
"""Errors by the service's code."""


_OF_DEPLOYMENT = frozenset({"InvalidTemplateDeployment", "DeploymentFailed"})
"""Codes of a deployment that stand around the refusal of one of its resources."""


def error_code(error: BaseException | None) -> str:
    """Azure's code of an error, diskbench's or the SDK's; "" where it has none."""
    while error is not None:
        code = getattr(_detail(error), "code", None)
        if code:
            return str(code)
        error = error.__cause__
    return ""


def _detail(error: BaseException) -> Any:  # noqa: ANN401 - the SDK's ODataV4Format
    """The error in Azure's answer; of a deployment that of the resource that was refused."""
    detail = getattr(error, "error", None)
    while detail is not None and detail.code in _OF_DEPLOYMENT and detail.details:
        detail = detail.details[0]
    return detail


def is_missing(error: BaseException) -> bool:
    """Whether Azure reports that the resource does not exist, or no longer exists."""
    return error_code(error) in MISSING


def translate(error: AzureError, action: str) -> DiskbenchError:
    """The diskbench error for an error of the SDK; `action` is the permission that the call
    needs (`Microsoft.Compute/virtualMachines/write`)."""
    from azure.core import exceptions as sdk

    if isinstance(error, sdk.ClientAuthenticationError):
        code = error_code(error)
        why = why_no_login(error.message or type(error).__name__)
        return AccessDenied(f"{why} ({code})" if code else why, advice=_LOG_IN)
    if isinstance(error, sdk.HttpResponseError):
        made = of_code(error_code(error), _message_of(error), action, status=error.status_code or 0)
        if isinstance(made, Unanswered) and (wait_s := retry_after_s(error) or made.retry_after_s):
            made.retry_after_s = wait_s
            made.message += f"; it asks to wait {wait_s:,.0f} s"
        return made
    if isinstance(error, sdk.ServiceRequestError) and _is_untrusted(error):
        return HostUnavailable(
            f"the certificate of the endpoint is not trusted: {_message_of(error)}",
            advice="name the authority that signed it in REQUESTS_CA_BUNDLE",
        )
    return Throttled(
        f"no answer to {action}: {_message_of(error)}",
        look_at="look at the network and --endpoint-url",
    )


def retry_after_s(error: HttpResponseError) -> float:
    """The seconds that Azure asks to wait in the answer's headers; 0 without one. Compute's
    throttling windows last 3 and 30 minutes (Azure Virtual Machines, "Troubleshoot throttling
    errors")."""
    from azure.core.pipeline.policies import RetryPolicy

    with contextlib.suppress(ValueError):
        answer: Any = SimpleNamespace(http_response=error.response)
        return RetryPolicy().get_retry_after(answer) or 0.0
    return 0.0


_ASKS_TO_WAIT = re.compile(r"retry after (?P<seconds>\d+) seconds", re.IGNORECASE)
"""Some waits are told in the message alone: 180 s for an interface that Azure keeps for a machine
that failed (NicReservedForAnotherVm)."""


def of_code(code: str, message: str, action: str, *, status: int = 0) -> DiskbenchError:
    """The diskbench error for an Azure code, from an answer or a failed operation."""
    more = {"namespace": action.partition("/")[0]}
    made = error_of(TABLE, CloudError((code,), message, action, status, more))
    if isinstance(made, Unanswered) and (asked := _ASKS_TO_WAIT.search(message)):
        made.retry_after_s = float(asked["seconds"])
    return made


def _message_of(error: AzureError | HttpResponseError) -> str:
    """Azure's message in one line, without the text that the SDK adds."""
    detail = _detail(error)
    text = getattr(detail, "message", None) or error.message or type(error).__name__
    tag = _demanded_tag(getattr(detail, "additional_info", None) or [])
    return " ".join(str(text).split()) + (f"; it demands the tag '{tag}'" if tag else "")


def _demanded_tag(additional: list[Any]) -> str | None:
    """The tag whose absence a policy refuses, which is in the violation's details alone (Azure
    Policy, "Determine causes of non-compliance": evaluatedExpressions, as `tags[NAME]`)."""
    for part in additional:
        told = (getattr(part, "info", None) or {}).get("evaluationDetails") or {}
        for expression in told.get("evaluatedExpressions") or []:
            path = str(expression.get("path") or expression.get("expression") or "")
            if match := re.fullmatch(r"tags\[['\"]?(.+?)['\"]?\]|tags\.(.+)", path):
                return match[1] or match[2]
    return None


def _is_untrusted(error: BaseException) -> bool:
    """Whether an endpoint's certificate is the reason for a failed connection, by the classes of
    the exceptions of the SDK and the libraries below it."""
    seen: set[int] = set()
    below: list[object] = [error]
    while below:
        cause = below.pop()
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        if isinstance(cause, BaseException) and id(cause) not in seen:
            seen.add(id(cause))
            inner = [getattr(cause, name, None) for name in ("inner_exception", "reason")]
            below += [*cause.args, cause.__cause__, cause.__context__, *inner]
    return False


_TRIED = re.compile(r"^\s+(?P<kind>\w+)Credential: (?P<said>.+)$", re.MULTILINE)
_ABSENT = re.compile(
    r"unavailable|not found|not be found|not installed|requires the|[Nn]o accounts|not fully config"
)


def why_no_login(text: str) -> str:
    """The SDK's message without the kinds of credentials that are absent."""
    tried = [(match["kind"], " ".join(match["said"].split())) for match in _TRIED.finditer(text)]
    failed = [f"{kind}: {why}" for kind, why in tried if not _ABSENT.search(why)]
    if tried and not failed:
        return f"no login to Azure was found (tried: {', '.join(kind for kind, _ in tried)})"
    why = "; ".join(failed) or " ".join(text.split())
    return f"Azure does not accept the credentials: {why}"
