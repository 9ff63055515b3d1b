"""Every error code that Azure publishes and a call of ours can meet, and what comes of it.

Resource Manager: "Troubleshoot common Azure deployment errors" (2018-07-16 and later). Compute:
"Azure virtual machine error messages" (2017-03-17), whose codes for unmanaged disks, key vaults,
extensions and moves no call of ours can meet; "Allocation failures"; "Troubleshoot throttling
errors"; Spot and Marketplace pages. Network: the codes of azure-rest-api-specs' examples and of
public reports of each. In OPERATIONS are those that an accepted operation ends with.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.rigs.error_codes import table
from tests.rigs.golden import Golden

from diskbench.errors import Busy, DiskbenchError, NoCapacity, QuotaExceeded, Throttled
from diskbench.providers.azure.errors import of_code

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
