"""What a live account answers that a lenient emulator does not: limits of one call, things that are
not listed yet, partitions, zones of other kinds, machines without a public address."""

import dataclasses

import pytest
from tests.books import SHIPPED
from tests.unit.providers.aws.rig import CLAIM, GP2, REGION, cell, changed, refusal

from diskbench.errors import AccessDenied, InvalidValue, NoCapacity, UnknownName
from diskbench.model.options import RentSpec
from diskbench.providers.aws import lookup
from diskbench.providers.aws.cloud import AWSProvider
from diskbench.providers.aws.disk_request import disk_request, region_of
from diskbench.providers.aws.doctor import family_of
from diskbench.providers.aws.offer import machine
from diskbench.providers.aws.plugin import PLUGIN

pytestmark = pytest.mark.slow


def as_ec2_limits(wire, call):
    _, request = wire.calls[-1]
    values = [value for one in request["Filters"] for value in one["Values"]]
    if len(values) > 200:
        raise refusal("FilterLimitExceeded", "The maximum number of filter values is 200")
    return call()


def test_many_machines_are_asked_for_in_batches_the_cheapest_first(cloud, monkeypatch):
    names = (*(f"z{index}.large" for index in range(420)), "m5.large")
    monkeypatch.setattr(lookup, "candidates", lambda *_, **__: names)
    cloud.wire.always("DescribeInstanceTypeOfferings", as_ec2_limits)
    assert cloud.resolve().instance_type == "m5.large"
    asked = cloud.wire.requests("DescribeInstanceTypeOfferings")
    assert [len(request["Filters"][0]["Values"]) for request in asked] == [200, 200, 21]


def without(instance_type):
    """No capacity for one type, in any zone."""

    def spoil(wire, call):
        if wire.calls[-1][1]["InstanceType"] == instance_type:
            raise refusal("UnfulfillableCapacity", "none", 500)
        return call()

    return spoil


def test_the_next_type_is_rented_where_no_zone_has_the_first(cloud):
    rental = cloud.resolve()
    others = [one["type"] for one in rental.details["others"]]
    assert others
    assert any(f"{others[0]} is rented" in warning for warning in rental.warnings)
    cloud.wire.always("RunInstances", without(str(rental.instance_type)))
    acquired = cloud.acquire_of(rental)
    assert acquired.facts["instance_type"] == others[0]
    assert cloud.acquire_of(rental) == acquired
    hide_once(cloud)  # one empty listing closes no lease whose ids are known
    cloud.provider.release(CLAIM.lease_id, rental.scope, made=acquired.made)
    assert cloud.left() == []


def test_a_typed_machine_is_never_replaced(cloud):
    rental = cloud.resolve(instance_type="m5.large")
    assert rental.details["others"] == []
    cloud.wire.always("RunInstances", without("m5.large"))
    with pytest.raises(NoCapacity):
        cloud.acquire_of(rental)
    cloud.provider.release(CLAIM.lease_id, rental.scope)
    assert cloud.left() == []


def empty(key):
    return changed(lambda answer: answer.update({key: []}))


def hide_once(cloud):
    """The next listing by tag shows nothing."""
    cloud.wire.spoil("DescribeInstances", empty("Reservations"))
    for kind in ("Volumes", "SecurityGroups", "KeyPairs", "NetworkInterfaces"):
        cloud.wire.spoil(f"Describe{kind}", empty(kind))


def test_a_zone_without_capacity_is_cleared_by_id_where_nothing_is_listed_yet(cloud):
    def none_and_unlisted(*_):
        hide_once(cloud)
        raise refusal("InsufficientVolumeCapacity", "none", 500)

    cloud.wire.spoil("CreateVolume", none_and_unlisted)
    cloud.acquire()
    assert {i["Placement"]["AvailabilityZone"] for i in cloud.live()} == {"us-east-1b"}
    assert {v["AvailabilityZone"] for v in cloud.volumes()} == {"us-east-1b"}


def test_a_rental_in_the_sovereign_cloud_is_not_refused_for_its_name_as_others_are():
    for region in ("eusc-de-east-1", "us-isob-east-1", "us-gov-west-1", "cn-northwest-1"):
        disk_request(RentSpec(disk="gp2", size_gib=20, region=region, zone=f"{region}a"))
    with pytest.raises(InvalidValue, match="is not the name of an AWS region"):
        disk_request(RentSpec(disk="gp2", size_gib=20, region="us-east-1a"))
    with pytest.raises(InvalidValue, match="Wavelength"):
        disk_request(RentSpec(disk="gp2", size_gib=20, zone="us-east-1-wl1-bos-wlz-1"))


@pytest.mark.parametrize(
    ("zone", "region"),
    [
        ("us-east-1a", "us-east-1"), ("eusc-de-east-1a", "eusc-de-east-1"),
        ("us-east-1-bos-1a", "us-east-1"), ("us-west-2-lax-1b", "us-west-2"),
        ("us-east-1-wl1-bos-wlz-1", "us-east-1"), ("us-east-1", None), ("fake-1a", None),
    ],
)  # fmt: skip
def test_the_region_of_a_zone_is_read_from_its_whole_name(zone, region):
    assert region_of(zone) == PLUGIN.region_of(zone) == region


def local_zone(opt_in):
    item = {
        "ZoneName": "us-east-1-bos-1a", "ZoneType": "local-zone", "OptInStatus": opt_in,
        "GroupName": "us-east-1-bos-1", "RegionName": REGION, "State": "available",
    }  # fmt: skip
    return changed(lambda answer: answer["AvailabilityZones"].append(item))


def test_a_local_zone_without_opt_in_says_how_to_and_has_a_root_disk_that_each_sells(cloud):
    cloud.wire.spoil("DescribeAvailabilityZones", local_zone("not-opted-in"))
    with pytest.raises(InvalidValue) as refused:
        cloud.resolve(zone="us-east-1-bos-1a")
    assert "--group-name us-east-1-bos-1" in refused.value.advice
    with pytest.raises(UnknownName):
        cloud.resolve(zone="us-east-1-bos-2a")
    zone = "us-east-1-bos-1a"
    cloud.wire.spoil("DescribeAvailabilityZones", local_zone("opted-in"))
    offering = {"InstanceType": "m5.large", "LocationType": "availability-zone", "Location": zone}
    more = changed(lambda answer: answer["InstanceTypeOfferings"].append(offering))
    cloud.wire.spoil("DescribeInstanceTypeOfferings", more)
    there = changed(lambda answer: answer["Subnets"][0].update(AvailabilityZone=zone))
    cloud.wire.spoil("DescribeSubnets", there)
    rental = cloud.resolve(zone=zone, instance_type="m5.large")
    assert (rental.details["root_type"], rental.scope.region) == ("gp2", REGION)
    assert any("Local Zone" in warning for warning in rental.warnings)


def a_subnet(cloud):
    subnets = cloud.client().describe_subnets()["Subnets"]
    found = next(one for one in subnets if one["AvailabilityZone"] == "us-east-1a")
    return str(found["SubnetId"])


@pytest.mark.parametrize(
    ("told", "says"),
    [({"Ipv6Native": True}, "IPv6 addresses only"), ({"OutpostArn": "arn:x"}, "on an Outpost")],
)
def test_a_subnet_in_which_no_machine_is_reached_is_refused(cloud, told, says):
    subnet = a_subnet(cloud)
    cloud.wire.spoil("DescribeSubnets", changed(lambda answer: answer["Subnets"][0].update(told)))
    with pytest.raises(InvalidValue, match=says):
        cloud.resolve(subnet=subnet, ssh_cidr="10.0.0.0/8")


PRIVATE = {"network": {"no_public_ip": True}}


def test_a_machine_without_a_public_address_is_reached_at_its_private_one(cloud):
    spec = {**PRIVATE, "subnet": a_subnet(cloud), "ssh_cidr": "172.31.0.0/16"}
    rental = cloud.resolve(**spec)
    assert not any("address" in part.name for part in rental.prices)
    acquired = cloud.acquire_of(rental)
    (request,) = cloud.wire.requests("RunInstances")
    assert request["NetworkInterfaces"][0]["AssociatePublicIpAddress"] is False
    (instance,) = cloud.live()
    assert acquired.address == instance["PrivateIpAddress"]
    assert acquired.facts["public_address"] is False
    assert len(cloud.provider.foresee(cell(GP2, **spec), SHIPPED).prices) == len(rental.prices)


def test_a_private_machine_that_nobody_would_reach_is_refused_offline():
    for subnet, says in ((None, "needs a --subnet"), ("subnet-0a", "network that SSH comes from")):
        with pytest.raises(InvalidValue, match=says) as refused:
            disk_request(RentSpec(disk="gp2", size_gib=20, **PRIVATE, subnet=subnet))
        assert refused.value.field == "no_public_ip"


def test_an_image_of_the_marketplace_is_refused_before_renting_without_subscription(cloud):
    codes = [{"ProductCodeId": "abc", "ProductCodeType": "marketplace"}]
    change = changed(lambda answer: answer["Images"][0].update(ProductCodes=codes))
    cloud.wire.spoil("DescribeImages", change)
    page = "https://aws.amazon.com/marketplace/pp?sku=abc"
    cloud.wire.spoil("RunInstances", refusal("OptInRequired", f"please visit {page}", 401))
    with pytest.raises(AccessDenied) as refused:
        cloud.resolve()
    assert page in refused.value.advice
    (request,) = cloud.wire.requests("RunInstances")
    assert request["DryRun"] is True
    assert cloud.left() == []


def test_bare_metal_has_the_time_that_its_firmware_needs(cloud):
    timing = dataclasses.replace(cloud.provider.timing, ssh_s=0.2, metal_s=60.0)
    cloud.provider = AWSProvider(timing, cloud.provider.ask_caller)
    cloud.guest.refusals = 40
    assert cloud.acquire(instance_type="m5.metal").facts["bare_metal"] is True


def test_of_several_ebs_cards_the_first_counts():
    def card(index):
        return {
            "EbsCardIndex": index, "BaselineIops": 100 + index, "BaselineThroughputInMBps": 10.0,
            "MaximumIops": 200, "MaximumThroughputInMBps": 20.0,
        }  # fmt: skip

    told = {
        "InstanceType": "r8gb.metal-48xl", "BareMetal": True,
        "ProcessorInfo": {"SupportedArchitectures": ["arm64"]}, "VCpuInfo": {"DefaultVCpus": 192},
        "MemoryInfo": {"SizeInMiB": 1024},
        "EbsInfo": {
            "EbsCards": [card(1), card(0)], "MaximumEbsCards": 2,
            "EbsOptimizedInfo": {"BaselineIops": 201, "BaselineThroughputInMBps": 20.0},
        },
    }  # fmt: skip
    found = machine(told)
    assert (found.ebs.baseline_iops, found.ebs.baseline_mb_per_s) == (100, 10)
    assert (found.ebs_cards, found.bare_metal) == (2, True)


FAMILIES = {
    "Standard": "m7i.large i3en.metal im4gn.large is4gen.large d3.xlarge h1.2xlarge t3.micro",
    "G and VT": "g5.xlarge gr6.4xlarge vt1.3xlarge", "Inf": "inf2.xlarge", "Trn": "trn1.2xlarge",
    "DL": "dl1.24xlarge", "HPC": "hpc7g.4xlarge", "P": "p5.48xlarge", "F": "f1.2xlarge",
    "X": "x2gd.large", "High Memory": "u-6tb1.112xlarge u7i-12tb.224xlarge", None: "mac2.metal",
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_a_type_counts_in_the_quota_of_its_family(family):
    assert {family_of(instance_type) for instance_type in FAMILIES[family].split()} == {family}
