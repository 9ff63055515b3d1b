"""An AWS account as companies and beginners have it: policies of the organisation, keys of their
own, the Free plan, no role for spot machines, regions that are not enabled."""

import json

import pytest
from emulators.aws.policies import MAKERS, UNENCRYPTED, demanding_tags
from tests.cloud.measured import a_renter, document, rents
from tests.cloud.rented import REGION
from tests.contract.rented import AwsCloud

from diskbench.catalog.books import opt_in_regions
from diskbench.errors import AccessDenied, DiskbenchError, InvalidValue, RentalFailed
from diskbench.providers.aws.doctor import policy
from diskbench.testing.rig import RigOnlooker, claim, resolved, scope_of

TAGS = (("team", "db"), ("Cost Center", "42"))
DEMANDED = json.dumps({
    "Statement": [
        statement
        for document in (demanding_tags("team", "Cost Center"), UNENCRYPTED)
        for statement in json.loads(document)["Statement"]
    ]
})  # fmt: skip


@pytest.fixture
def rig(aws, monkeypatch, tmp_path):
    yield AwsCloud(aws, monkeypatch, tmp_path)
    assert aws.left() == []


def new_key(aws, **more):
    return str(aws.client("kms").create_key(**more)["KeyMetadata"]["KeyId"])


def refused_as(rig, kind, **spec):
    """The error of a rental, which leaves nothing."""
    asked = rig.spec.model_copy(update=spec)
    with pytest.raises(kind) as failed:
        rented(rig, asked)
    rig.provider.release("one", scope_of(rig))
    return failed.value


def rented(rig, asked):
    rental = resolved(rig, asked)
    claimed = claim("one").model_copy(update={"tags": asked.tags})
    rig.provider.acquire(claimed, rental, RigOnlooker())
    return rental


def test_a_run_passes_where_all_must_be_tagged_and_encrypted(aws, tmp_path):
    user = a_renter(tmp_path, aws.env)
    aws.client("kms").create_alias(AliasName="alias/mine", TargetKeyId=new_key(aws))
    aws.cloud.organization = DEMANDED
    flags = "--disk gp3 --size 4 --tag team=db --tag 'Cost Center=42' --kms-key alias/mine"
    document(user, rents(user, "aws", aws, f"{flags} --snapshot-of-fill", seconds=1))
    for action, kinds in MAKERS.items():
        calls = aws.faults.calls(action)
        assert calls, action
        for call in calls:
            tagged = {one["ResourceType"]: one["Tags"] for one in call.params["TagSpecifications"]}
            assert set(tagged) == set(kinds) - {"spot-instances-request"}
            for tags in tagged.values():
                assert {(tag["Key"], tag["Value"]) for tag in tags} >= set(TAGS)
    volumes = aws.faults.calls("CreateVolume")
    assert len(volumes) == 2
    for volume in volumes:
        assert (volume.params["Encrypted"], volume.params["KmsKeyId"]) == (True, "alias/mine")
    (launch,) = aws.faults.calls("RunInstances")
    root = launch.params["BlockDeviceMappings"][0]["Ebs"]
    assert (root["Encrypted"], root["KmsKeyId"]) == (True, "alias/mine")
    assert aws.left() == []


@pytest.mark.parametrize(
    ("demanded", "may_read", "given", "advice"),
    [
        (demanding_tags("team"), True, {}, "add --tag team=VALUE"),
        (demanding_tags("team"), False, {}, "--tag KEY=VALUE"),
        (demanding_tags("team", "Cost Center"), True, {"tags": TAGS[:1]},
         "add --tag Cost Center=VALUE"),
        (UNENCRYPTED, True, {"tags": TAGS}, "add --kms-key KEY"),
    ],
)  # fmt: skip
def test_what_a_policy_of_the_organisation_demands_is_the_advice(
    rig, demanded, may_read, given, advice
):
    rig.aws.cloud.organization = demanded
    if not may_read:
        rig.aws.cloud.policy = policy().replace("sts:DecodeAuthorizationMessage", "sts:Nothing")
    error = refused_as(rig, InvalidValue, **given)
    assert advice in error.advice
    assert "a policy denies ec2:" in error.message


def test_doctor_tells_a_policy_of_the_organisation_from_rights_of_the_user(rig):
    rental = resolved(rig, rig.spec)
    no = {"Sid": "No", "Effect": "Deny", "Action": "ec2:RunInstances", "Resource": "*"}
    rig.aws.cloud.organization = json.dumps({"Version": "2012-10-17", "Statement": [no]})
    refused = [one for one in rig.provider.rehearse(rental) if one.state == "problem"]
    assert refused
    for one in refused:
        assert "ec2:RunInstances (a service control policy, not your own permissions)" in one.told
        assert "administers the AWS organisation" in one.advice
    found = rig.provider.examine(scope_of(rig))
    (told,) = [one for one in found if one.check == "permissions" and one.state == "problem"]
    assert "service control policy" in told.told
    rig.aws.cloud.organization = None
    rig.aws.cloud.policy = policy().replace('"ec2:RunInstances"', '"ec2:Nothing"')
    refused = [one for one in rig.provider.rehearse(rental) if one.state == "problem"]
    assert refused
    assert all("allow it: diskbench doctor --print-policy aws" in one.advice for one in refused)


def test_a_key_that_cannot_encrypt_is_refused_before_renting_if_it_may_be_looked_at(rig):
    kms = rig.aws.client("kms")
    off = new_key(rig.aws)
    kms.disable_key(KeyId=off)
    signs = new_key(rig.aws, KeyUsage="SIGN_VERIFY", KeySpec="RSA_2048")
    for key, says in (
        (off, "is Disabled"),
        (f"arn:aws:kms:{REGION}:123456789012:key/{off}", "is Disabled"),
        (signs, "only symmetric keys"),
        ("alias/nothing", f"--kms-key alias/nothing does not exist in {REGION}"),
    ):
        with pytest.raises(InvalidValue, match=says):
            resolved(rig, rig.spec.model_copy(update={"kms_key": key}))
    assert rig.aws.faults.calls("ImportKeyPair") == []
    rig.aws.cloud.policy = policy().replace('"kms:DescribeKey",', "")
    error = refused_as(rig, DiskbenchError, kms_key=new_key(rig.aws))
    assert "--kms-key" in error.advice
    assert isinstance(error, RentalFailed | AccessDenied)


def test_the_free_plan_says_which_machine_it_has_and_the_first_spot_machine_needs_a_role(rig):
    rig.aws.cloud.spot_role = False
    error = refused_as(rig, InvalidValue, spot=True)
    assert "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com" in str(error)
    rig.aws.cloud.free_plan = True
    error = refused_as(rig, InvalidValue)
    assert "Free plan" in error.message
    assert "--instance-type m7i-flex.large" in error.advice


@pytest.mark.parametrize("may_look", [True, False])
def test_a_region_that_is_not_enabled_is_told_as_such(rig, may_look):
    region = "eu-central-2"
    assert region in opt_in_regions("aws")
    there = rig.spec.model_copy(update={"region": region})
    rig.aws.cloud.not_enabled = frozenset({region})
    if not may_look:
        rig.aws.cloud.policy = policy().replace("ec2:DescribeRegions", "ec2:Nothing")
    with pytest.raises(InvalidValue if may_look else AccessDenied) as refused:
        resolved(rig, there)
    assert f"aws account enable-region --region-name {region}" in refused.value.advice
    assert ("log in" in refused.value.advice) is not may_look
