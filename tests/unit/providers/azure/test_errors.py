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
    Busy,
    DiskbenchError,
    InvalidValue,
)
from diskbench.providers.azure.errors import error_code, is_missing, of_code, translate

MACHINE = "Microsoft.Compute/virtualMachines/write"


def untrusted() -> ServiceRequestError:
    """What azure-core raises: around requests' error, that around urllib3's, around ssl's."""
    cause = ssl.SSLCertVerificationError("self-signed certificate")
    pool = urllib3.HTTPSConnectionPool("127.0.0.1")
    below = urllib3.exceptions.MaxRetryError(pool, "/", urllib3.exceptions.SSLError(cause))
    error = requests.exceptions.SSLError(below)
    return ServiceRequestError(error, error=error)


NOBODY = """DefaultAzureCredential failed to retrieve a token from the included credentials.
Attempted credentials:
\tEnvironmentCredential: EnvironmentCredential authentication unavailable. Variables are missing.
Visit https://aka.ms/azsdk/python/identity/environmentcredential/troubleshoot to troubleshoot.
\tAzureCliCredential: Azure CLI not found on path
To mitigate this issue, please refer to the troubleshooting guidelines here."""
EXPIRED = NOBODY.replace("Azure CLI not found on path", "AADSTS700082: the token has expired")
RAISED: dict[str, Exception] = {
    "SDK: no answer": ServiceResponseError("connection reset"),
    "SDK: a service that only speaks of certificates": ServiceRequestError("no certificate today"),
    "SDK: a certificate that is not trusted": untrusted(),
    "SDK: a login that fails": ClientAuthenticationError("AADSTS7000222: expired"),
    "SDK: no login, of all that were tried": ClientAuthenticationError(NOBODY),
    "SDK: the one login of all that failed": ClientAuthenticationError(EXPIRED),
}
"""What the SDK raises by itself."""


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


ANSWERS: dict[int, tuple[str, ...]] = {
    400: (
        "BadRequest", "InvalidParameter", "InvalidRequestContent", "InvalidRequestFormat",
        "InvalidResourceReference", "InvalidResourceNamespace", "InvalidResourceType",
        "InvalidTemplate", "InvalidApiVersionParameter", "InvalidFilterInQueryString",
        "LinkedInvalidPropertyId", "LocationRequired", "LocationNotAvailableForResourceType",
        "MissingApiVersionParameter", "MismatchingResourceSegments", "NetcfgInvalidSubnet",
        "NicInUse", "NicReservedForAnotherVm",
        "NoRegisteredProviderFound", "PrivateIPAddressInReservedRange",
        "PrivateIPAddressNotInSubnet",
        "PublicIPAddressInUse", "PublicIPAddressCannotBeDeleted", "PublicIPCountLimitReached",
        "IPv4StandardSkuPublicIpCountLimitReached", "ReservedResourceName", "SecurityRuleConflict",
        "SecurityRuleInvalidPriority", "SubnetIsFull", "SubnetsNotInSameVnet", "TagsCountExceeded",
        "InUseSubnetCannotBeDeleted", "InUseNetworkSecurityGroupCannotBeDeleted",
        "KeyVaultAccessForbidden", "KeyVaultSecretDoesNotExist",
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
    "OperationNotAllowed: in another language": "auf Deutsch",
    "AuthorizationFailed: action":
        "The client 'x' with object id 'y' does not have authorization to perform action "
        "'Microsoft.Compute/disks/write' over scope '/subscriptions/0'",
    "RequestDisallowedByPolicy: a tag":
        "Resource 'x' was disallowed by policy. Reasons: 'Require a tag'; tags[CostCenter] exists",
    "RequestDisallowedByPolicy: a second factor":
        "Resource 'x' was disallowed by policy. Users must use MFA: aka.ms/mfaforazure",
    "NicReservedForAnotherVm: wait":
        "Nic(s) in request is reserved for another Virtual Machine for 180 seconds. Please provide "
        "another nic(s) or retry after 180 seconds.",
    "MissingSubscriptionRegistration: namespace":
        "The subscription is not registered to use namespace 'Microsoft.DevTestLab'.",
}  # fmt: skip
BY_THE_REST = {
    "409 PropertyChangeNotAllowed",
    "409 ResourceGroupBeingDeleted", "OperationNotAllowed: disks",
    "OperationNotAllowed: of another call",
}  # fmt: skip
"""Codes of which nothing more can be said than Azure's own words."""


def rows() -> Iterator[tuple[str, DiskbenchError]]:
    for status, codes in ANSWERS.items():
        for code in codes:
            yield f"{status} {code}", of_code(code, "SAID", MACHINE, status=status)
    for code in OPERATIONS:
        yield code, of_code(code, "SAID", MACHINE)
    for name, said in WORDS.items():
        yield name, of_code(name.partition(":")[0], said, MACHINE, status=409)
    attached = of_code("OperationNotAllowed", "no", "Microsoft.Compute/disks/delete", status=409)
    yield "OperationNotAllowed: of another call", attached
    for status in (404, 429, 500):
        yield f"{status} without a code", of_code("", "SAID", MACHINE, status=status)
    for name, raised in RAISED.items():
        yield name, translate(raised, MACHINE)


def test_what_comes_of_each_published_code(golden: Golden) -> None:
    golden.check("error-codes-azure.txt", table(rows()))


def test_a_wait_that_only_the_message_names_is_kept() -> None:
    busy = of_code("NicReservedForAnotherVm", WORDS["NicReservedForAnotherVm: wait"], MACHINE)
    assert isinstance(busy, Busy)
    assert busy.retry_after_s == 180


def test_no_published_code_is_left_to_the_row_for_the_rest() -> None:
    left = {code for code, error in rows() if error.advice == "the reason is Azure's own"}
    assert left == BY_THE_REST
