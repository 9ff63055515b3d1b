"""AWS's errors, each as the kind of ours that tells what to do: of every code that it publishes and
a call can get, what the user sees, whether another zone or machine type is tried, and whether the
call is sent again (tests/golden)."""

import json
from pathlib import Path

import botocore.exceptions as sdk
import botocore.session
import pytest
from botocore.exceptions import ClientError
from tests.unit.providers.aws.rig import refusal

from diskbench.errors import DiskbenchError, InvalidValue, NoCapacity, Unanswered
from diskbench.providers.aws import attach, leases, provision
from diskbench.providers.aws.errors import error_code, is_missing, of_code, of_state, translate

RUN = "ec2:RunInstances"


def ours(error: Exception, **more: object) -> DiskbenchError:
    return translate(error, RUN, **more)  # type: ignore[arg-type]


def test_an_encoded_message_is_opened_where_that_is_allowed_and_a_deny_in_it_told():
    said = "You are not authorized. Encoded authorization failure message: AbC-123"
    opened = {"AbC-123": '{"allowed":false,"context":{"action":"ec2:CreateTags"}}'}
    error = ours(refusal("UnauthorizedOperation", said, 403), decode=opened.get)
    assert "not allowed to do ec2:CreateTags" in error.message
    assert "AbC-123" not in str(error)
    closed = ours(refusal("UnauthorizedOperation", said, 403), decode=lambda _: None)
    assert "not allowed to do ec2:RunInstances" in closed.message
    decoded = '{"explicitDeny": true, "matchedStatements": {"items": []}, "context": {}}'
    error = ours(refusal("UnauthorizedOperation", said, 403), decode=lambda _: decoded)
    assert error.message.startswith("a policy denies ec2:RunInstances: You are not authorized.")


def statement(*keys: str, effect: str = "DENY") -> dict[str, object]:
    items = [{"key": key, "values": {"items": [{"value": "true"}]}} for key in keys]
    return {"effect": effect, "conditions": {"items": items}}


@pytest.mark.parametrize(
    ("opened", "advice"),
    [
        ({"explicitDeny": True, "matchedStatements": {"items": [statement("aws:RequestTag/Team")]}},
         "--tag Team=VALUE"),
        ({"explicitDeny": True, "matchedStatements": {"items": [statement("ec2:Encrypted")]}},
         "--kms-key"),
        # Organizations do not always show their policies to the account.
        ({"explicitDeny": True, "matchedStatements": {"items": []}}, "--tag KEY=VALUE"),
        ({"explicitDeny": True}, "--tag KEY=VALUE"),
        ("no document", "--tag KEY=VALUE"),
        (None, "--tag KEY=VALUE"),
    ],
)  # fmt: skip
def test_what_a_policy_demands_is_read_out_of_the_decoded_message(opened, advice):
    """The tags that the request did carry stand in the message, too, as its context."""
    carried = statement("aws:RequestTag/diskbench-lease")["conditions"]
    context = {"context": {"action": "ec2:RunInstances", "conditions": carried}}
    text = json.dumps({**opened, **context}) if isinstance(opened, dict) else opened
    said = (
        "You are not authorized to perform this operation. User: x is not authorized to perform: "
        "ec2:RunInstances on resource: y with an explicit deny in a service control policy. "
        "Encoded authorization failure message: AbC-123"
    )
    error = ours(refusal("UnauthorizedOperation", said, 403), decode=lambda _: text)
    assert isinstance(error, InvalidValue)
    assert advice in error.advice
    assert "diskbench-lease" not in str(error)
    assert "a policy denies ec2:RunInstances" in error.message


def test_the_code_is_found_behind_our_error_and_a_fault_of_our_own_is_not_dressed_up():
    with pytest.raises(ZeroDivisionError):
        ours(ZeroDivisionError())
    cause: ClientError = refusal("InvalidVolume.NotFound")
    error = ours(cause)
    error.__cause__ = cause
    assert error_code(error) == "InvalidVolume.NotFound"
    assert is_missing(error)
    assert error_code(ValueError()) == ""
    said = "Your requested instance type (x) is not supported in your requested Availability Zone"
    for words in (said, "auf Deutsch"):  # its words do not count
        assert isinstance(ours(refusal("Unsupported", words)), NoCapacity)
    assert isinstance(of_code("Unsupported", said, "ec2:CreateVolume"), InvalidValue)


CODES = Path(__file__).with_name("ec2-error-codes.txt")
OTHERS = (
    "ssm:GetParameter", "servicequotas:GetServiceQuota", "sts:DecodeAuthorizationMessage",
    "pricing:GetProducts",
)  # fmt: skip
STATES = (
    "Server.InsufficientInstanceCapacity", "Server.InternalError", "Server.ScheduledStop",
    "Server.SpotInstanceShutdown", "Server.SpotInstanceTermination", "Client.InternalError",
    "Client.InvalidKMSKey.InvalidState", "Client.InstanceInitiatedShutdown",
    "Client.InstanceTerminated", "Client.InvalidSnapshot.NotFound", "Client.UserInitiatedHibernate",
    "Client.UserInitiatedShutdown", "Client.VolumeLimitExceeded", "",
)  # fmt: skip
"""StateReason of the EC2 API Reference (2026), and what live accounts reported."""

UNPUBLISHED = (
    "AuthFailure.ServiceLinkedRoleCreationNotPermitted", "SomethingNewLimitExceeded", "WhoKnows",
)  # fmt: skip
_DENIED = (
    "You are not authorized to perform this operation. User: arn:aws:iam::1:user/x is not "
    "authorized to perform: ec2:RunInstances on resource: arn:aws:ec2:r:1:instance/* with an "
    "explicit deny in a service control policy"
)
_NO_RIGHT = (
    "You are not authorized to perform this operation. User: arn:aws:iam::1:user/x is not "
    "authorized to perform: iam:PassRole on resource: arn:aws:iam::1:role/y"
)
_MARKETPLACE = (
    "In order to use this AWS Marketplace product you need to accept terms and subscribe. To "
    "do so please visit https://aws.amazon.com/marketplace/pp?sku=abc."
)
_FREE_PLAN = (
    "The specified instance type is not eligible for Free Tier. For a list of Free Tier instance "
    "types, run 'describe-instance-types' with the filter 'free-tier-eligible=true'."
)
TOLD = (
    ("UnauthorizedOperation", _NO_RIGHT),
    ("UnauthorizedOperation", _DENIED),
    ("UnauthorizedOperation", f"{_DENIED} (the policy depends on aws:RequestTag/Cost Center)"),
    ("UnauthorizedOperation", f"{_DENIED} (the policy depends on ec2:Encrypted)"),
    ("OptInRequired", _MARKETPLACE),
    ("InvalidParameterCombination", _FREE_PLAN),
)
"""Messages out of which something is read."""
RAISED = (
    sdk.NoCredentialsError(),
    sdk.PartialCredentialsError(provider="env", cred_var="aws_secret_access_key"),
    sdk.UnauthorizedSSOTokenError(), sdk.SSOTokenLoadError(error_msg="no token"),
    sdk.TokenRetrievalError(provider="sso", error_msg="expired"),
    sdk.CredentialRetrievalError(provider="process", error_msg="exit 1"),
    sdk.LoginRefreshRequired(), sdk.LoginTokenLoadError(error_msg="x"),
    sdk.LoginInsufficientPermissions(), sdk.MissingDependencyException(msg="crt"),
    sdk.NoRegionError(), sdk.ProfileNotFound(profile="work"),
    sdk.EndpointConnectionError(endpoint_url="http://x"),
    sdk.ReadTimeoutError(endpoint_url="http://x"), sdk.ParamValidationError(report="Size: x"),
)  # fmt: skip
"""What the SDK raises itself."""


def published() -> list[str]:
    lines = CODES.read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def again(code: str, error: DiskbenchError) -> str:
    """Whether the call is sent again, by the data that the steps decide by."""
    if isinstance(error, Unanswered):
        return "for 3 min"
    waits = {
        "launch: until listed": provision.NEW_THINGS,
        "delete: until free": leases.LATER,
        "detach: until free": attach.GOING,
        "attach: until listed": attach.NOT_YET,
    }
    return ", ".join(how for how, codes in waits.items() if code in codes) or "no"


def row(code: str, action: str, error: DiskbenchError) -> str:
    elsewhere = "next zone, next type" if isinstance(error, NoCapacity) else "no"
    return "\t".join(
        (code or "-", action, f"{type(error).__name__} {error.exit_code}", elsewhere,
         again(code, error), error.message, error.advice)
    )  # fmt: skip


def test_the_table_of_codes(golden):
    rows = ["code\tcall\tdiskbench's error, exit status\telsewhere\tagain\tmessage\tadvice"]
    rows += [row(code, RUN, of_code(code, "TEXT", RUN)) for code in sorted(published())]
    session = botocore.session.get_session()
    for action in OTHERS:
        service, _, operation = action.replace("servicequotas", "service-quotas").partition(":")
        shapes = session.get_service_model(service).operation_model(operation).error_shapes
        codes = {s.metadata.get("error", {}).get("code", s.name) for s in shapes}
        codes |= {"AccessDeniedException", "ExpiredTokenException", "ThrottlingException"}
        rows += [row(code, action, of_code(code, "TEXT", action)) for code in sorted(codes)]
    ended = {"InstanceId": "i-1", "State": {"Name": "terminated"}}
    for code in STATES:
        error = of_state({**ended, "StateReason": {"Code": code}}, "TEXT")
        rows.append(row(code, "state of an instance", error))
    for code in UNPUBLISHED:
        rows.append(row(code, RUN, ours(refusal(code, "TEXT"))))
        rows.append(row(f"{code} 500", RUN, ours(refusal(code, "TEXT", 500))))
    rows += [row(f"{code} told", RUN, of_code(code, text, RUN)) for code, text in TOLD]
    rows += [row(type(one).__name__, "the SDK", ours(one, profile="work")) for one in RAISED]
    golden.check("error-codes-aws.tsv", "\n".join(rows))


def test_the_message_of_a_state_decides_over_its_code():
    """As reported from live accounts for a key that may not be used."""
    why = "Client.InternalError: Client error on launch"
    reason = {"Code": "Server.InternalError", "Message": why}
    instance = {"InstanceId": "i-1", "State": {"Name": "terminated"}, "StateReason": reason}
    error = of_state(instance, "Client error on launch")
    assert not isinstance(error, NoCapacity)
    assert "UseTheKeyOfTheVolumes" in error.advice
    assert "somebody" not in str(error)


@pytest.mark.parametrize(
    ("why", "kind"),
    [
        ("with an explicit deny in a service control policy", "service control policy"),
        ("because no service control policy allows the ec2:RunInstances action", "service control"),
        ("with an explicit deny in a resource control policy", "resource control policy"),
        ("because no permissions boundary allows the action", "permissions boundary"),
    ],
)
def test_what_denies_beside_the_users_own_policies_is_named(why, kind):
    text = f"User: arn is not authorized to perform: ec2:RunInstances on resource: * {why}"
    error = of_code("UnauthorizedOperation", text, "ec2:RunInstances", status=403)
    assert f"a policy denies ec2:RunInstances (a {kind}" in error.message
    assert "not your own permissions" in error.message
    assert "to allow ec2:RunInstances" in error.advice
