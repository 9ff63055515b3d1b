"""The policy allows what the program calls and nothing more, and the page shows it."""

import json
import re
from pathlib import Path

import botocore.session
from botocore.loaders import create_loader
from tests.rigs.golden import PLACE

import diskbench.providers.aws as package
from diskbench.catalog.books import regions
from diskbench.providers.aws import doctor
from diskbench.providers.aws.leases import KINDS

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
