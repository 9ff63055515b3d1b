"""What Azure says, as ours: by kind, with what to do next."""

import ssl

import pytest
import requests
import urllib3
from azure.core.exceptions import (
    ClientAuthenticationError,
    ServiceRequestError,
    ServiceResponseError,
)

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
from diskbench.providers.azure.errors import error_code, is_missing, of_code, translate
from diskbench.providers.waits import while_looking

ACTION = "Microsoft.Compute/virtualMachines/write"
CORES = (
    "Operation could not be completed as it results in exceeding approved standardDSv5Family "
    "Cores quota. Additional details - Location: westeurope, Current Limit: 10"
)
NOT_ALLOWED = (
    "The client 'x' with object id 'y' does not have authorization to perform action "
    "'Microsoft.Compute/disks/write' over scope '/subscriptions/0'"
)


@pytest.mark.parametrize(
    ("code", "said", "status", "kind", "words", "advice"),
    [
        ("ZonalAllocationFailed", "Allocation failed.", 0, NoCapacity, "no capacity", "--zone"),
        ("SkuNotAvailable", "not available", 409, NoCapacity, "no capacity", "--region"),
        ("OperationNotAllowed", CORES, 409, QuotaExceeded, "standardDSv5Family Cores", "quotas"),
        ("PublicIPCountLimitReached", "no more", 400, QuotaExceeded, "of that kind", "portal"),
        ("TooManyRequests", "slow down", 429, Throttled, "throttles", "resume"),
        ("", "slow down", 429, Throttled, "throttles", "resume"),
        ("ServerTimeout", "timed out", 503, Throttled, "failed at", "status.microsoft"),
        ("Conflict", "concurrent request", 409, Busy, "busy", "resume"),
        ("AnotherOperationInProgress", "in progress", 429, Busy, "busy", "resume"),
        ("ExpiredAuthenticationToken", "expired", 401, AccessDenied, "credentials", "az login"),
        ("AuthorizationFailed", NOT_ALLOWED, 403, AccessDenied, "Compute/disks/write", "azure.md"),
        ("RequestDisallowedByPolicy", "no", 403, AccessDenied, "policy", "ask"),
        ("ScopeLocked", "locked", 409, AccessDenied, "lock", "az lock"),
        (
            "MissingSubscriptionRegistration",
            "The subscription is not registered to use namespace 'Microsoft.DevTestLab'.",
            409, AccessDenied, "Microsoft.DevTestLab", "az provider register",
        ),
        ("InvalidParameter", "bad vmSize", 400, InvalidValue, "bad vmSize", "correct"),
        ("ResourceNotFound", "was not found", 404, InvalidValue, "was not found", "correct"),
        ("ResourceGroupBeingDeleted", "going", 409, RentalFailed, "going", "Azure's own"),
    ],
)  # fmt: skip
def test_each_kind_of_error_has_its_class_and_advice(
    code: str, said: str, status: int, kind: type, words: str, advice: str
) -> None:
    found = of_code(code, said, ACTION, status=status)
    assert type(found) is kind
    assert words in found.message
    assert advice in found.advice


def test_no_answer_is_repeated_and_names_the_call() -> None:
    found = translate(ServiceResponseError("connection reset"), ACTION)
    assert isinstance(found, Throttled)
    assert ACTION in found.message


def untrusted() -> ServiceRequestError:
    """What azure-core raises: around requests' error, that around urllib3's, around ssl's."""
    cause = ssl.SSLCertVerificationError("self-signed certificate")
    pool = urllib3.HTTPSConnectionPool("127.0.0.1")
    below = urllib3.exceptions.MaxRetryError(pool, "/", urllib3.exceptions.SSLError(cause))
    error = requests.exceptions.SSLError(below)
    return ServiceRequestError(error, error=error)


def test_a_service_that_only_speaks_of_certificates_is_not_untrusted() -> None:
    assert isinstance(translate(ServiceRequestError("no certificate today"), ACTION), Throttled)


def test_that_no_cores_are_left_is_told_by_code_and_call_not_by_words() -> None:
    assert type(of_code("OperationNotAllowed", "auf Deutsch", ACTION, status=409)) is QuotaExceeded
    attached = of_code("OperationNotAllowed", CORES, "Microsoft.Compute/disks/delete", status=409)
    assert type(attached) is RentalFailed


def test_a_certificate_that_is_not_trusted_is_the_users_to_name() -> None:
    found = translate(untrusted(), ACTION)
    assert isinstance(found, HostUnavailable)
    assert "REQUESTS_CA_BUNDLE" in found.advice


def test_a_login_that_fails_says_how_to() -> None:
    found = translate(ClientAuthenticationError("AADSTS7000222: expired"), ACTION)
    assert isinstance(found, AccessDenied)
    assert "AADSTS7000222" in found.message
    assert "az login" in found.advice


NOBODY = """DefaultAzureCredential failed to retrieve a token from the included credentials.
Attempted credentials:
\tEnvironmentCredential: EnvironmentCredential authentication unavailable. Variables are missing.
Visit https://aka.ms/azsdk/python/identity/environmentcredential/troubleshoot to troubleshoot.
\tAzureCliCredential: Azure CLI not found on path
To mitigate this issue, please refer to the troubleshooting guidelines here."""
EXPIRED = NOBODY.replace("Azure CLI not found on path", "AADSTS700082: the token has expired")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (NOBODY, "no login to Azure was found (tried: Environment, AzureCli)"),
        (
            EXPIRED,
            "Azure does not accept the credentials: AzureCli: AADSTS700082: the token has expired",
        ),
    ],
)
def test_of_all_logins_that_were_tried_only_the_one_that_failed_is_told(
    said: str, why: str
) -> None:
    found = translate(ClientAuthenticationError(said), ACTION)
    assert found.message == why


def test_a_code_is_found_behind_our_own_error() -> None:
    class ShownRuns:
        code, message = "ResourceNotFound", "gone"

    theirs = ServiceRequestError("x")
    theirs.error = ShownRuns()  # type: ignore[attr-defined]
    ours = InvalidValue("y")
    ours.__cause__ = theirs
    assert error_code(ours) == "ResourceNotFound"
    assert is_missing(ours)
    assert error_code(InvalidValue("y")) == ""


def test_while_nothing_is_rented_silence_is_the_users_environment() -> None:
    def look() -> None:
        with while_looking():
            raise Throttled("no answer", look_at="look at the network")

    with pytest.raises(HostUnavailable, match="no answer") as raised:
        look()
    assert isinstance(raised.value, DiskbenchError)
    assert raised.value.exit_code == 2
