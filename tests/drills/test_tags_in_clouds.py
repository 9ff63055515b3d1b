"""Tags that were copied by hand, and leases of others, in an emulated AWS."""

import json
import logging

import pytest
from tests.cloud.conftest import aws, aws_server, azure, azure_server
from tests.cloud.eager import AWS
from tests.cloud.rented import REGION, ZONE
from tests.cloud.rented_azure import REGION as AZURE_REGION
from tests.contract.clouds import AzureCloud
from tests.rigs.cli import a_user

from diskbench.errors import ReleaseFailed
from diskbench.model.rental import Scope, Which
from diskbench.providers.aws.client import AwsSessions
from diskbench.providers.aws.cloud import AWSProvider
from diskbench.providers.aws.leases import inventory

__all__ = ["aws", "aws_server", "azure", "azure_server"]

ONE = "01kq8z6rj0aaaaaaaaaaaaaaa1"


@pytest.fixture
def user(aws, tmp_path):
    return a_user(tmp_path, **aws.env, DISKBENCH_OWNER="alice@desk")


def volume(aws):
    """A volume with all tags that the disk of an expired lease has."""
    tags = {"diskbench-lease": ONE, "diskbench-expires": "1", "Name": f"diskbench-{ONE}-disk-0"}
    tags["diskbench-owner"] = "bob@laptop"
    pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
    specification = [{"ResourceType": "volume", "Tags": pairs}]
    made = aws.client().create_volume(
        AvailabilityZone=ZONE, Size=1, VolumeType="gp3", TagSpecifications=specification
    )
    return str(made["VolumeId"])


def there(aws):
    return {one["VolumeId"] for one in aws.client().describe_volumes()["Volumes"]}


def gc(user, aws, *words):
    place = ("--provider", "aws", "--region", REGION, "--endpoint-url", aws.endpoint)
    return user.run("gc", *place, *words, timeout_s=600)


def test_the_recorded_id_distinguishes_a_copy_of_every_tag(aws, tmp_path, monkeypatch, caplog):
    """A volume has all tags of a lease's disk, also its Name, and its run gives the lease back."""
    for name, value in aws.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    ours, copied = volume(aws), volume(aws)
    scope = Scope(provider="aws", region=REGION, endpoint=aws.endpoint)
    with caplog.at_level(logging.WARNING):
        AWSProvider(timing=AWS).release(ONE, scope, made=(f"volume {ours}",))
    assert there(aws) == {copied}
    assert copied in caplog.text
    assert "not made by diskbench" in caplog.text


def test_snapshots_and_images_with_our_tags_are_listed_and_outlive_gc_on_aws(user, aws):
    """A backup service copied all tags of an expired lease's disk; full ids delete its own."""
    ec2, ours = aws.client(), volume(aws)
    carried = ec2.describe_volumes(VolumeIds=[ours])["Volumes"][0]["Tags"]
    tagged = [{"ResourceType": "snapshot", "Tags": carried}]
    snapshot = ec2.create_snapshot(VolumeId=ours, TagSpecifications=tagged)["SnapshotId"]
    image = ec2.register_image(Name="backup", RootDeviceName="/dev/sda1")["ImageId"]
    ec2.create_tags(Resources=[image], Tags=carried)
    done = gc(user, aws, "--output", "json")
    assert done.returncode == 0, done.stderr
    leases = json.loads(done.stdout)["leases"]
    told = {thing: (one["outcome"], one["reason"]) for one in leases for thing in one["resources"]}
    kept = ("kept", "carries our tags, but is not ours")
    assert told[f"volume {ours}"][0] == "gave-back"
    assert (told[f"snapshot {snapshot}"], told[f"image {image}"]) == (kept, kept)
    assert there(aws) == set()
    for one in (snapshot, image):
        assert gc(user, aws, one[:-1]).returncode == 2
    mine = {"Filters": [{"Name": "tag:diskbench-lease", "Values": [ONE]}]}
    assert len(ec2.describe_snapshots(**mine)["Snapshots"]) == 1
    assert len(ec2.describe_images(**mine)["Images"]) == 1
    for one in (image, snapshot):
        done = gc(user, aws, one)
        assert done.returncode == 0, done.stderr
    assert ec2.describe_snapshots(**mine)["Snapshots"] == []
    assert ec2.describe_images(**mine)["Images"] == []


def test_a_group_that_copied_our_tags_is_not_adopted(aws, monkeypatch):
    """A security group of another name has a lease's tags while the lease is rented."""
    for name, value in aws.env.items():
        monkeypatch.setenv(name, value)
    tags = [{"Key": "diskbench-lease", "Value": ONE}]
    tags += [{"Key": "Name", "Value": f"diskbench-{ONE}-group"}]
    tagged = [{"ResourceType": "security-group", "Tags": tags}]
    made = aws.client().create_security_group(
        GroupName="prod-web", Description="open to all", TagSpecifications=tagged
    )
    scope = Scope(provider="aws", region=REGION, endpoint=aws.endpoint)
    found = inventory(AwsSessions().of_scope(scope, AWS).edge("ec2", AWS), Which(ONE))
    assert found.of("security-group") == []
    assert found.others == (f"security-group {made['GroupId']}",)


def test_a_group_that_holds_a_disk_of_others_is_not_deleted(azure, tmp_path, monkeypatch):
    """Another user's disk is in the resource group of a lease that is given back: exit 3."""
    cloud = AzureCloud(azure, monkeypatch, tmp_path)
    cloud.add_leftover(ONE)
    empty = {"creationData": {"createOption": "Empty"}, "diskSizeGB": 1}
    body = {"location": AZURE_REGION, "properties": empty}
    disks = azure.compute.disks
    disks.begin_create_or_update(f"diskbench-{ONE}", "prod-database", body).result()
    scope = Scope(provider="azure", region=AZURE_REGION, endpoint=azure.endpoint)
    with pytest.raises(ReleaseFailed, match="prod-database, not made by diskbench") as failed:
        cloud.provider.release(ONE, scope)
    assert failed.value.exit_code == 3
    assert [one.name for one in disks.list()] == ["prod-database"]
    disks.begin_delete(f"diskbench-{ONE}", "prod-database").result()
    cloud.provider.release(ONE, scope)
    assert cloud.provider.found(scope) == []
