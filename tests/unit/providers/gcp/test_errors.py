"""Every error code that Compute Engine publishes and a call of ours can meet, as ours: of the right
kind, in its own words, with what to do next.

Reasons of answers: Google, "Standard error responses" of its JSON APIs (global domain), with those
of Compute Engine's reference. Codes of operations: Compute Engine, "Troubleshoot resource errors",
and google.rpc.Code, which newer services use."""

import json

import pytest
import requests as http
from google.auth import exceptions as login
from tests.rigs.error_codes import published, table

from diskbench.errors import InvalidValue, QuotaExceeded, Throttled
from diskbench.providers.gcp import errors
from diskbench.providers.gcp.errors import is_missing, of_operation, of_reason, translate

ACTION = "compute.instances.insert"
TABLE = "error-codes-gcp.txt"


def answered(status: int, body: str) -> http.HTTPError:
    answer = http.Response()
    answer.status_code, answer._content = status, body.encode()
    answer.request = http.Request("GET", "https://compute.invalid/v1").prepare()
    return http.HTTPError(response=answer)


def refused(status: int, reason: str, message: str = "no") -> http.HTTPError:
    told = [{"reason": reason, "message": message, "domain": "global"}]
    return answered(status, json.dumps({"error": {"message": message, "errors": told}}))


ORG = 'Operation denied by custom org policies: ["customConstraints/custom.'
RAISED: dict[str, Exception] = {
    "a permission": refused(403, "forbidden",
        "Required 'compute.instances.create' permission for 'projects/p'"),
    "a quota": refused(403, "quotaExceeded",
        "Quota 'SSD_TOTAL_GB' exceeded.  Limit: 500.0 in us-east1."),
    "no billing": refused(403, "forbidden",
        "This API method requires billing to be enabled. Please enable billing."),
    "billing that ended": refused(403, "BILLING_DISABLED", "Project 1 has billing disabled."),
    "a key": refused(
        400, "kmsPermissionDenied",
        "Cloud KMS error when using key projects/k/locations/r/keyRings/s/cryptoKeys/d: Permission "
        "'cloudkms.cryptoKeyVersions.useToEncrypt' denied",
    ),
    "a label": refused(412, "conditionNotMet", f"{ORG}tagged\": \"Set the label 'owner'.\"]"),
    "a label without a name": refused(412, "conditionNotMet", f'{ORG}tagged": "Labels!"]'),
    "a policy of another kind": refused(412, "conditionNotMet", f'{ORG}small": "Too large"]'),
    "429 without a reason": refused(429, "", "SAID"),
    "500 without a reason": refused(500, "", "SAID"),
    "login: expired": login.RefreshError("expired"),
    "login: no route": login.TransportError("no route"),
    "connection: reset": http.exceptions.ConnectionError("reset"),
    "connection: slow": http.exceptions.ReadTimeout("slow"),
    "socket: reset": ConnectionResetError("reset"),
}  # fmt: skip
"""What the SDK raises."""


def test_what_is_missing_there_already_or_busy_is_known_and_a_fault_of_ours_is_none():
    with pytest.raises(KeyError):
        translate(KeyError("x"), ACTION)
    assert is_missing(translate(refused(404, "notFound"), ACTION))
    assert is_missing(translate(refused(404, ""), ACTION))
    assert errors.exists_already(translate(refused(409, "alreadyExists"), ACTION))
    assert errors.is_busy(translate(refused(400, "resourceInUseByAnotherResource"), ACTION))
    assert not is_missing(InvalidValue("no"))


def test_of_several_errors_all_are_told_and_the_one_with_a_class_counts():
    told = [{"code": "ODD", "message": "first"}, {"code": "QUOTA_EXCEEDED", "message": "second"}]
    error = of_operation({"error": {"errors": told}}, ACTION)
    assert isinstance(error, QuotaExceeded)
    assert "first; second" in error.message
    # One that failed without a word is judged by its status.
    operation = {"httpErrorStatusCode": 503, "httpErrorMessage": "SERVICE UNAVAILABLE"}
    assert isinstance(of_operation(operation, ACTION), Throttled)
    assert of_operation({"status": "DONE"}, ACTION) is None


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('{"error": {"message": "odd"}}', "odd"),
        ('{"error": {"errors": [1]}}', "unknown error"),
        ('{"error": "odd"}', '{"error": "odd"}'),
        ("[]", "[]"),
        ("<html>", "<html>"),
        ("", "unknown error"),
    ],
)
def test_a_refusal_that_is_not_in_googles_form_is_told_with_what_was_asked(body, told) -> None:
    error = translate(answered(400, body), ACTION)
    assert f"GET https://compute.invalid/v1: {told}" in error.message


BY_THE_REST = {
    "409 alreadyExists", "409 conflict", "409 duplicate", "501 notImplemented", "ALREADY_EXISTS",
    "CANCELLED", "OPERATION_CANCELED_BY_USER", "RESOURCE_ALREADY_EXISTS",
}  # fmt: skip
"""Codes of which nothing more can be said than Google's own words."""


def rows():
    for name in published(TABLE):
        status, _, reason = name.partition(" ")
        if name in RAISED:
            yield name, translate(RAISED[name], ACTION)
        elif "." in reason:
            said = f"Constraint constraints/{reason} violated for project 1."
            yield name, of_reason("conditionNotMet", said, ACTION, status=412)
        elif status.isdecimal():
            yield name, of_reason(reason, "SAID", ACTION, status=int(status))
        else:
            failed = {"error": {"errors": [{"code": name, "message": "SAID"}]}}
            yield name, of_operation(failed, ACTION)


def test_what_comes_of_each_published_code_and_of_what_the_sdk_raises(golden):
    golden.check(TABLE, table(rows()))
    assert set(RAISED) <= set(published(TABLE))
    left = {
        code
        for code, error in rows()
        if error.advice == "Google gives no other reason; look at the console's logs"
    }
    assert left == BY_THE_REST
