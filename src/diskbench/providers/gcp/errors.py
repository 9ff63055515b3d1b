"""Translation of Google's errors to diskbench's: by the reason that the service gives.

An answer to a call carries a reason (`notFound`, `quotaExceeded`) and an HTTP status, an operation
that failed a code (`QUOTA_EXCEEDED`). Sources: Google Cloud, "Troubleshooting resource availability
errors" and "API error codes" of Compute Engine, and the answers recorded in
kubernetes/cloud-provider-gcp and terraform-provider-google, as stored 2026.
"""

from __future__ import annotations

import re
from typing import Any

from diskbench.errors import (
    AccessDenied,
    DiskbenchError,
    InvalidValue,
    NoCapacity,
    QuotaExceeded,
    RentalFailed,
    Throttled,
)
from diskbench.providers.error_table import CloudError, ErrorRow, ErrorTable, error_of

_LOG_IN = "log in: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS"
_NOT_ACCEPTED = "Google does not accept the credentials: {told}"
_REFUSED = "Google refuses {action}: {told}"
_BUSY = (
    "resourceInUseByAnotherResource", "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", "resourceNotReady",
    "RESOURCE_NOT_READY",
)  # fmt: skip

CONSTRAINTS = {
    "compute.vmExternalIpAccess": "add --iap (IAP TCP forwarding), or --no-public-ip where the "
    "machine's private address is reached",
    "compute.requireOsLogin": "diskbench does not use OS Login, because a machine accepts only the "
    "lease's own key: rent in a project that is exempt",
    "compute.requireShieldedVm": "choose an --image that is UEFI_COMPATIBLE, as ubuntu is",
    "gcp.restrictNonCmekServices": "add --kms-key "
    "projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY",
}
"""Constraint of an organisation → what to do. Compute Engine names it in the message alone."""
_CONSTRAINT = re.compile(r"[Cc]onstraint (?P<name>[A-Za-z]+(?:\.[A-Za-z0-9]+)+)")
_FULL_CONSTRAINT = re.compile(r"\b(?:c|customC)onstraints/(?P<name>[A-Za-z]+(?:\.[A-Za-z0-9]+)+)")
_OF_CONSTRAINT = "the organisation's constraint {constraint} forbids it: {told}"
_LABEL = r"[a-z][a-z0-9_-]*"

TABLE: ErrorTable = (
    ErrorRow(
        NoCapacity, "Google Cloud has no capacity for it: {told}",
        "try another --zone, --region or --instance-type, or later",
        codes=(
            "(ZONE_|REGION_)?RESOURCE_POOL_EXHAUSTED(_WITH_DETAILS)?", "STOCKOUT",
            "(VM|DISK|RESOURCE)_MIN_COUNT_NOT_REACHED", "resourcePoolExhausted",
        ),
    ),
    ErrorRow(
        Throttled, "Google throttles this project's calls: {told} at {action}",
        "run less at a time in this project",
        codes=(
            "rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED",
            "servingLimitExceeded", "concurrentLimitExceeded",
            "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED", "RESOURCE_EXHAUSTED", "operationInProgress",
            "RESOURCE_OPERATION_RATE_EXCEEDED",
        ),
        statuses=(429,),
    ),
    ErrorRow(
        QuotaExceeded, "the project's quota{quota} is used up: {told}",
        "raise it in the console: IAM & Admin > Quotas; or give back what is not needed "
        "(diskbench gc)",
        codes=(
            ".*(quotaExceeded|QUOTA_EXCEEDED|[lL]imitExceeded|LIMIT_EXCEEDED|QUOTA_LIMIT).*",
            "variableTermExpiredDailyExceeded",
        ),
        found=(r"[Qq]uota(?P<quota> '[A-Z0-9_a-z-]+') exceeded",), otherwise={"quota": ""},
    ),
    ErrorRow(
        AccessDenied, "the project has no billing account that pays: {told}",
        "gcloud billing projects link PROJECT --billing-account ACCOUNT",
        said=r"billing to be enabled|billing (is |has been )?disabled|billing account .*"
        r"(disabled|closed|not found)",
    ),
    ErrorRow(
        AccessDenied, "the key of --kms-key cannot be used: {told}",
        "let Compute Engine use it: gcloud kms keys add-iam-policy-binding {key} --member "
        "serviceAccount:service-PROJECT_NUMBER@compute-system.iam.gserviceaccount.com --role "
        "roles/cloudkms.cryptoKeyEncrypterDecrypter",
        said=r"Cloud KMS|cloudkms\.",
        found=(r"key '?(?P<key>projects/[^\s':]+?/cryptoKeys/[^\s':/]+)",),
        otherwise={"key": "KEY"},
    ),
    ErrorRow(
        AccessDenied, "the Compute Engine API is not enabled in the project: {told}",
        "gcloud services enable compute.googleapis.com",
        codes=("accessNotConfigured", "SERVICE_DISABLED", "unknownApi"),
    ),
    *(
        ErrorRow(
            AccessDenied, f"the organisation's constraint {name} forbids it: {{told}}", advice,
            codes=(f"constraint/{name}",),
        )
        for name, advice in CONSTRAINTS.items()
    ),
    ErrorRow(
        AccessDenied, _OF_CONSTRAINT, "add --tag {key}=VALUE",
        codes=("constraint/(?P<constraint>.*)",), said=r"\blabels?\b",
        found=(
            rf"[Ll]abels? ['\"`](?P<key>{_LABEL})['\"`]",
            rf"['\"`](?P<key>{_LABEL})['\"`] label",
            rf"labels(?:\.|\[['\"])(?P<key>{_LABEL})",
        ),
        otherwise={"key": "KEY"},
    ),
    ErrorRow(
        AccessDenied, _OF_CONSTRAINT, "ask the person who manages the organisation's policies",
        codes=("constraint/(?P<constraint>.*)",),
    ),
    ErrorRow(
        AccessDenied, _NOT_ACCEPTED, _LOG_IN,
        codes=(
            "authError", "required", "UNAUTHENTICATED", "expired", "keyExpired", "keyInvalid",
            "userAccessBlocked",
        ),
        statuses=(401,),
    ),
    ErrorRow(
        AccessDenied, "these Google credentials are not allowed to do {named}: {told}",
        "grant {named}; docs/gcp.md has all that is needed",
        codes=(
            "forbidden", "PERMISSION_DENIED", "PERMISSIONS_ERROR", "insufficientPermissions",
            "insufficientAuthorizedParty",
        ),
        statuses=(403,),
        found=(
            r"'(?P<named>[a-z]+\.[A-Za-z]+\.[A-Za-z]+)'",
            r"Required '(?P<named>[a-z.A-Za-z]+)' permission",
        ),
        otherwise={"named": "{action}"},
    ),
    ErrorRow(
        Throttled, "Google failed at {action}: {told}", "look at status.cloud.google.com",
        codes=(
            "backendError", "internalError", "INTERNAL_ERROR", "INTERNAL", "UNAVAILABLE",
            "serviceUnavailable", "SERVICE_UNAVAILABLE", "DEADLINE_EXCEEDED", "badGateway",
            "gatewayTimeout", "TIMEOUT", "ABORTED", "UNKNOWN",
        ),
        statuses=(500, *range(502, 600)),
    ),
    ErrorRow(RentalFailed, _REFUSED, "try again later", codes=_BUSY),
    ErrorRow(
        InvalidValue, _REFUSED, "correct the value that it names",
        codes=(
            "invalid.*", "badRequest", "notFound", "RESOURCE_NOT_FOUND", "NOT_FOUND",
            "fieldSizeTooLarge", "uploadTooLarge", "parseError", "INVALID_.*", "OUT_OF_RANGE",
            "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION", "unsupportedProtocol",
            "conditionNotMet", "CONDITION_NOT_MET", "preconditionFailed",
        ),
        statuses=(400, 404, 412, 413),
    ),
    ErrorRow(
        RentalFailed, "the subnet has no address left: {told}", "use another --subnet",
        codes=("IP_SPACE_EXHAUSTED(_WITH_DETAILS)?",),
    ),
    ErrorRow(RentalFailed, _REFUSED, "the reason is Google's own"),
)  # fmt: skip
"""Errors by the reason of an answer or the code of an operation."""


class Refusal(Exception):  # noqa: N818 - it is never raised
    """Google's answer: the cause of a diskbench error, which replaces it in messages."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def reason_of(error: BaseException | None) -> str:
    """Google's reason of a diskbench error; "" where it has none."""
    cause = error.__cause__ if error is not None else None
    return cause.reason if isinstance(cause, Refusal) else ""


def is_missing(error: BaseException) -> bool:
    """Whether Google reports that the resource does not exist, or no longer exists."""
    return reason_of(error) in {"notFound", "RESOURCE_NOT_FOUND"}


def exists_already(error: BaseException) -> bool:
    """Whether Google reports that a resource of that name exists."""
    return reason_of(error) in {"alreadyExists", "RESOURCE_ALREADY_EXISTS"}


def is_busy(error: BaseException) -> bool:
    """Whether another resource still uses this one, or it is being changed."""
    return reason_of(error) in _BUSY


_MAINTENANCE = re.compile(
    r"onHostMaintenance must be set to (?P<set>MIGRATE|TERMINATE)\b"
    r"|only supports on_host_maintenance = (?:OnHostMaintenance\.)?(?P<only>MIGRATE|TERMINATE)\b"
    r"|(?P<gpus>do not support live migration)",
    re.IGNORECASE,
)


def maintenance_needed(error: DiskbenchError) -> str | None:
    """The one value of `onHostMaintenance` that Google takes for the machine type; None where the
    refusal is about something else (GoogleCloudPlatform/cloud-image-tests issue 346)."""
    match = _MAINTENANCE.search(error.message)
    if match is None:
        return None
    return "TERMINATE" if match["gpus"] else (match["set"] or match["only"]).upper()


def translate(error: Exception, action: str) -> DiskbenchError:
    """The diskbench error for an error of the SDK; `action` is the permission of the call
    (`compute.instances.insert`). An exception that reports a programming error is returned
    unchanged."""
    from google.api_core.exceptions import GoogleAPICallError
    from google.auth.exceptions import GoogleAuthError
    from google.protobuf.json_format import ParseError
    from requests.exceptions import RequestException

    if isinstance(error, GoogleAPICallError):
        reason, message = _reason_and_message(error)
        return of_reason(reason, message, action, status=int(error.code or 0))
    if isinstance(error, GoogleAuthError):
        return _of_login(error)
    if isinstance(error, RequestException | OSError):
        return _no_answer(action, str(error))
    if isinstance(error, ParseError | ValueError):
        return _no_answer(action, f"it is not an answer of Google's: {error}")
    raise error


def _reason_and_message(error: Any) -> tuple[str, str]:  # noqa: ANN401 - the SDK's errors are untyped
    first: dict[str, Any] = next((e for e in error.errors or () if isinstance(e, dict)), {})
    return str(first.get("reason", "")), str(first.get("message") or error.message or error)


def of_operation(operation: dict[str, Any], action: str) -> DiskbenchError | None:
    """The diskbench error of a failed operation; None for a successful one. The first of its
    errors with a class of its own decides; the message contains all."""
    errors: list[dict[str, Any]] = operation.get("error", {}).get("errors", [])
    status = int(operation.get("httpErrorStatusCode") or 0)
    if not errors and status < 400:
        return None
    if not errors:
        message = str(operation.get("httpErrorMessage", "")) or "no reason given"
        return of_reason(message, message, action, status=status)
    messages = "; ".join(
        str(e.get("message") or e.get("code") or "no reason given") for e in errors
    )
    causes = [of_reason(str(e.get("code", "")), messages, action, status=status) for e in errors]
    return next((e for e in causes if type(e) is not RentalFailed), causes[0])


def of_reason(reason: str, message: str, action: str, *, status: int = 0) -> DiskbenchError:
    """The diskbench error for Google's reason, from an answer or an operation; its cause is
    Google's answer (`reason_of`)."""
    text = f"{message} ({reason})" if reason and reason not in message else message
    # Google gives `required` for a request without a field, and for one without a login.
    codes = ("invalid" if (reason, status) == ("required", 400) else reason,)
    constraint = _FULL_CONSTRAINT.search(message)
    if constraint is None and reason in {"conditionNotMet", "CONDITION_NOT_MET"}:
        constraint = _CONSTRAINT.search(message)
    if constraint is not None:
        codes = (f"constraint/{constraint['name']}",)
    error = error_of(TABLE, CloudError(codes, message, action, status, {"told": text}))
    error.__cause__ = Refusal(reason or ("notFound" if status == 404 else ""), message)
    return error


def _of_login(error: Exception) -> DiskbenchError:
    from google.auth.exceptions import TransportError

    if isinstance(error, TransportError):
        return _no_answer("the login", str(error))
    return AccessDenied(f"Google does not accept the credentials: {error}", advice=_LOG_IN)


def _no_answer(action: str, why: str) -> Throttled:
    return Throttled(
        f"no answer to {action}: {why}",
        look_at="look at the network and --endpoint-url",
    )
