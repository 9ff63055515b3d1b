"""`diskbench gc --provider aws`, over all regions of the emulated AWS."""

import json
import time

import jsonschema
import pytest
from tests.rigs.cli import a_user

from diskbench.cli.schema import _schema

OLD, YOUNG = "01koldoldoldoldoldoldoldol", "01kyoungyoungyoungyoungyou"


REGIONS = ("ap-southeast-2", "eu-central-1", "us-east-1", "us-west-2")
"""Those that the account has enabled: each takes the emulator a second when it is first asked."""


@pytest.fixture
def gc(aws, tmp_path, monkeypatch):
    """The command, and the document that it prints."""
    from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend

    genuine = RegionsAndZonesBackend.describe_regions

    def enabled(*args, **more):
        return [one for one in genuine(*args, **more) if one.name in REGIONS]

    monkeypatch.setattr(RegionsAndZonesBackend, "describe_regions", enabled)
    user = a_user(tmp_path)
    user.extra_env = aws.env

    def run(*flags):
        words = ("--provider", "aws", "--endpoint-url", aws.endpoint, "--output", "json")
        done = user.run("gc", *words, *flags)
        assert done.stdout, done.stderr
        document = json.loads(done.stdout)
        jsonschema.validate(document, _schema("gc"))
        return done.returncode, document, done.stderr

    return run


def tagged(kind, lease, expires):
    tags = {
        "Name": f"diskbench-{lease}-{kind}", "diskbench-lease": lease,
        "diskbench-expires": f"{expires:.0f}",
    }  # fmt: skip
    pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
    return [{"ResourceType": kind, "Tags": pairs}]


def leave(aws, region, lease, expires):
    """A volume, a key pair, a group and an address in a region."""
    ec2 = aws.client(region=region)
    for kind, make, more in (
        ("volume", ec2.create_volume,
         {"AvailabilityZone": f"{region}a", "VolumeType": "gp3", "Size": 1}),
        ("key-pair", ec2.create_key_pair, {"KeyName": f"diskbench-{lease}-key"}),
        ("security-group", ec2.create_security_group,
         {"GroupName": f"diskbench-{lease}-group", "Description": "left"}),
        ("elastic-ip", ec2.allocate_address, {"Domain": "vpc"}),
    ):  # fmt: skip
        make(**more, TagSpecifications=tagged(kind, lease, expires))


def test_every_region_is_looked_through_and_what_fails_stops_no_other(aws, gc):
    """One story, because to look through every region of the emulator takes seconds."""
    leave(aws, "us-east-1", OLD, 1.0)
    leave(aws, "ap-southeast-2", OLD, 1.0)
    leave(aws, "eu-central-1", YOUNG, time.time() + 3600)
    code, dry, _ = gc("--dry-run")
    assert code == 0
    assert {(one["region"], one["outcome"]) for one in dry["leases"]} == {
        ("us-east-1", "would-give-back"),
        ("ap-southeast-2", "would-give-back"),
        ("eu-central-1", "kept"),
    }
    kinds = sorted(name.partition(" ")[0] for name in dry["leases"][0]["resources"])
    assert kinds == ["address", "key-pair", "security-group", "volume"]
    assert (dry["usd"], dry["unpriced"]) == (0, 2), "a stranger's lease has no known price"

    aws.faults.forbid("DeleteKeyPair", times=1)
    aws.faults.refuse(
        "DescribeAddresses", "UnauthorizedOperation", "a policy denies it", status=403
    )
    code, done, err = gc()
    assert code == 3
    (unlisted,) = done["unlisted"]
    assert "a policy denies it" in unlisted["problem"]["message"]
    assert f"not searched: aws {unlisted['region']}" in err
    (failed,) = [one for one in done["leases"] if one["problem"]]
    assert failed["outcome"] == "could-not-give-back"
    assert f"key-pair diskbench-{OLD}-key" in failed["problem"]["message"]
    hidden = {"us-east-1", "ap-southeast-2"} & {unlisted["region"]}
    assert {word.split()[0] for word in aws.left()} == {
        "eu-central-1", failed["region"], *hidden,
    }  # fmt: skip

    code, named, err = gc("--not-mine", YOUNG, OLD)
    assert code == 0, err
    assert {one["outcome"] for one in named["leases"]} == {"gave-back"}
    assert aws.left() == []
    assert aws.client(region="ap-southeast-2").describe_addresses()["Addresses"] == []
