"""Azure's errors as ours, once, at the edge: by the code that the service gives, else by the SDK's.

Codes: "Common error codes" and "Allocation failures" of the Azure Resource Manager and Virtual
Machines documentation, and the exchanges recorded in azure-mgmt-compute's own tests.
"""

from __future__ import annotations

import re
import ssl
from typing import TYPE_CHECKING

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
)
from diskbench.providers.azure.login import why_no_login

if TYPE_CHECKING:
    from azure.core.exceptions import AzureError, HttpResponseError

_CAPACITY = frozenset(
    {
        "AllocationFailed", "ZonalAllocationFailed", "OverconstrainedAllocationRequest",
        "OverconstrainedZonalAllocationRequest", "SkuNotAvailable", "NotAvailableForSubscription",
        "LocationNotAvailableForResourceType", "InsufficientCapacity",
    }
)  # fmt: skip
_THROTTLED = frozenset(
    {
        "TooManyRequests", "SubscriptionRequestsThrottled", "ResourceRequestsThrottled",
        "ResourceCollectionRequestsThrottled", "OperationNotAllowedOnVMImageAsVMsBeingProvisioned",
    }
)  # fmt: skip
_BUSY = frozenset(
    {
        "AnotherOperationInProgress", "AttachDiskWhileBeingDetached", "Conflict",
        "ConflictingUserInput", "NicInUse", "OperationPreempted", "PreemptedByAnotherOperation",
        "ReferencedResourceNotProvisioned", "RetryableError",
    }
)  # fmt: skip
_QUOTA_ENDS = ("QuotaExceeded", "LimitReached", "LimitExceeded")
_NO_CORES = ("OperationNotAllowed", "Microsoft.Compute/virtualMachines/write")
"""What Azure answers to a new machine for which a quota has no cores left (Azure Resource Manager,
"Resolve errors for resource quotas"); the same code at other things means something else."""
_LOGIN = frozenset(
    {
        "AuthenticationFailed", "InvalidAuthenticationToken", "ExpiredAuthenticationToken",
        "InvalidAuthenticationTokenTenant", "AuthenticationFailedInvalidHeader",
    }
)  # fmt: skip
_DENIED = frozenset(
    {
        "AuthorizationFailed", "LinkedAuthorizationFailed", "RequestDisallowedByPolicy",
        "ReadOnlyDisabledSubscription", "DisallowedOperation", "ScopeLocked", "Forbidden",
    }
)  # fmt: skip
_UNREGISTERED = frozenset({"MissingSubscriptionRegistration", "SubscriptionNotRegistered"})
_MISSING = frozenset(
    {"ResourceNotFound", "ResourceGroupNotFound", "NotFound", "ParentResourceNotFound"}
)
_ACTION = re.compile(r"perform action '(?P<action>Microsoft\.[A-Za-z./]+)'")
_FAMILY = re.compile(r"approved (?P<quota>[\w .-]*?[Cc]ores?) quota|'(?P<named>[\w.-]+)'")
_NAMESPACE = re.compile(r"namespace '?(?P<name>Microsoft\.[A-Za-z]+)'?")


def error_code(error: BaseException | None) -> str:
    """Azure's own code of an error, ours or the SDK's; "" where it has none."""
    while error is not None:
        found = getattr(getattr(error, "error", None), "code", None)
        if found:
            return str(found)
        error = error.__cause__
    return ""


def is_missing(error: BaseException) -> bool:
    """Whether Azure says that the thing does not exist, or not any more."""
    return error_code(error) in _MISSING


def translate(error: AzureError, action: str) -> DiskbenchError:
    """Our error for one of the SDK's; `action` is the name of the right that the call needs
    (`Microsoft.Compute/virtualMachines/write`)."""
    from azure.core import exceptions as sdk

    if isinstance(error, sdk.ClientAuthenticationError):
        code = error_code(error)
        why = why_no_login(error.message or type(error).__name__)
        return _not_logged_in(f"{why} ({code})" if code else why)
    if isinstance(error, sdk.HttpResponseError):
        return of_code(error_code(error), _said(error), action, status=error.status_code or 0)
    if isinstance(error, sdk.ServiceRequestError) and _is_untrusted(error):
        return HostUnavailable(
            f"the certificate of the endpoint is not trusted: {_said(error)}",
            advice="name the authority that signed it in REQUESTS_CA_BUNDLE",
        )
    return Throttled(
        f"no answer to {action}: {_said(error)}",
        look_at="look at the network and --endpoint-url",
    )


def of_code(code: str, said: str, action: str, *, status: int = 0) -> DiskbenchError:
    """Our error for a code that Azure gave, in an answer or as the end of an operation."""
    told = f"{said} ({code or status})"
    if code in _CAPACITY:
        return NoCapacity(
            f"Azure has no capacity for it: {told}",
            advice="try another --zone, --region or --instance-type, or later",
        )
    if _is_quota(code, action):
        return _quota(told, said)
    # Before throttling: Azure says that a thing is being changed with HTTP 429, too.
    if code in _BUSY:
        return Busy(f"Azure is busy at {action}: {told}")
    if code in _THROTTLED or status == 429:
        return Throttled(
            f"Azure throttles this subscription's calls: {told} at {action}",
            look_at="run less at a time in this subscription and region",
        )
    if code in _LOGIN or status == 401:
        return _not_logged_in(f"Azure does not accept the credentials: {told}")
    if code in _UNREGISTERED:
        found = _NAMESPACE.search(said)
        name = found["name"] if found else action.partition("/")[0]
        return AccessDenied(
            f"the subscription does not use {name} yet: {told}",
            advice=f"az provider register --namespace {name} --wait",
        )
    if code in _DENIED or status == 403:
        return _denied(code, said, told, action)
    if status >= 500:
        return Throttled(
            f"Azure failed at {action}: {told}",
            look_at="look at azure.status.microsoft",
        )
    if code in _MISSING or status in {400, 404} or code.startswith("Invalid"):
        return InvalidValue(
            f"Azure refuses {action}: {told}", advice="correct the value that it names"
        )
    return RentalFailed(f"Azure refuses {action}: {told}", advice="the reason is Azure's own")


def no_subscription() -> InvalidValue:
    """No subscription was given, and none stands in the environment."""
    return InvalidValue(
        "no Azure subscription: neither --subscription nor AZURE_SUBSCRIPTION_ID names one",
        advice="set AZURE_SUBSCRIPTION_ID (where there is the flag, --subscription does, too); "
        "az account show --query id says which you use",
        field="subscription",
    )


def no_region() -> InvalidValue:
    """No region was given, and none stands in the environment."""
    return InvalidValue(
        "no Azure region: neither --region nor AZURE_DEFAULTS_LOCATION names one",
        advice="add --region, such as --region westeurope",
        field="region",
    )


def _said(error: AzureError | HttpResponseError) -> str:
    """What Azure says, in one line: its own message without the SDK's frame around it."""
    detail = getattr(error, "error", None)
    text = getattr(detail, "message", None) or error.message or type(error).__name__
    return " ".join(str(text).split())


def _is_quota(code: str, action: str) -> bool:
    return code.endswith(_QUOTA_ENDS) or (code, action) == _NO_CORES


def _is_untrusted(error: BaseException) -> bool:
    """Whether the certificate of an endpoint is why the SDK did not get through to it: what the SDK
    and the libraries below it raised says so by its class."""
    seen: set[int] = set()
    below: list[object] = [error]
    while below:
        one = below.pop()
        if isinstance(one, ssl.SSLCertVerificationError):
            return True
        if isinstance(one, BaseException) and id(one) not in seen:
            seen.add(id(one))
            inner = [getattr(one, name, None) for name in ("inner_exception", "reason")]
            below += [*one.args, one.__cause__, one.__context__, *inner]
    return False


def _quota(told: str, said: str) -> QuotaExceeded:
    found = _FAMILY.search(said)
    named = (found["quota"] or found["named"]) if found else "of that kind"
    return QuotaExceeded(
        f"the subscription's quota {named!r} is used up: {told}",
        advice="raise it in the Azure portal: Subscriptions > Usage + quotas, in that region; "
        "or give back what is not needed (diskbench gc)",
    )


def _denied(code: str, said: str, told: str, action: str) -> AccessDenied:
    if code == "RequestDisallowedByPolicy":
        return AccessDenied(
            f"a policy of the subscription forbids it: {told}", advice="ask whoever set the policy"
        )
    if code == "ScopeLocked":
        return AccessDenied(f"a lock forbids it: {told}", advice="az lock list, az lock delete")
    found = _ACTION.search(said)
    named = found["action"] if found else action
    return AccessDenied(
        f"these Azure credentials may not do {named}: {told}",
        advice=f"allow {named}; docs/azure.md has the whole role",
    )


def _not_logged_in(why: str) -> AccessDenied:
    return AccessDenied(
        why,
        advice="log in: az login; or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
    )
