"""What Compute Engine is sent: each request is a file, and Google's own description accepts it.
What was sent for a lease, read back from operations."""

import functools
import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
from emulators.gcp.discovery import Method, match, methods
from emulators.gcp.labels import checked
from emulators.gcp.schema import body_problems, request_problems
from tests.rigs.golden import PLACE

from diskbench.model.options import RentSpec
from diskbench.model.rental import Claim
from diskbench.providers.gcp import disk_request as wanted
from diskbench.providers.gcp import requests
from diskbench.providers.gcp.client import API, GceTiming, parts_of
from diskbench.providers.gcp.leases import still_made
from diskbench.providers.gcp.provision import run_s
from diskbench.providers.gcp.requests import GUEST_GRACE_S, GcpOrder
from diskbench.providers.keys import LeaseKeys
from diskbench.providers.options import EmulationOptions

CLAIM = Claim(lease_id="01jlease", expires_at=1_800_000_000.7, owner="Me@Here", version="0.1.0")
ZONE = "us-central1-a"
OWN = "projects/my-project/regions/us-central1/subnetworks/mine"


@dataclass(frozen=True, kw_only=True)
class Plain(GcpOrder):
    """An order without the data for the first boot, which has keys."""

    @property
    def user_data(self) -> str:
        return "#cloud-config\n"


def order(claim: Claim = CLAIM, **more: Any) -> GcpOrder:
    """The order of a disk (`type`, `size_gib` …) at a machine; `more` are details, else options."""
    asked = {name: more.pop(name) for name in wanted.GcpDiskRequest.model_fields if name in more}
    details = {name: more.pop(name) for name in wanted.GcpResolved.model_fields if name in more}
    disk = wanted.GcpDiskRequest(**{"kind": "disk", "type": "pd-ssd", "size_gib": 20, **asked})
    network = wanted.GcpNetwork(network="projects/my-project/global/networks/default")
    machine = wanted.GcpMachine(
        type="n2-standard-8", arch="x86_64", vcpus=8, memory_bytes=2**35, max_disks=128
    )
    image = wanted.GcpImage(
        link="projects/ubuntu-os-cloud/global/images/ubuntu-2404", name="", arch="x86_64",
        root_gib=10, user="ubuntu",
    )  # fmt: skip
    resolved: dict[str, Any] = {
        "boot_type": "pd-balanced", "network": network, "ssh_cidr": "203.0.113.7/32",
        "emulated": False, "reach": "private", **details,
    }  # fmt: skip
    edge: Any = None
    keys = LeaseKeys(
        user_private="", user_public="ssh-ed25519 AAAA", host_private="", host_public=""
    )  # type: ignore[arg-type]
    return Plain(
        claim=claim, spec=RentSpec(**more), keys=keys, watch=edge, timing=GceTiming(), compute=edge,
        details=wanted.GcpResolved(
            project="my-project", region="us-central1", requested=disk, size_gib=disk.size_gib,
            machine=machine, image=image, zones=(ZONE,), **resolved,
        ),
    )  # fmt: skip


LAUNCH = order()
KEY = "projects/p/locations/us-central1/keyRings/ring/cryptoKeys/disks"
EVERYTHING = order(
    kind="local-ssd", type="local-ssd", size_gib=375, count=2, interface="scsi", boot_type="",
    network=wanted.GcpNetwork(network="", subnetwork=OWN), tag="mine", emulated=True, kms_key=KEY,
    spot=True, placement="close-together", lab=EmulationOptions(noise=0.1, time_scale=60),
)  # fmt: skip
BALANCED = {
    "type": "hyperdisk-balanced", "size_gib": 100, "iops": 4000, "throughput_mib_per_s": 250,
}  # fmt: skip
REGIONAL = order(type="pd-ssd-regional", region_zones=(ZONE, "us-central1-b"))
COPIED = order(**BALANCED, kms_key=KEY, snapshot="projects/p/global/snapshots/filled")
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "insert_firewall": ("firewalls", "insert", requests.insert_firewall(LAUNCH)),
    "insert_instance": ("instances", "insert", requests.insert_instance(LAUNCH, ZONE, 7200.2)),
    "insert_instance_everything":
        ("instances", "insert", requests.insert_instance(EVERYTHING, ZONE, 5.0, "TERMINATE")),
    "insert_disk_pd": ("disks", "insert", requests.insert_disk(LAUNCH, ZONE, 0)),
    "insert_disk_hyperdisk": ("disks", "insert", requests.insert_disk(order(**BALANCED), ZONE, 1)),
    "insert_disk_copied_and_encrypted": ("disks", "insert", requests.insert_disk(COPIED, ZONE, 0)),
    "insert_disk_of_a_region": ("regionDisks", "insert", requests.insert_disk(REGIONAL, ZONE, 0)),
    "attach_disk_of_a_region": ("instances", "attachDisk", requests.attach_disk(REGIONAL, ZONE, 0)),
    "attach_disk": ("instances", "attachDisk", requests.attach_disk(LAUNCH, ZONE, 0)),
    "set_auto_delete":
        ("instances", "setDiskAutoDelete", requests.set_auto_delete(LAUNCH, ZONE, 0)),
    "delete":
        ("disks", "delete", requests.delete("01jlease", {"zone": ZONE, "disk": "forgotten"}, "1")),
}  # fmt: skip


@functools.cache
def method(name: str) -> Method:
    """A method of Google's description of the service, which is 3 MB of JSON."""
    return next(one for found in methods().values() for one in found if one.name == name)


@pytest.mark.parametrize("name", CASES)
def test_a_request_is_what_its_file_says(name, golden):
    golden.check(f"requests/gcp/{name}.json", json.dumps(CASES[name][2], indent=2))
    assert {file.stem for file in (PLACE / "requests/gcp").iterdir()} <= set(CASES), "one is left"


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_googles_description_of_the_service_accepts_a_request(name):
    collection, verb, request = CASES[name]
    call = f"{collection}.{verb}"
    _, path, query, body = parts_of(call, {"project": "my-project", **request})
    found = method(call)
    in_path = found.pattern.fullmatch(f"/compute/v1/{path}").groupdict()
    assert request_problems(found, in_path, query) + body_problems(found, body) == []


@pytest.mark.slow
def test_each_call_goes_where_googles_description_of_the_service_has_it() -> None:
    for call, path in API["paths"].items():
        names = [one for one in re.findall(r"{(\w+)}", path) if one != "project"]
        request = {"project": "my-project", **dict.fromkeys(names, "us-east1")}
        verb, sent, query, body = parts_of(call, request)
        found, in_path = match(verb, f"/compute/v1/{sent}")
        assert (found.name, in_path, query, body) == (call, request, {}, None)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_sdk_has_every_field_of_a_request(name):
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


def test_the_request_id_is_the_same_for_the_same_request_and_for_no_other():
    first = requests.insert_disk(LAUNCH, ZONE, 0)["requestId"]
    assert requests.insert_disk(order(), ZONE, 0)["requestId"] == first
    others = [
        requests.insert_disk(LAUNCH, "us-central1-b", 0),
        requests.insert_disk(LAUNCH, ZONE, 1),
        requests.insert_disk(order(size_gib=21), ZONE, 0),
        requests.insert_disk(order(CLAIM.model_copy(update={"lease_id": "02j"})), ZONE, 0),
        requests.insert_instance(LAUNCH, ZONE, 7200.2),
    ]
    assert first not in {other["requestId"] for other in others}
    # Or a second try would be answered with the outcome of the first.
    tries = {requests.attach_disk(LAUNCH, ZONE, 0, attempt=n)["requestId"] for n in range(3)}
    assert len(tries) == 3


@pytest.mark.parametrize(
    ("run_s", "seconds"), [(0.0, "30"), (29.0, "30"), (7200.2, "7201"), (1e9, "10368000")]
)
def test_a_machine_runs_for_as_long_as_google_allows_at_most(run_s, seconds):
    scheduling = requests.insert_instance(LAUNCH, ZONE, run_s)["instanceResource"]["scheduling"]
    assert scheduling["maxRunDuration"] == {"seconds": seconds}
    assert scheduling["instanceTerminationAction"] == "DELETE"


def test_a_machine_asked_for_again_soon_is_the_same_request():
    ends = CLAIM.expires_at
    assert run_s(CLAIM, ends - 7000) == run_s(CLAIM, ends - 6950) == 7200
    assert run_s(CLAIM, ends + 5) == 0
    for left in (1.0, 299.0, 300.0, 301.0):
        late = run_s(CLAIM, ends - left) - left
        assert 0 <= late < GUEST_GRACE_S, "not before the lease ends, and before the guest's timer"


def test_labels_are_such_as_google_takes_and_a_firewall_rule_says_whose_it_is():
    claim = CLAIM.model_copy(update={"owner": "Jürgen Müller@" + "x" * 80, "version": "0.1.0+dev"})
    found = checked(requests.labels(claim), "labels")
    told = [found[f"diskbench-{name}"] for name in ("lease", "expires", "version")]
    assert told == ["01jlease", "1800000000", "0_1_0_dev"]
    rule = requests.insert_firewall(LAUNCH)["firewallResource"]
    assert requests.lease_of_rule(rule) == ("01jlease", 1_800_000_000.0)
    assert requests.lease_of_rule({**rule, "name": "somebodys"}) is None
    assert requests.lease_of_rule({"name": "diskbench-01jlease-ssh"}) is None


ZONE_URL = "https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a"
MACHINE = f"{ZONE_URL}/instances/diskbench-one-machine"


def operation(kind, at, status="DONE", **more):
    started = f"2026-11-23T00:00:{at:02}Z"
    told = {"operationType": kind, "targetLink": MACHINE, "status": status, "insertTime": started}
    return {**told, **more}


FAILED = {"error": {"errors": [{"code": "STOCKOUT", "message": "none"}]}}


@pytest.mark.parametrize(
    ("operations", "is_there"),
    [
        ([operation("insert", 1, "RUNNING")], True),
        ([operation("insert", 1)], True),
        ([operation("insert", 1, **FAILED)], False),
        ([operation("insert", 1), operation("delete", 2)], False),
        ([operation("insert", 1), operation("delete", 2, "RUNNING")], True),
        ([operation("insert", 1), operation("delete", 2, **FAILED)], True),
        ([operation("delete", 2), operation("insert", 1)], False),
        ([operation("delete", 2), operation("insert", 3), operation("insert", 1)], True),
        ([operation("attachDisk", 1)], False),
    ],
)
def test_what_was_sent_is_told_by_the_last_operation_on_it(operations, is_there):
    made = {"name": "diskbench-one-machine", "zone": "us-central1-a"}
    told = "instance us-central1-a/diskbench-one-machine"
    assert still_made(operations) == ({told: made} if is_there else {})


def test_a_rule_has_no_zone():
    link = "https://www.googleapis.com/compute/v1/projects/p/global/firewalls/diskbench-one-ssh"
    found = still_made([operation("insert", 1, targetLink=link)])
    assert found == {"firewall diskbench-one-ssh": {"name": "diskbench-one-ssh"}}
