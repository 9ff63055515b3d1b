"""What would be rented, looked up before anything is: real calls, to moto."""

import math
import sys

import boto3
import pytest
from tests.books import SHIPPED
from tests.unit.providers.aws.rig import GP2, QUICK, REGION, cell, changed

from diskbench.errors import ExtraMissing, HostUnavailable, InvalidValue, UnknownName
from diskbench.extras import how_to_install
from diskbench.model.options import RentSpec
from diskbench.providers.aws.client import AwsSessions, is_amazon
from diskbench.providers.aws.cloud import AWSProvider
from diskbench.providers.aws.disk_request import disk_request
from diskbench.providers.aws.lookup import _PARAMETERS
from diskbench.providers.aws.offer import check_support, find_machine
from diskbench.providers.networks import is_loopback
from diskbench.providers.options import EmulationOptions

pytestmark = pytest.mark.slow  # an emulated cloud answers over HTTP


def test_the_default_is_a_whole_rental(cloud):
    rental = cloud.resolve()
    scope, disk = rental.scope, rental.disk
    assert (scope.region, scope.account, scope.endpoint) == (REGION, "123456789012", cloud.url)
    assert rental.zones == tuple(f"us-east-1{letter}" for letter in "abcdf")
    assert (disk.type, disk.size_gib) == ("gp2", 20)
    assert rental.instance_type == "c6in.large"
    assert (rental.cores, rental.memory_bytes) == (2, 4 * 2**30)
    assert rental.promise.startswith("100 IOPS, bursts to 3,000 for 31 min")
    assert rental.offer.startswith("c6in.large in us-east-1a (else us-east-1b, us-east-1c")
    assert "gp2 of 20 GiB; al2023-ami" in rental.offer
    (others,) = rental.warnings
    assert " m6in.large " in others
    # machine, root disk of the image (15 GiB of gp3), 20 GiB of gp2, and a public address
    month = 15 * 0.08 + 20 * 0.1
    assert rental.hourly_usd == pytest.approx(0.1134 + month / 730 + 0.005)
    assert [part.name for part in rental.prices] == [
        "machine c6in.large", "root disk gp3 of 15 GiB", "disk gp2 of 20 GiB", "public address",
    ]  # fmt: skip
    assert all(part.source for part in rental.prices)


def test_without_a_region_or_its_profile_it_is_said_which_there_are(cloud, monkeypatch, tmp_path):
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setattr(boto3, "Session", boto3.session.Session)
    with pytest.raises(InvalidValue, match="no AWS region") as refused:
        cloud.resolve()
    assert "--region eu-central-1" in refused.value.advice
    (tmp_path / "aws-config").write_text("[profile work]\nregion = eu-central-1\n")
    with pytest.raises(UnknownName, match="'wrok'") as refused:
        cloud.resolve(account="wrok")
    assert "did you mean work" in refused.value.advice


def test_the_image_is_the_newest_ubuntu_or_amazon_linux_where_there_is_none(cloud):
    ubuntu = _PARAMETERS["ubuntu"]["x86_64"]
    image = cloud.client().describe_images(Owners=["099720109477"])["Images"][0]["ImageId"]
    cloud.wire.spoil("GetParameter", lambda *_: {"Parameter": {"Name": ubuntu, "Value": image}})
    found = [cloud.resolve().details["image"] for _ in range(2)]
    assert found[0]["id"] == image
    assert [one["user"] for one in found] == ["ubuntu", "ec2-user"]
    asked = [request["Name"] for request in cloud.wire.requests("GetParameter")]
    assert asked == [ubuntu, ubuntu, _PARAMETERS["amazon-linux"]["x86_64"]]


@pytest.mark.parametrize(
    "typed", [{"image": _PARAMETERS["amazon-linux"]["arm64"]}, {"instance_type": "c7g.large"}]
)
def test_arm_goes_with_arm(cloud, typed):
    details = cloud.resolve(**typed).details
    assert details["machine"]["arch"] == details["image"]["arch"] == "arm64"


@pytest.mark.parametrize(
    ("typed", "kind", "says", "advises"),
    [
        ({"image": "ami-00000000000000000"}, InvalidValue, "ami-00000000000000000", ""),
        ({"image": "windows"}, InvalidValue, "'windows' is not an image", "ubuntu or amazon-linux"),
        ({"image": "ubuntu"}, InvalidValue, "canonical/ubuntu", ""),
        ({"zone": "us-east-1z"}, UnknownName, "'us-east-1z'", "us-east-1a"),
        ({"instance_type": "m7i.lagre"}, UnknownName, "'m7i.lagre'", "did you mean m7i.large"),
        ({"subnet": "subnet-00000000"}, InvalidValue, "subnet-00000000", ""),
        ({"security_group": "sg-00000000"}, InvalidValue, "sg-00000000", ""),
        ({"image": _PARAMETERS["amazon-linux"]["arm64"], "instance_type": "m5.large"},
         InvalidValue, "is for arm64, m5.large is x86_64", "one architecture"),
    ],
)  # fmt: skip
def test_what_does_not_exist_is_named(cloud, typed, kind, says, advises):
    with pytest.raises(kind) as refused:
        cloud.resolve(**typed)
    assert says in refused.value.message
    assert advises in refused.value.advice


def test_a_type_that_its_zone_does_not_offer_says_where_it_is(cloud):
    def only_b(answer: dict) -> None:
        offered = answer["InstanceTypeOfferings"]
        offered[:] = [one for one in offered if one["Location"] == "us-east-1b"]

    cloud.wire.always("DescribeInstanceTypeOfferings", changed(only_b))
    with pytest.raises(InvalidValue, match=r"m5\.large is not offered in us-east-1a") as refused:
        cloud.resolve(instance_type="m5.large", zone="us-east-1a")
    assert "offered in us-east-1b" in refused.value.advice
    assert cloud.resolve(instance_type="m5.large").zones == ("us-east-1b",)

    def without(answer: dict) -> None:
        offered = answer["InstanceTypeOfferings"]
        offered[:] = [one for one in offered if one["InstanceType"] != "c6in.large"]

    cloud.wire.always("DescribeInstanceTypeOfferings", changed(without))
    assert cloud.resolve().instance_type == "m6in.large", "the next cheapest"


def test_a_contradicted_catalogue_and_a_small_burstable_spot_or_open_machine_are_told(cloud):
    def faster(answer: dict) -> None:
        answer["InstanceTypes"][0]["EbsInfo"]["EbsOptimizedInfo"]["BaselineIops"] = 9000

    cloud.wire.spoil("DescribeInstanceTypes", changed(faster))
    rental = cloud.resolve()
    assert "EC2 says 9000" in rental.warnings[0]
    assert rental.details["machine"]["ebs"]["baseline_iops"] == 9000
    (warning,) = cloud.resolve(instance_type="m5.large").warnings
    assert "m5.large sustains 3,600 IOPS and 81 MB/s" in warning
    assert "c6in.large is large enough" in warning
    warnings = cloud.resolve(instance_type="t3.medium", spot=True, ssh_cidr="0.0.0.0/0").warnings
    for says in ("earns CPU credits", "may end a spot machine", "all addresses (0.0.0.0/0)"):
        assert says in " ".join(warnings)


def test_four_striped_disks_get_a_machine_for_four_and_one_takes_only_so_many(cloud):
    rental = cloud.resolve(count=4, stripe=True)
    disk = rental.disk
    assert (rental.instance_type, disk.count) == ("c6in.2xlarge", 4)
    assert "4 × gp2 of 20 GiB, striped" in rental.offer
    huge = RentSpec(disk="io2", size_gib=1000, iops=256_000, count=4, stripe=True)
    with pytest.raises(InvalidValue, match="no machine in the catalogue") as refused:
        cloud.resolve(huge)
    assert "--instance-type" in refused.value.advice
    assert cloud.resolve(huge, instance_type="m7i.large").instance_type == "m7i.large"
    ec2 = AwsSessions().at(None, REGION, cloud.url).edge("ec2", QUICK)
    few = find_machine(ec2, "m5.large", ()).model_copy(update={"max_disks": 4})
    spec = GP2.model_copy(update={"count": 3, "stripe": True})
    with pytest.raises(InvalidValue, match=r"--count 3 is too many for m5\.large") as refused:
        check_support(few, disk_request(spec))
    assert "at most 2, beside its root disk" in refused.value.advice
    check_support(few.model_copy(update={"disks_apart": True}), disk_request(spec))


def test_a_root_disk_is_as_its_image_and_an_instance_store_as_its_machine(cloud):
    disk = cloud.resolve(RentSpec(disk="root")).disk
    assert (disk.type, disk.size_gib) == ("gp3", 15)
    with pytest.raises(InvalidValue, match="a root disk of 10 GiB is smaller"):
        cloud.resolve(RentSpec(disk="root:gp2", size_gib=10))
    rental = cloud.resolve(RentSpec(disk="instance-store"))
    assert (rental.instance_type, rental.promise) == ("c5ad.large", ""), "the cheapest with one"
    assert rental.disk.size_gib == math.floor(75e9 / 2**30)


@pytest.mark.parametrize(
    ("machine", "spec", "says"),
    [
        ("c4.large", {"disk": "io1", "size_gib": 1000, "iops": 40_000}, r"\(Xen\)"),
        ("c4.large", {"disk": "io2", "size_gib": 20_000, "iops": 100}, r"\(Xen\)"),
        ("m7i.large", {"disk": "instance-store"}, "no disks of its own"),
        ("m3.medium", {"disk": "instance-store"}, "not NVMe"),
        ("m5d.large", {"disk": "instance-store", "count": 2, "stripe": True}, "--count 2"),
    ],
)
def test_a_machine_that_cannot_carry_the_disk_is_refused(cloud, machine, spec, says):
    with pytest.raises(InvalidValue, match=says):
        cloud.resolve(RentSpec(**spec), instance_type=machine)


def test_a_zone_names_its_region_and_a_subnet_of_the_users_zone_and_address(cloud):
    rental = cloud.resolve(zone="us-west-2b")
    assert (rental.scope.region, rental.zones) == ("us-west-2", ("us-west-2b",))
    assert rental.hourly_usd is None, "no price is known of that region"
    subnets = cloud.client().describe_subnets()["Subnets"]
    mine = next(s for s in subnets if s["AvailabilityZone"] == "us-east-1c")
    rental = cloud.resolve(subnet=mine["SubnetId"])
    assert rental.zones == ("us-east-1c",)
    assert rental.details["places"][0]["public"] is None
    rental = cloud.resolve(lab=EmulationOptions(time_scale=60))
    assert rental.details["ssh_cidr"] == "127.0.0.0/8"
    assert "bursts to 3,000 for 31 s" in rental.promise
    assert cloud.resolve(ssh_cidr="10.1.2.3").details["ssh_cidr"] == "10.1.2.3/32"


def test_an_endpoint_where_nobody_answers_is_not_waited_for_long(cloud, unused_port):
    cloud.impatient("look_s")
    nobody = f"http://127.0.0.1:{unused_port}"
    with pytest.raises(HostUnavailable, match=nobody) as refused:
        cloud.provider.resolve(cell(endpoint_url=nobody), SHIPPED)
    assert "--endpoint-url" in refused.value.advice


def test_without_the_sdk_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(ExtraMissing) as refused:
        AWSProvider().resolve(cell(), SHIPPED)
    assert refused.value.advice == how_to_install("aws")


AMAZONS = (
    "ec2.us-east-1.amazonaws.com", "ec2.cn-north-1.amazonaws.com.cn", "ec2.us-east-1.api.aws",
    "ec2.eusc-de-east-1.amazonaws.eu", "ec2.us-iso-east-1.c2s.ic.gov",
    "ec2.us-isob-east-1.sc2s.sgov.gov",
)  # fmt: skip
HERE = ("127.0.0.9:5000", "[::1]:5000", "localhost:5000")
OTHERS = ("notamazonaws.com", "amazonaws.com.example.org", "emulator.example.org")


@pytest.mark.parametrize("host", [*AMAZONS, *HERE, *OTHERS])
def test_an_endpoint_is_amazons_by_its_name(host):
    assert is_amazon(f"https://{host}") is (host in AMAZONS)
    assert is_loopback(f"https://{host}") is (host in HERE)
