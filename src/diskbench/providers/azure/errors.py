"""Translation of Azure's errors to diskbench's: by the service's error code (errors.yaml), else by
the SDK's class."""

from __future__ import annotations

import contextlib
import re
import ssl
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from diskbench.errors import AccessDenied, DiskbenchError, Throttled, Unanswered
from diskbench.providers.error_table import error_of, error_tables, refusals

if TYPE_CHECKING:
    from azure.core.exceptions import AzureError, HttpResponseError


_LOG_IN = "log in: az login; or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET"
NO_ROLE_HELPS = (
    "RequestDisallowedByPolicy", "RequestDisallowedByAzure", "ReadOnlyDisabledSubscription",
    "DisabledSubscription", "ExpiredSubscription",
)  # fmt: skip
"""What is refused whatever the caller's role permits."""
MISSING = ("ResourceNotFound", "ResourceGroupNotFound", "NotFound", "ParentResourceNotFound")
refused = refusals("diskbench.providers.azure")
TABLE = error_tables("diskbench.providers.azure")["service"]
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
        return refused("certificate not trusted", error=_message_of(error))
    return Throttled(
        f"no answer to {action}: {_message_of(error)}",
        look_at="check the network and --endpoint-url",
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
    made = error_of(TABLE, (code,), message, action, status, more)
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
    """The SDK's message without the kinds of credentials that are absent, which it reports as well
    (azure-identity 1.27, ChainedTokenCredential)."""
    tried = [(match["kind"], " ".join(match["said"].split())) for match in _TRIED.finditer(text)]
    failed = [f"{kind}: {why}" for kind, why in tried if not _ABSENT.search(why)]
    if tried and not failed:
        return f"no login to Azure was found (tried: {', '.join(kind for kind, _ in tried)})"
    why = "; ".join(failed) or " ".join(text.split())
    return f"Azure does not accept the credentials: {why}"
