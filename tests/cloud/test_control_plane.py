"""The emulated AWS refuses, repeats and delays as AWS documents it; all of it by plain boto3."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from emulators.aws.transitions import Pace
from tests.cloud.rented import (
    ZONE,
    Aws,
    attach,
    attachment_state,
    described,
    launch,
    refused,
    ubuntu,
    until,
    up,
    volume,
    volume_state,
)

pytestmark = pytest.mark.slow  # an emulated cloud answers over HTTP

OTHER_ZONE = "us-east-1b"


@pytest.fixture
def paced(aws: Aws) -> Iterator[Aws]:
    """Changes take many looks: a test sees what is between."""
    before, aws.cloud.pace = aws.cloud.pace, Pace(5, 5, 5, 5, 5)
    yield aws
    aws.cloud.pace = before


# Client tokens: "Ensuring idempotency in Amazon EC2 API requests".


def test_the_same_launch_twice_is_one_instance(aws: Aws) -> None:
    assert launch(aws, ClientToken="t") == launch(aws, ClientToken="t")
    assert launch(aws, ClientToken="u") != launch(aws, ClientToken="t")


def test_the_same_volume_twice_is_one_volume(aws: Aws) -> None:
    assert volume(aws, ClientToken="t") == volume(aws, ClientToken="t")
    assert len(aws.client().describe_volumes()["Volumes"]) == 1


@pytest.mark.parametrize(
    "other", [{"Size": 5}, {"VolumeType": "gp2"}, {"AvailabilityZone": OTHER_ZONE}]
)
def test_a_token_stands_for_one_request_only(aws: Aws, other: dict[str, object]) -> None:
    asked = {"Size": 4, "VolumeType": "gp3", "AvailabilityZone": ZONE, "ClientToken": "t"}
    aws.client().create_volume(**asked)
    with refused("IdempotentParameterMismatch"):
        aws.client().create_volume(**asked | other)


def test_a_token_of_a_launch_that_failed_is_not_used_up(aws: Aws) -> None:
    aws.faults.capacity()
    with refused("InsufficientInstanceCapacity", 500):
        launch(aws, ClientToken="t")
    assert launch(aws, ClientToken="t").startswith("i-")


# Volumes that are not sold: botocore's model and the EC2 User Guide.


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"VolumeType": "nope", "Size": 4}, "UnknownVolumeType"),
        ({"VolumeType": "gp2", "Size": 0}, "InvalidParameterValue"),
        ({"VolumeType": "gp2", "Size": 16_385}, "InvalidParameterValue"),
        ({"VolumeType": "standard", "Size": 1025}, "InvalidParameterValue"),
        ({"VolumeType": "st1", "Size": 124}, "InvalidParameterValue"),
        ({"VolumeType": "sc1", "Size": 124}, "InvalidParameterValue"),
        ({"VolumeType": "io1", "Size": 4}, "InvalidParameterCombination"),
        ({"VolumeType": "io1", "Size": 3, "Iops": 100}, "InvalidParameterValue"),
        ({"VolumeType": "io1", "Size": 4, "Iops": 201}, "InvalidParameterValue"),
        ({"VolumeType": "io1", "Size": 4000, "Iops": 64_001}, "InvalidParameterValue"),
        ({"VolumeType": "io1", "Size": 4, "Iops": 99}, "InvalidParameterValue"),
        ({"VolumeType": "io2", "Size": 4, "Iops": 4001}, "InvalidParameterValue"),
        ({"VolumeType": "gp2", "Size": 4, "Iops": 100}, "InvalidParameterCombination"),
        ({"VolumeType": "gp3", "Size": 4, "Iops": 2999}, "InvalidParameterValue"),
        ({"VolumeType": "gp3", "Size": 10, "Iops": 5001}, "InvalidParameterValue"),
        ({"VolumeType": "gp3", "Size": 4000, "Iops": 80_001}, "InvalidParameterValue"),
        ({"VolumeType": "gp3", "Size": 4, "Throughput": 124}, "InvalidParameterValue"),
        ({"VolumeType": "gp3", "Size": 4, "Throughput": 751}, "InvalidParameterValue"),
        ({"VolumeType": "gp2", "Size": 4, "Throughput": 125}, "InvalidParameterCombination"),
        ({"VolumeType": "gp2"}, "MissingParameter"),
        ({"VolumeType": "gp2", "Size": 4, "AvailabilityZone": "nope"}, "InvalidZone.NotFound"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_a_volume_that_is_not_sold_is_refused(
    aws: Aws, asked: dict[str, object], code: str
) -> None:
    with refused(code):
        aws.client().create_volume(**{"AvailabilityZone": ZONE} | asked)
    assert aws.client().describe_volumes()["Volumes"] == []


@pytest.mark.parametrize(
    ("asked", "iops", "throughput"),
    [
        ({"VolumeType": "gp2", "Size": 20}, 100, None),
        ({"VolumeType": "gp2", "Size": 256}, 768, None),
        ({"VolumeType": "gp2", "Size": 16_384}, 16_000, None),
        ({"VolumeType": "gp3", "Size": 1}, 3000, 125),
        ({"VolumeType": "gp3", "Size": 16, "Iops": 8000, "Throughput": 2000}, 8000, 2000),
        ({"VolumeType": "io1", "Size": 100, "Iops": 5000}, 5000, None),
        ({"VolumeType": "io2", "Size": 4, "Iops": 4000}, 4000, None),
        ({"VolumeType": "st1", "Size": 125}, None, None),
        ({"VolumeType": "standard", "Size": 1024}, None, None),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else str(value),
)
def test_a_volume_tells_its_iops_and_throughput(
    aws: Aws, asked: dict[str, object], iops: int | None, throughput: int | None
) -> None:
    made = aws.client().create_volume(AvailabilityZone=ZONE, **asked)
    assert (made.get("Iops"), made.get("Throughput")) == (iops, throughput)
    (found,) = aws.client().describe_volumes(VolumeIds=[made["VolumeId"]])["Volumes"]
    assert (found.get("Iops"), found.get("Throughput")) == (iops, throughput)


# Launches.


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"ImageId": "ami-0123456789abcdef0"}, "InvalidAMIID.NotFound"),
        ({"KeyName": "nobody"}, "InvalidKeyPair.NotFound"),
        ({"InstanceType": "m5.nope"}, "InvalidParameterValue"),
        ({"InstanceType": "m6g.large"}, "InvalidParameterValue"),  # of another architecture
        ({"Placement": {"AvailabilityZone": "us-east-1z"}}, "InvalidParameterValue"),
        (
            {"InstanceType": "m7i.large", "Placement": {"AvailabilityZone": "us-east-1e"}},
            "Unsupported",
        ),
        ({"UserData": "x" * 16_385}, "InvalidParameterValue"),
        (
            {
                "BlockDeviceMappings": [
                    {"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 4, "VolumeType": "io1"}}
                ]
            },
            "InvalidParameterCombination",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_a_launch_that_cannot_be_is_refused(aws: Aws, asked: dict[str, object], code: str) -> None:
    with refused(code):
        aws.client().run_instances(
            **{"ImageId": ubuntu(aws), "InstanceType": "m5.large", "MinCount": 1, "MaxCount": 1}
            | asked
        )
    assert aws.left() == []


def test_a_volume_comes_up_and_is_attached_step_by_step(paced: Aws) -> None:
    instance = launch(paced)
    up(paced, instance)
    made = paced.client().create_volume(AvailabilityZone=ZONE, VolumeType="gp3", Size=4)
    name = made["VolumeId"]
    assert made["State"] == volume_state(paced, name) == "creating"
    with refused("IncorrectState"):
        attach(paced, name, instance)
    until(lambda: volume_state(paced, name) == "available")
    assert (
        paced.client().attach_volume(VolumeId=name, InstanceId=instance, Device="/dev/sdf")["State"]
        == "attaching"
    )
    assert attachment_state(paced, name) == "attaching"
    until(lambda: attachment_state(paced, name) == "attached")
    rows = described(paced, instance)["BlockDeviceMappings"]
    assert {row["DeviceName"]: row["Ebs"]["Status"] for row in rows}["/dev/sdf"] == "attached"
    assert paced.client().detach_volume(VolumeId=name)["State"] == "detaching"
    assert attachment_state(paced, name) == "detaching"
    with refused("VolumeInUse"):
        paced.client().delete_volume(VolumeId=name)
    until(lambda: volume_state(paced, name) == "available")


# Attaching.


def test_a_volume_is_attached_once_in_its_zone_under_a_free_name(aws: Aws) -> None:
    instance, other = (launch(aws, Placement={"AvailabilityZone": ZONE}) for _ in range(2))
    up(aws, instance)
    up(aws, other)
    one, two = volume(aws), volume(aws)
    attach(aws, one, instance)
    for machine in (instance, other):
        with refused("VolumeInUse"):
            attach(aws, one, machine, "/dev/sdg")
    with refused("InvalidParameterValue"):
        attach(aws, two, instance, "/dev/sdf")
    with refused("InvalidParameterValue"):
        attach(aws, two, instance, "nonsense")
    with refused("InvalidVolume.ZoneMismatch"):
        attach(aws, volume(aws, zone=OTHER_ZONE), instance, "/dev/sdg")
    with refused("IncorrectState"):
        aws.client().detach_volume(VolumeId=two)
    with refused("InvalidAttachment.NotFound"):
        aws.client().detach_volume(VolumeId=one, InstanceId=other)
    with refused("VolumeInUse"):
        aws.client().delete_volume(VolumeId=one)


def test_nothing_is_attached_to_a_machine_that_does_not_run(aws: Aws) -> None:
    instance = launch(aws)
    with refused("IncorrectState"):
        attach(aws, volume(aws), instance)
