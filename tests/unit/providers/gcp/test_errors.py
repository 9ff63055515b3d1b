"""Google's errors as ours: of the right kind, in its own words, with what to do next."""

import pytest
import requests as http
from google.api_core import exceptions as sdk
from google.auth import exceptions as login

from diskbench.errors import (
    AccessDenied,
    DiskbenchError,
    HostUnavailable,
    InvalidValue,
    NoCapacity,
    QuotaExceeded,
    RentalFailed,
    Throttled,
)
from diskbench.providers.gcp.errors import (
    exists_already,
    is_busy,
    is_missing,
    of_operation,
    translate,
)
from diskbench.providers.waits import while_looking

ACTION = "compute.instances.insert"


def refused(status: int, reason: str, message: str = "no") -> sdk.GoogleAPICallError:
    told = [{"reason": reason, "message": message, "domain": "global"}]
    return sdk.from_http_status(status, message, errors=told)


@pytest.mark.parametrize(
    ("status", "reason", "message", "kind", "says"),
    [
        (401, "authError", "Invalid Credentials", AccessDenied, "application-default login"),
        (
            403, "forbidden", "Required 'compute.instances.create' permission for 'projects/p'",
            AccessDenied, "compute.instances.create",
        ),
        (403, "accessNotConfigured", "API not used", AccessDenied, "gcloud services enable"),
        (403, "rateLimitExceeded", "Rate Limit Exceeded", Throttled, "less at a time"),
        (429, "", "slow down", Throttled, "less at a time"),
        (503, "backendError", "Backend error", Throttled, "status.cloud.google.com"),
        (500, "", "what", Throttled, "status.cloud.google.com"),
        (
            403, "quotaExceeded", "Quota 'SSD_TOTAL_GB' exceeded.  Limit: 500.0 in us-east1.",
            QuotaExceeded, "'SSD_TOTAL_GB'",
        ),
        (400, "invalid", "Invalid value for field 'resource.name'", InvalidValue, "resource.name"),
        (404, "notFound", "The resource 'x' was not found", InvalidValue, "'x'"),
        (400, "resourceInUseByAnotherResource", "used by 'y'", RentalFailed, "'y'"),
        (501, "notImplemented", "not here", RentalFailed, "not here"),
    ],
)  # fmt: skip
def test_an_answer_is_told_by_its_reason(
    status: int, reason: str, message: str, kind: type[DiskbenchError], says: str
) -> None:
    error = translate(refused(status, reason, message), ACTION)
    assert type(error) is kind
    assert says in f"{error.message} {error.advice}"
    assert error.advice


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (login.RefreshError("expired"), AccessDenied),
        (login.TransportError("no route"), Throttled),
        (http.exceptions.ConnectionError("reset"), Throttled),
        (http.exceptions.ReadTimeout("slow"), Throttled),
        (ConnectionResetError("reset"), Throttled),
    ],
)
def test_what_never_reached_google_is_told_too(error: Exception, kind: type[Exception]) -> None:
    assert type(translate(error, ACTION)) is kind


def test_a_fault_of_ours_is_no_error_of_googles() -> None:
    with pytest.raises(KeyError):
        translate(KeyError("x"), ACTION)


def test_what_is_missing_there_already_or_busy_is_known_by_googles_reason() -> None:
    assert is_missing(translate(refused(404, "notFound"), ACTION))
    assert is_missing(translate(refused(404, ""), ACTION))
    assert exists_already(translate(refused(409, "alreadyExists"), ACTION))
    assert is_busy(translate(refused(400, "resourceInUseByAnotherResource"), ACTION))
    assert not is_missing(InvalidValue("no"))


@pytest.mark.parametrize(
    "code", ["ZONE_RESOURCE_POOL_EXHAUSTED", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"]
)
def test_an_operation_that_found_no_capacity_says_so(code: str) -> None:
    operation = {"error": {"errors": [{"code": code, "message": "The zone is full."}]}}
    error = of_operation(operation, ACTION)
    assert isinstance(error, NoCapacity)
    assert "The zone is full." in error.message


def test_an_operation_over_quota_names_it() -> None:
    message = "Quota 'CPUS' exceeded.  Limit: 8.0 in region us-central1."
    operation = {"error": {"errors": [{"code": "QUOTA_EXCEEDED", "message": message}]}}
    error = of_operation(operation, ACTION)
    assert isinstance(error, QuotaExceeded)
    assert "'CPUS'" in error.message


def test_of_several_errors_all_are_told_and_the_one_with_a_class_counts() -> None:
    told = [{"code": "ODD", "message": "first"}, {"code": "QUOTA_EXCEEDED", "message": "second"}]
    error = of_operation({"error": {"errors": told}}, ACTION)
    assert isinstance(error, QuotaExceeded)
    assert "first; second" in error.message


def test_an_operation_that_failed_without_a_word_is_judged_by_its_status() -> None:
    operation = {"httpErrorStatusCode": 503, "httpErrorMessage": "SERVICE UNAVAILABLE"}
    assert isinstance(of_operation(operation, ACTION), Throttled)
    assert of_operation({"status": "DONE"}, ACTION) is None


def test_a_google_that_does_not_answer_is_the_users_environment_while_nothing_is_rented() -> None:
    with pytest.raises(HostUnavailable), while_looking():
        raise Throttled("no answer", look_at="look")
