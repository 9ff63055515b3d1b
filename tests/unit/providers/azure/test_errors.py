"""What Azure says, as ours: by kind, with what to do next.

Every error code that Azure publishes and a call of ours can meet, and what comes of it.

Resource Manager: "Troubleshoot common Azure deployment errors" (2018-07-16 and later). Compute:
"Azure virtual machine error messages" (2017-03-17), whose codes for unmanaged disks, key vaults,
extensions and moves no call of ours can meet; "Allocation failures"; "Troubleshoot throttling
errors"; Spot and Marketplace pages. Network: the codes of azure-rest-api-specs' examples and of
public reports of each. In OPERATIONS are those that an accepted operation ends with.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest
import requests
import urllib3
from azure.core.exceptions import (
    ClientAuthenticationError,
    ServiceRequestError,
    ServiceResponseError,
)
from tests.rigs.error_codes import table
from tests.rigs.golden import Golden

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


MACHINE = "Microsoft.Compute/virtualMachines/write"
ANSWERS: dict[int, tuple[str, ...]] = {
    400: (
        "BadRequest", "InvalidParameter", "InvalidRequestContent", "InvalidRequestFormat",
        "InvalidResourceReference", "InvalidResourceNamespace", "InvalidResourceType",
        "InvalidTemplate", "InvalidApiVersionParameter", "InvalidFilterInQueryString",
        "LinkedInvalidPropertyId", "LocationRequired", "LocationNotAvailableForResourceType",
        "MissingApiVersionParameter", "MismatchingResourceSegments", "NetcfgInvalidSubnet",
        "NicInUse",
        "NoRegisteredProviderFound", "PrivateIPAddressInReservedRange",
        "PrivateIPAddressNotInSubnet",
        "PublicIPAddressInUse", "PublicIPAddressCannotBeDeleted", "PublicIPCountLimitReached",
        "IPv4StandardSkuPublicIpCountLimitReached", "ReservedResourceName", "SecurityRuleConflict",
        "SecurityRuleInvalidPriority", "SubnetIsFull", "SubnetsNotInSameVnet", "TagsCountExceeded",
        "InUseSubnetCannotBeDeleted", "InUseNetworkSecurityGroupCannotBeDeleted",
        "VMMarketplaceInvalidInput", "MarketplacePurchaseEligibilityFailed",
        "ResourcePurchaseValidationFailed",
    ),
    401: (
        "AuthenticationFailed", "AuthenticationFailedInvalidHeader", "ExpiredAuthenticationToken",
        "InvalidAuthenticationToken", "InvalidAuthenticationTokenTenant",
    ),
    403: (
        "AuthorizationFailed", "DisallowedOperation", "Forbidden", "LinkedAuthorizationFailed",
        "ReadOnlyDisabledSubscription", "RequestDisallowedByAzure", "RequestDisallowedByPolicy",
        "SubscriptionNotAuthorizedForImage",
    ),
    404: (
        "ImageNotFound", "NotFound", "ParentResourceNotFound", "PlatformImageNotFound",
        "ResourceGroupNotFound", "ResourceNotFound", "SubscriptionNotFound",
    ),
    409: (
        "AttachDiskWhileBeingDetached", "Conflict", "ConflictingUserInput",
        "InvalidResourceGroupLocation", "InvalidSubscriptionRegistrationState",
        "MissingRegistrationForLocation", "MissingSubscriptionRegistration", "OperationNotAllowed",
        "PropertyChangeNotAllowed", "QuotaExceeded", "ReferencedResourceNotProvisioned",
        "RequestConflict", "ResourceGroupBeingDeleted", "ResourceGroupQuotaExceeded",
        "ResourceQuotaExceeded", "ScopeLocked", "SkuNotAvailable", "SubscriptionNotRegistered",
    ),
    429: (
        "AnotherOperationInProgress", "ResourceCollectionRequestsThrottled",
        "ResourceRequestsThrottled", "RetryableError", "RetryableErrorDueToAnotherOperation",
        "SubscriptionRequestsThrottled", "TooManyRequests", "TooManyVMRedeploymentRequests",
    ),
    500: ("InternalServerError", "InternalOperationError"),
    502: ("BadGateway",),
    503: ("ServerTimeout", "ServiceUnavailable"),
    504: ("GatewayTimeout",),
}  # fmt: skip
OPERATIONS = (
    "AllocationFailed", "CanceledAndSupersededDueToAnotherOperation", "DiskImageNotReady",
    "DiskPreparationError", "DiskProcessingError", "InternalExecutionError",
    "InternalOperationError",
    "NetworkingInternalOperationError", "NotAvailableForSubscription", "OperationPreempted",
    "OSProvisioningClientError", "OSProvisioningInternalError", "OSProvisioningTimedOut",
    "OverConstrainedAllocationRequest", "OverconstrainedAllocationRequest",
    "OverconstrainedZonalAllocationRequest", "PreemptedByAnotherOperation",
    "ResourceUpdateBlockedOnPlatformUpdate", "SkuNotAvailable", "VMAgentStatusCommunicationError",
    "VMStartTimedOut", "ZonalAllocationFailed",
)  # fmt: skip
WORDS = {
    "OperationNotAllowed: throttled":
        "The server rejected the request because too many requests have been received for this "
        "subscription.",
    "OperationNotAllowed: quota":
        "Operation could not be completed as it results in exceeding approved Total Regional Cores "
        "quota.",
    "OperationNotAllowed: size":
        "Unable to add or update the VM. The requested VM size Standard_D2s_v5 may not be "
        "available in the existing allocation unit.",
    "OperationNotAllowed: busy":
        "Operation 'write' is not allowed on VM 'vm' because another operation is in progress.",
    "OperationNotAllowed: going":
        "Operation 'write' is not allowed on VM 'vm' since the VM is marked for deletion.",
    "OperationNotAllowed: disks":
        "The maximum number of data disks allowed to be attached to a VM of this size is 4.",
}  # fmt: skip
BY_THE_REST = {
    "409 PropertyChangeNotAllowed",
    "409 ResourceGroupBeingDeleted", "OperationNotAllowed: disks",
}  # fmt: skip
"""Codes of which nothing more can be said than Azure's own words."""


def rows() -> Iterator[tuple[str, DiskbenchError]]:
    for status, codes in ANSWERS.items():
        for code in codes:
            yield f"{status} {code}", of_code(code, "SAID", MACHINE, status=status)
    for code in OPERATIONS:
        yield code, of_code(code, "SAID", MACHINE)
    for name, said in WORDS.items():
        yield name, of_code("OperationNotAllowed", said, MACHINE, status=409)


def test_what_comes_of_each_published_code(golden: Golden) -> None:
    golden.check("error-codes-azure.txt", table(rows()))


def test_no_published_code_is_left_to_the_row_for_the_rest() -> None:
    left = {code for code, error in rows() if error.advice == "the reason is Azure's own"}
    assert left == BY_THE_REST


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("quota", QuotaExceeded),
        ("throttled", Throttled),
        ("size", NoCapacity),
        ("busy", Busy),
        ("going", Busy),
    ],
)
def test_one_code_is_told_apart_by_its_words(name: str, kind: type[DiskbenchError]) -> None:
    said = WORDS[f"OperationNotAllowed: {name}"]
    assert type(of_code("OperationNotAllowed", said, MACHINE, status=409)) is kind
