"""What clouds are asked for while a disk is rented, read back and given back is what the policies
allow; Azure's is held in test_azure_renting.py."""

from __future__ import annotations

import pytest
from tests.books import SHIPPED
from tests.contract.gcp_cloud import GcpCloud
from tests.contract.rented import AwsCloud

from diskbench.model.rental import LeaseEnd
from diskbench.ports import ExtendsLeases, Regional
from diskbench.providers.aws import policy as aws_policy
from diskbench.providers.gcp import policy as gcp_policy
from diskbench.testing.rig import (
    Rig,
    RigOnlooker,
    cell,
    claim,
    guest_of,
    scope_of,
)

pytestmark = pytest.mark.slow

NOT_SEEN_ON_AWS = {
    "ec2:DeleteNetworkInterface": "only for what a machine did not take along",
    "ec2:DeleteSnapshot": "only for a copy that a person named",
    "ec2:DeleteVolume": "the volume may have gone with its machine",
    "ec2:DescribeAvailabilityZones": "only for a zone that was typed, and by the doctor",
    "ec2:DeregisterImage": "only for a copy that a person named",
    "ec2:ReleaseAddress": "no run makes an address",
    "ec2:DetachVolume": "only where a machine gets another disk (reuse_host of a matrix)",
    "pricing:GetProducts": "only catalog --refresh asks",
    "servicequotas:GetServiceQuota": "only the doctor asks",
    "sts:DecodeAuthorizationMessage": "only for what was denied",
}
NOT_SEEN_ON_GOOGLE = {
    "disks.delete": "the disk may have gone with its machine",
    "globalOperations.list": "only for a machine that is gone",
    "images.get": "only for an image that was typed",
    "instances.detachDisk": "only where a machine gets another disk (reuse_host of a matrix)",
    "instances.setDiskAutoDelete": "only for a disk that was found attached without it",
    "regions.list": "only for a region that is not there",
    "subnetworks.get": "only for a subnet that was typed",
}


def rent_and_give_back(cloud: Rig) -> None:
    rental = cloud.provider.resolve(cell(cloud), SHIPPED)
    acquired = cloud.provider.acquire(claim("one"), rental, RigOnlooker())
    if isinstance(cloud.provider, ExtendsLeases):
        guest = guest_of(acquired)
        cloud.provider.extend("one", scope_of(cloud), LeaseEnd(expires_at=4e9, left_s=60), guest)
        guest.close()
    cloud.provider.found(scope_of(cloud))
    if isinstance(cloud.provider, Regional):
        cloud.provider.regions(scope_of(cloud).model_copy(update={"region": None}))
    cloud.provider.gone("one", scope_of(cloud))
    cloud.provider.release("one", scope_of(cloud))


def test_aws(aws, monkeypatch, tmp_path) -> None:
    cloud = AwsCloud(aws, monkeypatch, tmp_path)
    rent_and_give_back(cloud)
    asked = {f"{one.service}:{one.action}" for one in aws.faults.asked}
    free = {"sts:GetCallerIdentity"}  # needs no permission
    by_the_way = {*NOT_SEEN_ON_AWS, aws_policy.TAG, aws_policy.KEY, *aws_policy.KEY_USE}
    assert (asked - free) | by_the_way == aws_policy.actions()


def test_google(gcp, monkeypatch, tmp_path) -> None:
    cloud = GcpCloud(gcp, monkeypatch, tmp_path)
    rent_and_give_back(cloud)
    asked = {one.method.replace("aggregatedList", "list") for one in gcp.faults.asked}
    assert asked | set(NOT_SEEN_ON_GOOGLE) == set(gcp_policy.NEEDS)
