"""Every code that AWS publishes and a call of diskbench can get: what the user sees, whether
another zone or machine type is tried, and whether the call is sent again. tests/golden has the
table."""

from __future__ import annotations

from pathlib import Path

import botocore.session
import pytest

from diskbench.errors import DiskbenchError, NoCapacity, Unanswered
from diskbench.providers.aws import attach, provision, teardown
from diskbench.providers.aws import attach as swap
from diskbench.providers.aws.errors import of_code, of_state

CODES = Path(__file__).with_name("ec2-error-codes.txt")
OTHERS = {
    "ssm:GetParameter": ("ssm", "GetParameter"),
    "servicequotas:GetServiceQuota": ("service-quotas", "GetServiceQuota"),
    "sts:DecodeAuthorizationMessage": ("sts", "DecodeAuthorizationMessage"),
    "pricing:GetProducts": ("pricing", "GetProducts"),
}
STATES = (
    "Server.InsufficientInstanceCapacity", "Server.InternalError", "Server.ScheduledStop",
    "Server.SpotInstanceShutdown", "Server.SpotInstanceTermination", "Client.InternalError",
    "Client.InvalidKMSKey.InvalidState", "Client.InstanceInitiatedShutdown",
    "Client.InstanceTerminated", "Client.InvalidSnapshot.NotFound", "Client.UserInitiatedHibernate",
    "Client.UserInitiatedShutdown", "Client.VolumeLimitExceeded", "",
)  # fmt: skip
"""StateReason of the EC2 API Reference (2026), and what live accounts reported."""


def published() -> list[str]:
    lines = CODES.read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def again(code: str, error: DiskbenchError) -> str:
    """Whether the call is sent again, by the data that the steps decide by."""
    if isinstance(error, Unanswered):
        return "for 3 min"
    waits = {
        "launch: until listed": provision.NEW_THINGS,
        "delete: until free": teardown.LATER,
        "detach: until free": swap.GOING,
        "attach: until listed": attach.NOT_YET,
    }
    said = [how for how, codes in waits.items() if code in codes]
    return ", ".join(said) or "no"


def row(code: str, action: str, error: DiskbenchError) -> str:
    elsewhere = "next zone, next type" if isinstance(error, NoCapacity) else "no"
    return "\t".join(
        (code or "-", action, f"{type(error).__name__} {error.exit_code}", elsewhere,
         again(code, error), error.message, error.advice)
    )  # fmt: skip


def test_the_table_of_codes(golden) -> None:
    rows = ["code\tcall\tdiskbench's error, exit status\telsewhere\tagain\tmessage\tadvice"]
    rows += [
        row(code, "ec2:RunInstances", of_code(code, "TEXT", "ec2:RunInstances"))
        for code in sorted(published())
    ]
    session = botocore.session.get_session()
    for action, (service, operation) in OTHERS.items():
        shapes = session.get_service_model(service).operation_model(operation).error_shapes
        codes = {s.metadata.get("error", {}).get("code", s.name) for s in shapes}
        common = {"AccessDeniedException", "ExpiredTokenException", "ThrottlingException"}
        rows += [
            row(code, action, of_code(code, "TEXT", action)) for code in sorted(codes | common)
        ]
    for code in STATES:
        instance = {
            "InstanceId": "i-1", "State": {"Name": "terminated"}, "StateReason": {"Code": code},
        }  # fmt: skip
        rows.append(row(code, "state of an instance", of_state(instance, "TEXT")))
    golden.check("error-codes-aws.tsv", "\n".join(rows))


@pytest.mark.parametrize(
    "code", ["VolumeTypeNotAvailableInZone", "UnfulfillableCapacity", "InsufficientAddressCapacity"]
)
def test_codes_of_capacity_send_a_run_to_the_next_zone(code: str) -> None:
    assert isinstance(of_code(code, "none left", "ec2:RunInstances"), NoCapacity)


def test_a_limit_of_one_call_is_no_quota_of_the_account() -> None:
    said = of_code("FilterLimitExceeded", "at most 200", "ec2:DescribeInstances")
    assert "Service Quotas" not in str(said)


def test_the_page_of_a_marketplace_product_is_named() -> None:
    said = of_code(
        "OptInRequired",
        "In order to use this AWS Marketplace product you need to accept terms and subscribe. To "
        "do so please visit https://aws.amazon.com/marketplace/pp?sku=abc.",
        "ec2:RunInstances",
    )
    assert "resolve this at https://aws.amazon.com/marketplace/pp?sku=abc:" in said.advice


def test_the_message_of_a_state_decides_over_its_code() -> None:
    """As reported from live accounts for a key that may not be used."""
    instance = {
        "InstanceId": "i-1",
        "State": {"Name": "terminated"},
        "StateReason": {
            "Code": "Server.InternalError",
            "Message": "Client.InternalError: Client error on launch",
        },
    }
    error = of_state(instance, "Client error on launch")
    assert not isinstance(error, NoCapacity)
    assert "UseTheKeyOfTheVolumes" in error.advice
    assert "somebody" not in str(error)
