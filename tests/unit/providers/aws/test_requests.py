"""What EC2 is sent: each request is a file, and AWS's own model of the service accepts it."""

import json
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator
from tests.rigs.golden import PLACE, Golden

from diskbench.model.rental import Claim, DiskSpec
from diskbench.providers.aws import requests
from diskbench.providers.options import EmulationOptions

CLAIM = Claim(lease_id="01jlease", expires_at=1_800_000_000.7, owner="me@here", version="0.1.0")
LAUNCH = requests.AwsLaunch(
    image="ami-0123456789abcdef0",
    instance_type="c6in.large",
    subnet="subnet-0123456789abcdef0",
    group="sg-0123456789abcdef0",
    user_data="#cloud-config\n",
    root_device="/dev/xvda",
    root=requests.root_disk(DiskSpec(type="gp3", size_gib=8)),
    public=True,
    ebs_optimized=True,
)
EVERYTHING = requests.AwsLaunch(
    image="ami-0123456789abcdef0",
    instance_type="m7i.large",
    subnet="subnet-0123456789abcdef0",
    group="sg-0123456789abcdef0",
    user_data="#cloud-config\n",
    root_device="/dev/sda1",
    root=requests.root_disk(
        DiskSpec(type="gp3", size_gib=100, iops=4000, throughput_mib_per_s=250), "alias/mine"
    ),
    spot=True,
    placement="close-together",
    lab="noise=0.1 time_scale=60.0",
)
IO1 = DiskSpec(type="io1", size_gib=100, iops=5000)
GP3 = DiskSpec(type="gp3", size_gib=100, iops=4000, throughput_mib_per_s=250)
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "import_key_pair": ("ImportKeyPair", requests.import_key_pair(CLAIM, "ssh-ed25519 AAAA")),
    "create_security_group": (
        "CreateSecurityGroup", requests.create_security_group(CLAIM, "vpc-0123456789abcdef0"),
    ),
    "allow_ssh": (
        "AuthorizeSecurityGroupIngress", requests.allow_ssh(CLAIM, "sg-0123", "203.0.113.7/32"),
    ),
    "allow_ssh_ipv6": (
        "AuthorizeSecurityGroupIngress", requests.allow_ssh(CLAIM, "sg-0123", "2001:db8::7/128"),
    ),
    "run_instances": ("RunInstances", requests.run_instances(CLAIM, LAUNCH)),
    "run_instances_everything": ("RunInstances", requests.run_instances(CLAIM, EVERYTHING, 2)),
    "create_volume_gp2": (
        "CreateVolume",
        requests.create_volume(CLAIM, DiskSpec(type="gp2", size_gib=20), "us-east-1a", 0),
    ),
    "create_volume_io1": ("CreateVolume", requests.create_volume(CLAIM, IO1, "us-east-1a", 1)),
    "create_volume_gp3": ("CreateVolume", requests.create_volume(CLAIM, GP3, "us-east-1a", 2)),
    "create_volume_encrypted": (
        "CreateVolume",
        requests.create_volume(
            CLAIM.model_copy(update={"tags": (("team", "db"),)}), GP3, "us-east-1a", 0,
            origin=requests.Origin(kms_key="alias/mine"),
        ),
    ),
    "attach_volume": ("AttachVolume", requests.attach_volume("vol-1", "i-1", "/dev/sdf")),
    "end_with_machine": (
        "ModifyInstanceAttribute", requests.end_with_machine("i-1", ["/dev/sdf", "/dev/sdg"]),
    ),
    "of_lease": ("DescribeVolumes", {"Filters": requests.of_lease("01jlease")}),
    "of_any_lease": ("DescribeInstances", {"Filters": requests.of_any_lease()}),
}  # fmt: skip
MODEL = botocore.session.get_session().get_service_model("ec2")


@pytest.mark.parametrize("name", CASES)
def test_a_request_is_what_its_file_says(name: str, golden: Golden) -> None:
    golden.check(
        f"requests/aws/{name}.json", json.dumps(CASES[name][1], indent=2, default=bytes.decode)
    )


def test_no_file_is_left_of_a_request_that_is_gone() -> None:
    assert {file.stem for file in (PLACE / "requests/aws").iterdir()} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_the_service_model_of_aws_accepts_a_request(name: str) -> None:
    operation, request = CASES[name]
    shape = MODEL.operation_model(operation).input_shape
    report = ParamValidator().validate(request, shape)
    assert not report.has_errors(), report.generate_report()


def test_tokens_are_the_same_for_the_same_and_others_for_anything_else() -> None:
    def of(zone: str = "us-east-1a", index: int = 0, lease: str = "01jlease") -> str:
        claim = CLAIM.model_copy(update={"lease_id": lease})
        made = requests.create_volume(claim, IO1, zone, index)
        return str(made["ClientToken"])

    assert of() == of()
    assert len({of(), of(zone="us-east-1b"), of(index=1), of(lease="01other")}) == 4
    machines = [requests.run_instances(CLAIM, LAUNCH, n)["ClientToken"] for n in (0, 0, 1)]
    assert machines[0] == machines[1] != machines[2]


def test_a_token_fits_what_ec2_takes() -> None:
    assert len(requests.token("01jlease", "machine-0", {})) <= 64


def test_user_data_does_not_show_when_a_launch_is_printed() -> None:
    assert "cloud-config" not in repr(LAUNCH)


def test_what_a_tag_cannot_hold_is_replaced() -> None:
    claim = CLAIM.model_copy(update={"owner": "Zoë <z@x>\n" + "y" * 300})
    tags = {tag["Key"]: tag["Value"] for tag in requests.tags(claim, "key")}
    assert tags["diskbench-owner"].startswith("Zoë _z@x__yyy")
    assert len(tags["diskbench-owner"]) == 256


def test_disks_are_attached_as_f_and_on() -> None:
    assert [requests.attach_name(i) for i in (0, 1, 20)] == ["/dev/sdf", "/dev/sdg", "/dev/sdz"]


def test_an_emulated_cloud_is_told_what_differs_from_the_default() -> None:
    assert EmulationOptions().tag() == ""
    assert EmulationOptions(time_scale=60, noise=0.1).tag() == "noise=0.1 time_scale=60.0"
