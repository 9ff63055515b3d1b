"""Translation of Google's errors to diskbench's: by the reason that the service gives
(errors.yaml)."""

import re
from typing import Any

from diskbench.errors import AccessDenied, DiskbenchError, RentalFailed, Throttled
from diskbench.providers.error_table import error_of, error_tables, refusals

LOG_IN = "log in: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS"
_BUSY = (
    "resourceInUseByAnotherResource", "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", "resourceNotReady",
    "RESOURCE_NOT_READY",
)  # fmt: skip

_CONSTRAINT = re.compile(r"[Cc]onstraint (?P<name>[A-Za-z]+(?:\.[A-Za-z0-9]+)+)")
_FULL_CONSTRAINT = re.compile(r"\b(?:c|customC)onstraints/(?P<name>[A-Za-z]+(?:\.[A-Za-z0-9]+)+)")
refused = refusals("diskbench.providers.gcp")
TABLE = error_tables("diskbench.providers.gcp")["service"]
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
    """The diskbench error for an error of requests or google-auth; `action` is the permission of
    the call (`compute.instances.insert`). An exception that reports a programming error is raised
    unchanged."""
    from google.auth.exceptions import GoogleAuthError, TransportError
    from requests.exceptions import HTTPError, RequestException

    if isinstance(error, HTTPError) and error.response is not None:
        reason, message = _told(error.response)
        return of_reason(reason, message, action, status=error.response.status_code)
    if isinstance(error, TransportError):
        return _no_answer("the login", str(error))
    if isinstance(error, GoogleAuthError):
        return AccessDenied(f"Google does not accept the credentials: {error}", advice=LOG_IN)
    if isinstance(error, RequestException | OSError):
        return _no_answer(action, str(error))
    if isinstance(error, ValueError):
        return _no_answer(action, f"it is not an answer of Google's: {error}")
    raise error


def _told(answer: Any) -> tuple[str, str]:  # noqa: ANN401 - a response of requests'
    """Reason and message of an answer that refuses."""
    try:
        told = answer.json()["error"]
    except (ValueError, LookupError, TypeError):
        told = None
    if not isinstance(told, dict):
        told = {"message": answer.text or "unknown error"}
    first = next((one for one in told.get("errors") or () if isinstance(one, dict)), {})
    called = f"{answer.request.method} {answer.request.url}: "
    message = first.get("message") or called + str(told.get("message", "unknown error"))
    return str(first.get("reason", "")), str(message)


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
    reasons = [str(e.get("message") or e.get("code") or "no reason given") for e in errors]
    message = "; ".join(reasons)
    causes = [of_reason(str(e.get("code", "")), message, action, status=status) for e in errors]
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
    error = error_of(TABLE, codes, message, action, status, {"told": text})
    error.__cause__ = Refusal(reason or ("notFound" if status == 404 else ""), message)
    return error


def _no_answer(action: str, why: str) -> Throttled:
    return Throttled(
        f"no answer to {action}: {why}", look_at="check the network and --endpoint-url"
    )
