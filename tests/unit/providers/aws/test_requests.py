"""What EC2 is sent: each request is a file, and AWS's own model of the service accepts it.
The policy allows what the program calls and nothing more, and the page shows it."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.loaders import create_loader
from botocore.validate import ParamValidator
from tests.rigs.golden import PLACE

import diskbench.providers.aws as package
from diskbench.catalog.books import regions
from diskbench.model.options import RentSpec
from diskbench.model.rental import Claim
from diskbench.providers.aws import disk_request as resolved
from diskbench.providers.aws import doctor, requests
from diskbench.providers.aws.client import AwsTiming
from diskbench.providers.aws.leases import KINDS
from diskbench.providers.aws.requests import AwsOrder
from diskbench.providers.keys import LeaseKeys
from diskbench.providers.options import EmulationOptions

CLAIM = Claim(lease_id="01jlease", expires_at=1_800_000_000.7, owner="me@here", version="0.1.0")
HERE = resolved.AwsZone(
    zone="us-east-1a", subnet="subnet-0123456789abcdef0", vpc="vpc-0123456789abcdef0"
)
GROUP = "sg-0123456789abcdef0"


@dataclass(frozen=True, kw_only=True)
class Plain(AwsOrder):
    """An order without the data for the first boot, which has keys."""

    @property
    def user_data(self) -> str:
        return "#cloud-config\n"


def order(kind: resolved.Kind = "volume", claim: Claim = CLAIM, **more: Any) -> AwsOrder:
    """The order of a disk (`type`, `size_gib` …); of `root`, a machine with every option."""
    root = kind == "root"
    asked = {name: more.pop(name) for name in resolved.AwsDiskRequest.model_fields if name in more}
    disk = resolved.AwsDiskRequest(kind=kind, **{"type": "gp3", "size_gib": 100, **asked})
    machine = resolved.AwsMachine(
        type="m7i.large" if root else "c6in.large", arch="x86_64", vcpus=2, memory_bytes=2**32,
        hypervisor="nitro", ebs_nvme=True, ebs=resolved.EbsFigures(),
        ebs_optimized="unsupported" if root else "default",
    )  # fmt: skip
    image = resolved.AwsImage(
        id="ami-0123456789abcdef0", name="", arch="x86_64", user="ubuntu", root_gib=8,
        root_device="/dev/sda1" if root else "/dev/xvda",
    )  # fmt: skip
    details = resolved.AwsResolved(
        account_id="123456789012", region="us-east-1", requested=disk, machine=machine,
        size_gib=disk.size_gib, image=image, places=(HERE,), ssh_cidr=None, emulated=root,
    )  # fmt: skip
    keys = LeaseKeys(
        user_private="", user_public="ssh-ed25519 AAAA", host_private="", host_public=""
    )  # type: ignore[arg-type]
    edge: Any = None
    return Plain(
        claim=claim, spec=RentSpec(**more), details=details, keys=keys, watch=edge,
        timing=AwsTiming(), ec2=edge,
    )  # fmt: skip


IO1 = {"type": "io1", "iops": 5000}
GP3 = {"type": "gp3", "iops": 4000, "throughput_mib_per_s": 250}
EVERYTHING = order(
    "root", **GP3, kms_key="alias/mine", spot=True, placement="close-together",
    lab=EmulationOptions(noise=0.1, time_scale=60),
)  # fmt: skip
TAGGED = CLAIM.model_copy(update={"tags": (("team", "db"),)})
ENCRYPTED = order(claim=TAGGED, **GP3, kms_key="alias/mine")
PUBLIC = HERE.model_copy(update={"public": True})
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "import_key_pair": ("ImportKeyPair", requests.import_key_pair(order())),
    "create_security_group":
        ("CreateSecurityGroup", requests.create_security_group(CLAIM, "vpc-0123456789abcdef0")),
    "allow_ssh":
        ("AuthorizeSecurityGroupIngress", requests.allow_ssh(CLAIM, "sg-0123", "203.0.113.7/32")),
    "allow_ssh_ipv6":
        ("AuthorizeSecurityGroupIngress", requests.allow_ssh(CLAIM, "sg-0123", "2001:db8::7/128")),
    "run_instances": ("RunInstances", requests.run_instances(order(), GROUP, PUBLIC)),
    "run_instances_everything":
        ("RunInstances", requests.run_instances(EVERYTHING, GROUP, HERE, 2)),
    "create_volume_gp2":
        ("CreateVolume", requests.create_volume(order(type="gp2", size_gib=20), HERE.zone, 0)),
    "create_volume_io1": ("CreateVolume", requests.create_volume(order(**IO1), HERE.zone, 1)),
    "create_volume_gp3": ("CreateVolume", requests.create_volume(order(**GP3), HERE.zone, 2)),
    "create_volume_encrypted": ("CreateVolume", requests.create_volume(ENCRYPTED, HERE.zone, 0)),
    "attach_volume": ("AttachVolume", requests.attach_volume("vol-1", "i-1", "/dev/sdf")),
    "end_with_machine":
        ("ModifyInstanceAttribute", requests.end_with_machine("i-1", ["/dev/sdf", "/dev/sdg"])),
    "of_lease": ("DescribeVolumes", requests.of_lease("01jlease")),
    "of_any_lease": ("DescribeInstances", requests.of_lease(None)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_request_is_what_its_file_says(name, golden):
    request = CASES[name][1]
    golden.check(f"requests/aws/{name}.json", json.dumps(request, indent=2, default=bytes.decode))
    assert {file.stem for file in (PLACE / "requests/aws").iterdir()} <= set(CASES), "one is left"


def test_the_service_model_of_aws_accepts_each_request():
    model, found = botocore.session.get_session().get_service_model("ec2"), {}
    for name, (operation, request) in CASES.items():
        shape = model.operation_model(operation).input_shape
        found[name] = ParamValidator().validate(request, shape).generate_report()
    assert found == dict.fromkeys(CASES, "")


def test_tokens_are_the_same_for_the_same_and_others_for_anything_else():
    def of(zone: str = "us-east-1a", index: int = 0, lease: str = "01jlease") -> str:
        claim = CLAIM.model_copy(update={"lease_id": lease})
        made = requests.create_volume(order(claim=claim, **IO1), zone, index)
        return str(made["ClientToken"])

    assert of() == of()
    assert len({of(), of(zone="us-east-1b"), of(index=1), of(lease="01other")}) == 4
    machines = [requests.run_instances(order(), GROUP, HERE, n)["ClientToken"] for n in (0, 0, 1)]
    assert machines[0] == machines[1] != machines[2]
    assert len(machines[0]) <= 64, "EC2 takes no more"


def test_what_a_tag_cannot_hold_is_replaced_and_an_emulated_cloud_told_what_is_no_default():
    claim = CLAIM.model_copy(update={"owner": "Zoë <z@x>\n" + "y" * 300})
    tags = {tag["Key"]: tag["Value"] for tag in requests.tags(claim, "key")}
    assert tags["diskbench-owner"].startswith("Zoë _z@x__yyy")
    assert len(tags["diskbench-owner"]) == 256
    assert [requests.attach_name(i) for i in (0, 1, 20)] == ["/dev/sdf", "/dev/sdg", "/dev/sdz"]
    assert EmulationOptions().tag() == ""
    assert EmulationOptions(time_scale=60, noise=0.1).tag() == "noise=0.1 time_scale=60.0"


PARTITION_DATA = create_loader().load_data("partitions")["partitions"]
ROOT = Path(__file__).parents[4]
SERVICES = {
    "cloudwatch": "cloudwatch", "ec2": "ec2", "iam": "iam", "kms": "kms", "pricing": "pricing",
    "service-quotas": "servicequotas", "ssm": "ssm", "sts": "sts",
}  # fmt: skip
"""The SDK's name of a service, and IAM's."""
BY_THE_WAY = {
    "ec2:CreateTags", *doctor.allowed("UseTheKeyOfTheVolumes"),
    *doctor.allowed("LetTheMachineUseTheKey"),
}  # fmt: skip
"""Needed by the calls that make something with tags, or encrypted with a key of the account."""
FREE = {"sts:GetCallerIdentity"}
"""Needs no permission (STS API Reference)."""


def called() -> set[str]:
    """Every operation that the adapter's code, or its table of kinds, names, as IAM calls it."""
    code = "\n".join(file.read_text() for file in Path(package.__path__[0]).glob("*.py"))
    code += "".join(f' "{kind.look}" "{kind.delete}"' for kind in KINDS.values())
    words = set(re.findall(r"\b[a-z]+(?:_[a-z0-9]+)+\b", code))
    session = botocore.session.get_session()
    found = set()
    for service, prefix in SERVICES.items():
        for operation in session.get_service_model(service).operation_names:
            word = re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower()
            if word in words and (f'"{word}"' in code or f".{word}(" in code):
                found.add(f"{prefix}:{operation}")
    return found


def statements() -> list[dict]:
    return json.loads(doctor.policy())["Statement"]


def allowed() -> set[str]:
    named = [statement["Action"] for statement in statements()]
    return {one for it in named for one in ([it] if isinstance(it, str) else it)}


def test_the_policy_allows_what_is_called_and_fits_into_a_managed_one_and_the_page_shows_it():
    """IAM User Guide, "IAM and AWS STS quotas": 6,144 characters without white space."""
    (text,) = re.findall(r"```json\n(.*?)\n```", (ROOT / "docs/aws.md").read_text(), re.DOTALL)
    assert text == doctor.policy()
    assert len(re.sub(r"\s", "", text)) < 6144
    assert (called() - FREE) | BY_THE_WAY == allowed() == doctor.actions()


def test_the_policy_is_of_the_partition_of_the_region():
    for region in regions("aws"):
        partition = next(one for one in PARTITION_DATA if re.fullmatch(one["regionRegex"], region))
        text = doctor.policy(region)
        assert set(re.findall(r"arn:([a-z-]+):", text)) == {partition["id"]}, region
        assert f'ec2.*.{partition["outputs"]["dnsSuffix"]}"' in text, region
    assert doctor.policy("eu-central-1") == doctor.policy(None)


def test_nothing_is_made_without_the_tag_nor_changed_that_lacks_it():
    for statement in statements():
        if statement["Sid"].startswith("Make"):
            assert statement["Condition"] == {"Null": {"aws:RequestTag/diskbench-lease": "false"}}
        if statement["Sid"].startswith("Change"):
            assert statement["Condition"] == {"Null": {"aws:ResourceTag/diskbench-lease": "false"}}
    words = "Attach|Authorize|Delete|Deregister|Detach|Disable|Enable|Modify|Release|Terminate"
    assert {one for one in allowed() if re.match(f"[^:]*:({words})", one)} == set(doctor.CHANGE)


def test_every_kind_that_is_made_is_tagged_in_the_call_that_makes_it():
    """RunInstances names the kinds in its request; what it made untagged would be refused."""
    request = json.loads((PLACE / "requests/aws/run_instances_everything.json").read_text())
    tagged = {one["ResourceType"] for one in request["TagSpecifications"]}
    (makes,) = (one for one in statements() if one["Sid"] == "MakeRunInstances")
    assert {f"arn:aws:ec2:*:*:{kind}/*" for kind in tagged} == set(makes["Resource"])
