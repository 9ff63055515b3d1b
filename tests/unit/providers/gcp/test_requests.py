"""What Compute Engine is sent: each request is a file, and Google's own description accepts it."""

import functools
import json
from typing import Any

import pytest
from emulators.gcp.discovery import Method, methods
from emulators.gcp.labels import checked
from emulators.gcp.schema import body_problems
from tests.rigs.golden import PLACE, Golden

from diskbench.model.rental import Claim, DiskSpec
from diskbench.providers.gcp import requests
from diskbench.providers.gcp.provision import GUEST_GRACE_S, run_s

NETWORK = "projects/my-project/global/networks/default"
CLAIM = Claim(lease_id="01jlease", expires_at=1_800_000_000.7, owner="Me@Here", version="0.1.0")
LAUNCH = requests.GcpLaunch(
    project="my-project",
    zone="us-central1-a",
    machine_type="n2-standard-8",
    image="projects/ubuntu-os-cloud/global/images/ubuntu-2404",
    boot=requests.boot_disk(
        "pd-balanced", "us-central1-a", DiskSpec(type="pd-balanced", size_gib=10)
    ),
    network={"network": NETWORK},
    tag="diskbench-01jlease-ssh",
    run_s=7200.2,
    user="ubuntu",
    user_key="ssh-ed25519 AAAA",
    user_data="#cloud-config\n",
)
EVERYTHING = requests.GcpLaunch(
    project="my-project",
    zone="us-central1-a",
    machine_type="n2-standard-8",
    image="projects/ubuntu-os-cloud/global/images/ubuntu-2404",
    boot=requests.boot_disk("", "us-central1-a", DiskSpec(type="any", size_gib=10)),
    network={"subnetwork": "projects/my-project/regions/us-central1/subnetworks/mine"},
    tag="mine",
    run_s=5.0,
    user="ubuntu",
    user_key="ssh-ed25519 AAAA",
    user_data="#cloud-config\n",
    local_ssds=2,
    local_interface="scsi",
    spot=True,
    placement="close-together",
    maintenance="TERMINATE",
    lab="noise=0.1 time_scale=60.0",
    kms_key="projects/p/locations/us-central1/keyRings/ring/cryptoKeys/disks",
)
BALANCED = DiskSpec(type="hyperdisk-balanced", size_gib=100, iops=4000, throughput_mib_per_s=250)
KEY = "projects/p/locations/us-central1/keyRings/ring/cryptoKeys/disks"
WHERE = ("my-project", "us-central1-a", 0)
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "insert_firewall": (
        "firewalls", "insert",
        requests.insert_firewall(CLAIM, NETWORK, "203.0.113.7/32"),
    ),
    "insert_instance": ("instances", "insert", requests.insert_instance(CLAIM, LAUNCH)),
    "insert_instance_everything": (
        "instances", "insert", requests.insert_instance(CLAIM, EVERYTHING),
    ),
    "insert_disk_pd": (
        "disks", "insert",
        requests.insert_disk(CLAIM, DiskSpec(type="pd-ssd", size_gib=20), *WHERE),
    ),
    "insert_disk_hyperdisk": (
        "disks", "insert", requests.insert_disk(CLAIM, BALANCED, "my-project", "us-central1-a", 1),
    ),
    "insert_disk_copied_and_encrypted": (
        "disks", "insert",
        requests.insert_disk(
            CLAIM, BALANCED, *WHERE, kms_key=KEY, snapshot="projects/p/global/snapshots/filled"
        ),
    ),
    "insert_disk_of_a_region": (
        "regionDisks", "insert",
        requests.insert_disk(
            CLAIM, DiskSpec(type="pd-ssd-regional", size_gib=20), "my-project", "us-central1", 0,
            replicas=("us-central1-a", "us-central1-b"),
        ),
    ),
    "attach_disk_of_a_region": (
        "instances", "attachDisk", requests.attach_disk("01jlease", *WHERE, scope="us-central1"),
    ),
    "attach_disk": ("instances", "attachDisk", requests.attach_disk("01jlease", *WHERE)),
    "set_auto_delete": (
        "instances", "setDiskAutoDelete", requests.set_auto_delete("01jlease", "us-central1-a", 0),
    ),
    "delete": (
        "disks", "delete",
        requests.delete("01jlease", {"zone": "us-central1-a", "disk": "forgotten"}, "1"),
    ),
}  # fmt: skip


@functools.cache
def method(name: str) -> Method:
    """A method of Google's description of the service, which is 3 MB of JSON."""
    return next(one for found in methods().values() for one in found if one.name == name)


def body_of(request: dict[str, Any]) -> Any:
    return next((value for key, value in request.items() if key.endswith("Resource")), None)


@pytest.mark.parametrize("name", CASES)
def test_a_request_is_what_its_file_says(name: str, golden: Golden) -> None:
    golden.check(f"requests/gcp/{name}.json", json.dumps(CASES[name][2], indent=2))


def test_no_file_is_left_of_a_request_that_is_gone() -> None:
    assert {file.stem for file in (PLACE / "requests/gcp").iterdir()} == set(CASES)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_googles_description_of_the_service_accepts_a_request(name: str) -> None:
    collection, verb, request = CASES[name]
    assert body_problems(method(f"{collection}.{verb}"), body_of(request)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_sdk_has_every_field_of_a_request(name: str) -> None:
    from google.cloud import compute_v1

    collection, verb, request = CASES[name]
    message = {
        "firewalls insert": compute_v1.InsertFirewallRequest,
        "instances insert": compute_v1.InsertInstanceRequest,
        "disks insert": compute_v1.InsertDiskRequest,
        "regionDisks insert": compute_v1.InsertRegionDiskRequest,
        "instances attachDisk": compute_v1.AttachDiskInstanceRequest,
        "instances setDiskAutoDelete": compute_v1.SetDiskAutoDeleteInstanceRequest,
        "disks delete": compute_v1.DeleteDiskRequest,
    }[f"{collection} {verb}"]
    assert message.from_json(json.dumps({"project": "my-project", **request}))


def test_the_request_id_is_the_same_for_the_same_request_and_for_no_other() -> None:
    disk = DiskSpec(type="pd-ssd", size_gib=20)
    first = requests.insert_disk(CLAIM, disk, *WHERE)["requestId"]
    assert requests.insert_disk(CLAIM, disk, *WHERE)["requestId"] == first
    others = [
        requests.insert_disk(CLAIM, disk, "my-project", "us-central1-b", 0),
        requests.insert_disk(CLAIM, disk, "my-project", "us-central1-a", 1),
        requests.insert_disk(CLAIM, disk.model_copy(update={"size_gib": 21}), *WHERE),
        requests.insert_disk(CLAIM.model_copy(update={"lease_id": "02j"}), disk, *WHERE),
        requests.insert_instance(CLAIM, LAUNCH),
    ]
    assert first not in {other["requestId"] for other in others}


def test_a_second_try_is_not_answered_with_the_outcome_of_the_first() -> None:
    tries = [requests.attach_disk("01jlease", *WHERE, attempt=n)["requestId"] for n in range(3)]
    assert len(set(tries)) == 3


@pytest.mark.parametrize(
    ("run_s", "seconds"), [(0.0, "30"), (29.0, "30"), (7200.2, "7201"), (1e9, "10368000")]
)
def test_a_machine_runs_for_as_long_as_google_allows_at_most(run_s: float, seconds: str) -> None:
    from dataclasses import replace

    request = requests.insert_instance(CLAIM, replace(LAUNCH, run_s=run_s))
    scheduling = request["instanceResource"]["scheduling"]
    assert scheduling["maxRunDuration"] == {"seconds": seconds}
    assert scheduling["instanceTerminationAction"] == "DELETE"


def test_a_machine_asked_for_again_soon_is_the_same_request() -> None:
    ends = CLAIM.expires_at
    assert run_s(CLAIM, ends - 7000) == run_s(CLAIM, ends - 6950) == 7200
    assert run_s(CLAIM, ends + 5) == 0
    for left in (1.0, 299.0, 300.0, 301.0):
        late = run_s(CLAIM, ends - left) - left
        assert 0 <= late < GUEST_GRACE_S, "not before the lease ends, and before the guest's timer"


def test_labels_are_such_as_google_takes() -> None:
    claim = CLAIM.model_copy(update={"owner": "Jürgen Müller@" + "x" * 80, "version": "0.1.0+dev"})
    found = checked(requests.labels(claim), "labels")
    assert found["diskbench-lease"] == "01jlease"
    assert found["diskbench-expires"] == "1800000000"
    assert found["diskbench-version"] == "0_1_0_dev"


def test_a_firewall_rule_says_whose_it_is() -> None:
    rule = requests.insert_firewall(CLAIM, "n", "203.0.113.7/32")["firewallResource"]
    assert requests.lease_of_rule(rule) == ("01jlease", 1_800_000_000.0)
    assert requests.lease_of_rule({**rule, "name": "somebodys"}) is None
    assert requests.lease_of_rule({"name": "diskbench-01jlease-ssh"}) is None


def test_no_secret_is_shown_by_what_describes_a_machine() -> None:
    assert "cloud-config" not in repr(LAUNCH)
