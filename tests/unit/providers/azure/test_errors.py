"""Every error code that Azure publishes and a call of ours can meet, as ours: by kind, with what to
do next.

Resource Manager: "Troubleshoot common Azure deployment errors" (2018-07-16 and later). Compute:
"Azure virtual machine error messages" (2017-03-17), whose codes for unmanaged disks, key vaults,
extensions and moves no call of ours can meet; "Allocation failures"; "Troubleshoot throttling
errors"; Spot and Marketplace pages. Network: the codes of azure-rest-api-specs' examples and of
public reports of each. Without a status are those that an accepted operation ends with."""

import ssl
from types import SimpleNamespace

import requests
import urllib3
from azure.core import exceptions as sdk
from tests.rigs.error_codes import published, table

from diskbench.errors import Busy, InvalidValue
from diskbench.providers.azure.errors import error_code, is_missing, of_code, translate

MACHINE = "Microsoft.Compute/virtualMachines/write"
TABLE = "error-codes-azure.txt"


def untrusted():
    """What azure-core raises: around requests' error, that around urllib3's, around ssl's."""
    cause = ssl.SSLCertVerificationError("self-signed certificate")
    pool = urllib3.HTTPSConnectionPool("127.0.0.1")
    below = urllib3.exceptions.MaxRetryError(pool, "/", urllib3.exceptions.SSLError(cause))
    error = requests.exceptions.SSLError(below)
    return sdk.ServiceRequestError(error, error=error)


NOBODY = """DefaultAzureCredential failed to retrieve a token from the included credentials.
Attempted credentials:
\tEnvironmentCredential: EnvironmentCredential authentication unavailable. Variables are missing.
Visit https://aka.ms/azsdk/python/identity/environmentcredential/troubleshoot to troubleshoot.
\tAzureCliCredential: Azure CLI not found on path
To mitigate this issue, please refer to the troubleshooting guidelines here."""
EXPIRED = NOBODY.replace("Azure CLI not found on path", "AADSTS700082: the token has expired")
CERTIFICATES = sdk.ServiceRequestError("no certificate today")
RAISED: dict[str, Exception] = {
    "SDK: no answer": sdk.ServiceResponseError("connection reset"),
    "SDK: a service that only speaks of certificates": CERTIFICATES,
    "SDK: a certificate that is not trusted": untrusted(),
    "SDK: a login that fails": sdk.ClientAuthenticationError("AADSTS7000222: expired"),
    "SDK: no login, of all that were tried": sdk.ClientAuthenticationError(NOBODY),
    "SDK: the one login of all that failed": sdk.ClientAuthenticationError(EXPIRED),
}
"""What the SDK raises by itself."""


def test_a_code_is_found_behind_our_own_error_and_a_wait_that_only_the_message_names_kept():
    theirs = sdk.ServiceRequestError("x")
    theirs.error = SimpleNamespace(code="ResourceNotFound", message="gone")  # type: ignore[attr-defined]
    ours = InvalidValue("y")
    ours.__cause__ = theirs
    assert error_code(ours) == "ResourceNotFound"
    assert is_missing(ours)
    assert error_code(InvalidValue("y")) == ""
    busy = of_code("NicReservedForAnotherVm", WORDS["NicReservedForAnotherVm: wait"], MACHINE)
    assert isinstance(busy, Busy)
    assert busy.retry_after_s == 180


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


def rows():
    for name in published(TABLE):
        status, _, code = name.partition(" ")
        if name in RAISED:
            yield name, translate(RAISED[name], MACHINE)
        elif name == "OperationNotAllowed: of another call":
            yield name, of_code("OperationNotAllowed", "no", "Microsoft.Compute/disks/delete",
                                status=409)  # fmt: skip
        elif name in WORDS:
            yield name, of_code(name.partition(":")[0], WORDS[name], MACHINE, status=409)
        elif status.isdecimal():
            code = "" if code == "without a code" else code
            yield name, of_code(code, "SAID", MACHINE, status=int(status))
        else:
            yield name, of_code(name, "SAID", MACHINE)


def test_what_comes_of_each_published_code(golden):
    golden.check(TABLE, table(rows()))
    assert {*WORDS, *RAISED} <= set(published(TABLE))


def test_no_published_code_is_left_to_the_row_for_the_rest():
    left = {
        code
        for code, error in rows()
        if error.advice == "Azure gives no other reason; look at the portal's activity log"
    }
    assert left == BY_THE_REST
