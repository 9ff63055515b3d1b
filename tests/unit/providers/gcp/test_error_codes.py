"""Every error code that Compute Engine publishes and a call of ours can meet, and what comes of it.

Reasons of answers: Google, "Standard error responses" of its JSON APIs (global domain), with those
of Compute Engine's reference. Codes of operations: Compute Engine, "Troubleshoot resource errors",
and google.rpc.Code, which newer services use.
"""

from __future__ import annotations

import pytest
from tests.rigs.error_codes import table
from tests.rigs.golden import Golden

from diskbench.errors import InvalidValue
from diskbench.providers.gcp.errors import of_operation, of_reason

REASONS: dict[int, tuple[str, ...]] = {
    400: (
        "badRequest", "invalid", "invalidParameter", "invalidQuery", "invalidUsage", "keyExpired",
        "keyInvalid", "parseError", "required", "unknownApi", "resourceInUseByAnotherResource",
        "resourceNotReady", "operationInProgress",
    ),
    401: ("authError", "expired", "required"),
    403: (
        "accessNotConfigured", "concurrentLimitExceeded", "dailyLimitExceeded", "forbidden",
        "insufficientPermissions", "insufficientAuthorizedParty", "limitExceeded", "quotaExceeded",
        "rateLimitExceeded", "servingLimitExceeded", "userRateLimitExceeded", "userAccessBlocked",
        "variableTermLimitExceeded", "variableTermExpiredDailyExceeded",
    ),
    404: ("notFound",),
    409: ("alreadyExists", "conflict", "duplicate"),
    412: ("conditionNotMet", "preconditionFailed"),
    413: ("fieldSizeTooLarge", "uploadTooLarge"),
    429: ("rateLimitExceeded",),
    500: ("internalError",),
    501: ("notImplemented", "unsupportedProtocol"),
    502: ("badGateway",),
    503: ("backendError", "serviceUnavailable"),
    504: ("gatewayTimeout",),
}  # fmt: skip
CODES = (
    "ABORTED", "ALREADY_EXISTS", "CANCELLED", "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED",
    "CONDITION_NOT_MET", "DEADLINE_EXCEEDED", "FAILED_PRECONDITION", "INTERNAL", "INTERNAL_ERROR",
    "INVALID_ARGUMENT", "INVALID_FIELD_VALUE", "INVALID_USAGE", "IP_SPACE_EXHAUSTED",
    "IP_SPACE_EXHAUSTED_WITH_DETAILS", "LIMIT_EXCEEDED", "NOT_FOUND", "OPERATION_CANCELED_BY_USER",
    "OUT_OF_RANGE", "PERMISSIONS_ERROR", "PERMISSION_DENIED", "QUOTA_EXCEEDED",
    "RATE_LIMIT_EXCEEDED", "REGION_RESOURCE_POOL_EXHAUSTED", "RESOURCE_ALREADY_EXISTS",
    "RESOURCE_EXHAUSTED", "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", "RESOURCE_NOT_FOUND",
    "RESOURCE_NOT_READY", "RESOURCE_OPERATION_RATE_EXCEEDED", "RESOURCE_POOL_EXHAUSTED",
    "SERVICE_DISABLED", "STOCKOUT", "TIMEOUT", "UNAUTHENTICATED", "UNAVAILABLE", "UNKNOWN",
    "UNSUPPORTED_OPERATION", "VM_MIN_COUNT_NOT_REACHED", "ZONE_RESOURCE_POOL_EXHAUSTED",
    "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
)  # fmt: skip
CONSTRAINTS = ("compute.vmExternalIpAccess", "compute.requireOsLogin", "compute.requireShieldedVm",
               "gcp.resourceLocations")  # fmt: skip
BY_THE_REST = {
    "409 alreadyExists", "409 conflict", "409 duplicate", "501 notImplemented", "ALREADY_EXISTS",
    "CANCELLED", "OPERATION_CANCELED_BY_USER", "RESOURCE_ALREADY_EXISTS",
}  # fmt: skip
"""Codes of which nothing more can be said than Google's own words."""
ACTION = "compute.instances.insert"


def rows():
    for status, reasons in REASONS.items():
        for reason in reasons:
            yield f"{status} {reason}", of_reason(reason, "SAID", ACTION, status=status)
    for code in CODES:
        failed = {"error": {"errors": [{"code": code, "message": "SAID"}]}}
        error = of_operation(failed, ACTION)
        assert error is not None
        yield code, error
    for name in CONSTRAINTS:
        said = f"Constraint constraints/{name} violated for project 1."
        yield f"412 {name}", of_reason("conditionNotMet", said, ACTION, status=412)


def test_what_comes_of_each_published_code(request: pytest.FixtureRequest) -> None:
    golden: Golden = request.getfixturevalue("golden")
    golden.check("error-codes-gcp.txt", table(rows()))


def test_no_published_code_is_left_to_the_row_for_the_rest() -> None:
    left = {code for code, error in rows() if error.advice == "the reason is Google's own"}
    assert left == BY_THE_REST


def test_a_field_that_is_required_is_no_login_that_is_required() -> None:
    assert type(of_reason("required", "Required field", ACTION, status=400)) is InvalidValue
