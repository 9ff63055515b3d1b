"""What is looked up before anything is rented, against the emulated Compute Engine."""

import pytest
from tests.books import SHIPPED
from tests.cloud.eager import GCP
from tests.cloud.rented_gcp import PROJECT

from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.options import RentSpec
from diskbench.model.spec import Cell, TargetSpec
from diskbench.providers.gcp.cloud import GCPProvider
from diskbench.providers.gcp.disk_request import GcpDiskRequest, GcpMachine, GcpResolved
from diskbench.providers.gcp.offer import check_support

pytestmark = pytest.mark.slow  # an emulated cloud answers over HTTP

ALL = ("us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f")


@pytest.fixture
def look(gcp, monkeypatch):
    """Resolve what is typed."""
    for name, value in gcp.env.items():
        monkeypatch.setenv(name, value)
    for name in ("CLOUDSDK_COMPUTE_REGION", "CLOUDSDK_COMPUTE_ZONE"):
        monkeypatch.delenv(name, raising=False)

    def resolve(disk="pd-ssd", size_gib=20, **more):
        told = {"disk": disk, "size_gib": size_gib, "endpoint_url": gcp.endpoint, **more}
        target, spec = TargetSpec(kind="device", path=""), RentSpec.model_validate(told)
        cell = Cell(provider="gcp", target=target, rent=spec, profile="quick")
        return GCPProvider(GCP).resolve(cell, SHIPPED)

    return resolve


def details(rental):
    return GcpResolved.model_validate(rental.details)


def test_everything_is_known_before_anything_is_rented(look, gcp):
    rental = look()
    found = details(rental)
    assert rental.scope.account == found.project == PROJECT
    assert rental.zones == ALL
    assert rental.instance_type == "n2-standard-8"
    assert (rental.cores, rental.memory_bytes) == (8, 32 * 2**30)
    image = found.image
    assert (image.name, image.user) == ("ubuntu-2404-noble-amd64-v20261101", "ubuntu")
    assert (found.boot_type, image.root_gib) == ("pd-balanced", 10)
    assert (found.ssh_cidr, found.emulated) == ("127.0.0.0/8", True)
    assert "6,600 IOPS" in rental.promise
    assert "n2-standard-8 in us-central1-a (else us-central1-b" in rental.offer
    assert rental.warnings == ()
    # machine, root disk (10 GiB of pd-balanced), 20 GiB of pd-ssd, and a public address
    month = 10 * 0.1 + 20 * 0.17
    assert rental.hourly_usd == pytest.approx(0.388472 + month / 730 + 0.005)
    assert {one.method.rpartition(".")[2] for one in gcp.faults.asked} <= {
        "get", "list", "aggregatedList", "getFromFamily",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "gclouds", "region"),
    [
        ({"region": "europe-west1"}, {}, "europe-west1"),
        ({"zone": "us-east1-c"}, {}, "us-east1"),
        ({}, {}, "us-central1"),
        ({}, {"ZONE": "us-east1-b"}, "us-east1"),
        ({}, {"ZONE": "us-east1-b", "REGION": "europe-west1"}, "europe-west1"),
    ],
)
def test_the_region_is_typed_or_that_of_the_zone_or_gclouds(
    look, monkeypatch, typed, gclouds, region
):
    for name, value in gclouds.items():
        monkeypatch.setenv(f"CLOUDSDK_COMPUTE_{name}", value)
    assert details(look(**typed)).region == region


@pytest.mark.parametrize(
    ("typed", "kind", "says"),
    [
        ({"region": "us-central9"}, UnknownName, "us-central1"),
        ({"zone": "us-central1-z"}, UnknownName, "us-central1-a"),
        ({"instance_type": "n2-standard-9"}, UnknownName, "n2-standard-8"),
        ({"instance_type": "t2a-standard-4", "image": "projects/ubuntu-os-cloud/global/images/"
          "ubuntu-2404-noble-amd64-v20261101"}, InvalidValue, "arm64"),
        ({"image": "debian-13"}, InvalidValue, "with cloud-init"),
        ({"image": "projects/ubuntu-os-cloud/global/images/none"}, InvalidValue, "none"),
        ({"subnet": "mine"}, InvalidValue, "no subnet mine"),
        ({"subnet": "regions/us-east1/subnetworks/default"}, InvalidValue, "not in us-central1"),
        ({"disk": "hyperdisk-balanced", "zone": "us-central1-f"}, InvalidValue, "not offer n4-st"),
        ({"disk": "root", "size_gib": 5}, InvalidValue, "needs 10 GiB"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_told_with_what_is(look, typed, kind, says):
    with pytest.raises(kind) as refused:
        look(**typed)
    assert says in f"{refused.value.message} {refused.value.advice}"


IMAGES = "projects/ubuntu-os-cloud/global/images"


@pytest.mark.parametrize(
    ("machine", "image", "name"),
    [
        ("t2a-standard-4", None, "2404-noble-arm64-v20261101"),
        (None, "ubuntu-26.04", "2604-resolute-amd64-v20261101"),
        ("t2a-standard-4", "ubuntu-26.04", "2604-resolute-arm64-v20261101"),
        (None, f"{IMAGES}/ubuntu-2404-noble-amd64-v20261001", "2404-noble-amd64-v20261001"),
        (None, f"{IMAGES}/family/ubuntu-2204-lts", "2204-jammy-v20261101"),
    ],
)
def test_an_image_is_of_the_machines_kind_named_by_release_or_family(look, machine, image, name):
    found = details(look(instance_type=machine, image=image))
    assert found.image.name == f"ubuntu-{name}"
    assert found.image.arch == found.machine.arch


def test_a_root_disk_is_as_its_image_local_ssds_come_with_a_machine_which_holds_so_many(look):
    for disk, told in (("root", ("pd-balanced", 10)), ("local-ssd", ("local-ssd", 375))):
        rented = look(disk, None).disk
        assert (rented.type, rented.size_gib) == told
    bundled = details(look("local-ssd", None, instance_type="c3-standard-4-lssd"))
    assert bundled.machine.bundled_ssds == 1
    with pytest.raises(InvalidValue, match="comes with 1"):
        look("local-ssd", None, count=2, stripe=True, instance_type="c3-standard-4-lssd")
    small = GcpMachine(type="e2-medium", arch="x86_64", vcpus=2, memory_bytes=2**32, max_disks=16)
    check_support(small, GcpDiskRequest(kind="disk", type="pd-ssd", size_gib=20, count=15))
    with pytest.raises(InvalidValue, match="holds 15 disks beside its root disk"):
        check_support(small, GcpDiskRequest(kind="disk", type="pd-ssd", size_gib=20, count=16))


def test_a_subnet_and_a_tag_of_the_users_are_used_and_only_zones_with_machine_and_disk(look):
    found = details(look(subnet="default", security_group="mine"))
    assert found.network.subnetwork == f"projects/{PROJECT}/regions/us-central1/subnetworks/default"
    assert (found.tag, found.ssh_cidr) == ("mine", None)
    assert look("hyperdisk-balanced").zones == ALL[:3]


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({"instance_type": "n2-standard-2"}, "would be the bottleneck"),
        ({"instance_type": "e2-medium"}, "shares its cores"),
        ({"spot": True}, "may end a spot machine"),
        ({"ssh_cidr": "0.0.0.0/0"}, "open to all addresses"),
        ({"disk": "pd-ssd", "count": 3, "stripe": True}, "promise what one disk of 60 GiB does"),
        ({"disk": "hyperdisk-throughput", "size_gib": 2048, "instance_type": "n2-standard-8"},
         "may refuse it"),
    ],
)  # fmt: skip
def test_what_a_person_should_know_is_told(look, typed, says):
    assert any(says in warning for warning in look(**typed).warnings)
