"""AWS's errors, each as the kind of ours that tells what to do."""

import botocore.exceptions as sdk
import pytest
from botocore.exceptions import ClientError
from tests.unit.providers.aws.rig import refusal

from diskbench.errors import (
    AccessDenied,
    DiskbenchError,
    InvalidValue,
    NoCapacity,
    QuotaExceeded,
    RentalFailed,
    Throttled,
    UnknownName,
)
from diskbench.providers.aws.errors import error_code, is_missing, of_code, translate

RUN = "ec2:RunInstances"


def ours(error: Exception, **more: object) -> DiskbenchError:
    return translate(error, RUN, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "status", "kind", "told"),
    [
        ("InsufficientInstanceCapacity", 500, NoCapacity, "--zone"),
        ("InsufficientVolumeCapacity", 500, NoCapacity, "--zone"),
        ("SpotMaxPriceTooLow", 400, NoCapacity, "--zone"),
        ("VcpuLimitExceeded", 400, QuotaExceeded, "Running On-Demand instances (vCPUs)"),
        ("VolumeLimitExceeded", 400, QuotaExceeded, "Service Quotas > Amazon EBS"),
        ("MaxSpotInstanceCountExceeded", 400, QuotaExceeded, "Spot Instance Requests"),
        ("SecurityGroupLimitExceeded", 400, QuotaExceeded, "VPC security groups per Region"),
        ("SomethingNewLimitExceeded", 400, QuotaExceeded, "SomethingNew"),
        ("RequestLimitExceeded", 503, Throttled, "throttles"),
        ("Throttling", 400, Throttled, "throttles"),
        ("InternalError", 500, Throttled, "health.aws.amazon.com"),
        ("Unavailable", 503, Throttled, "health.aws.amazon.com"),
        ("WhoKnows", 500, Throttled, "health.aws.amazon.com"),
        ("UnauthorizedOperation", 403, AccessDenied, "not allowed to do ec2:RunInstances"),
        ("AccessDenied", 403, AccessDenied, "allow ec2:RunInstances"),
        ("OptInRequired", 401, AccessDenied, "aws.amazon.com/marketplace"),
        ("PendingVerification", 400, AccessDenied, "resolve this with AWS"),
        ("ExpiredToken", 400, AccessDenied, "aws sso login"),
        ("RequestExpired", 400, AccessDenied, "aws sso login"),
        ("AuthFailure", 401, AccessDenied, "aws configure"),
        ("InvalidClientTokenId", 403, AccessDenied, "aws configure"),
        ("InvalidAMIID.NotFound", 400, InvalidValue, "InvalidAMIID.NotFound"),
        ("InvalidParameterValue", 400, InvalidValue, "correct the value"),
        ("MissingParameter", 400, InvalidValue, "correct the value"),
        ("ParameterNotFound", 400, InvalidValue, "correct the value"),
        ("VolumeInUse", 400, RentalFailed, "VolumeInUse"),
    ],
)
def test_a_code_becomes_one_kind_of_error(
    code: str, status: int, kind: type[DiskbenchError], told: str
) -> None:
    error = ours(refusal(code, "the value x", status))
    assert type(error) is kind
    assert "the value x" in error.message
    assert told in str(error)


def test_a_type_that_a_zone_does_not_have_is_a_lack_of_capacity_there() -> None:
    said = "Your requested instance type (x) is not supported in your requested Availability Zone"
    assert isinstance(ours(refusal("Unsupported", said)), NoCapacity)
    assert isinstance(ours(refusal("Unsupported", "auf Deutsch")), NoCapacity), (
        "its words do not count"
    )
    elsewhere = of_code("Unsupported", said, "ec2:CreateVolume")
    assert isinstance(elsewhere, InvalidValue)


def test_the_missing_action_is_the_one_that_aws_names() -> None:
    said = (
        "You are not authorized to perform this operation. User: arn:aws:iam::1:user/x is not "
        "authorized to perform: iam:PassRole on resource: arn:aws:iam::1:role/y"
    )
    error = ours(refusal("UnauthorizedOperation", said, 403))
    assert error.advice.startswith("allow iam:PassRole")


def test_an_encoded_message_is_opened_where_that_is_allowed() -> None:
    said = "You are not authorized. Encoded authorization failure message: AbC-123"
    opened = {"AbC-123": '{"allowed":false,"context":{"action":"ec2:CreateTags"}}'}
    error = ours(refusal("UnauthorizedOperation", said, 403), decode=opened.get)
    assert "not allowed to do ec2:CreateTags" in error.message
    assert "AbC-123" not in str(error)
    closed = ours(refusal("UnauthorizedOperation", said, 403), decode=lambda _: None)
    assert "not allowed to do ec2:RunInstances" in closed.message


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (sdk.NoCredentialsError(), AccessDenied, "aws configure --profile work"),
        (
            sdk.PartialCredentialsError(provider="env", cred_var="aws_secret_access_key"),
            AccessDenied,
            "aws_secret_access_key",
        ),
        (
            sdk.UnauthorizedSSOTokenError(),
            AccessDenied,
            "log in: aws sso login --profile work",
        ),
        (
            sdk.SSOTokenLoadError(error_msg="no token"),
            AccessDenied,
            "log in: aws sso login --profile work",
        ),
        (
            sdk.TokenRetrievalError(provider="sso", error_msg="expired"),
            AccessDenied,
            "log in: aws sso login --profile work",
        ),
        (
            sdk.CredentialRetrievalError(provider="process", error_msg="exit 1"),
            AccessDenied,
            "exit 1",
        ),
        (sdk.NoRegionError(), InvalidValue, "--region"),
        (sdk.ProfileNotFound(profile="work"), UnknownName, "'work'"),
        (sdk.EndpointConnectionError(endpoint_url="http://x"), Throttled, "http://x"),
        (sdk.ReadTimeoutError(endpoint_url="http://x"), Throttled, "--endpoint-url"),
        (sdk.ParamValidationError(report="Size: x"), InvalidValue, "Size: x"),
    ],
)
def test_what_the_sdk_raises_itself_becomes_ours_too(
    error: Exception, kind: type[DiskbenchError], told: str
) -> None:
    translated = ours(error, profile="work")
    assert type(translated) is kind
    assert told in str(translated)


def test_a_fault_of_our_own_is_not_dressed_up() -> None:
    with pytest.raises(ZeroDivisionError):
        ours(ZeroDivisionError())


def test_the_code_is_found_behind_our_error() -> None:
    cause: ClientError = refusal("InvalidVolume.NotFound")
    error = ours(cause)
    error.__cause__ = cause
    assert error_code(error) == "InvalidVolume.NotFound"
    assert is_missing(error)
    assert error_code(ValueError()) == ""
