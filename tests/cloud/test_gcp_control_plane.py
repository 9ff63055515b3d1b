"""The emulated Compute Engine sells what Google sells, and refuses what Google refuses."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cloud.rented_gcp import (
    UBUNTU,
    ZONE,
    Gcp,
    disk,
    insert,
    let_in,
    refused,
    wanted,
)

pytestmark = pytest.mark.slow  # an emulated cloud answers over HTTP


def boot(**more: Any) -> dict[str, Any]:
    params = {"source_image": UBUNTU, "disk_size_gb": 10} | more
    return {"boot": True, "auto_delete": True, "initialize_params": params}


def type_url(kind: str, zone: str = ZONE) -> str:
    return f"zones/{zone}/diskTypes/{kind}"


def machine(kind: str, zone: str = ZONE) -> dict[str, Any]:
    return {"machine_type": f"zones/{zone}/machineTypes/{kind}"}


def make(gcp: Gcp, **asked: Any) -> Any:
    """The operation that makes a disk named `d`."""
    return gcp.call("Disks", "insert_unary", zone=ZONE, disk_resource={"name": "d", **asked})


# Disks.


@pytest.mark.parametrize(
    "asked",
    [
        {"type_": type_url("pd-ssd"), "size_gb": 9},
        {"type_": type_url("pd-ssd"), "size_gb": 65_537},
        {"type_": type_url("pd-ssd"), "size_gb": 20, "provisioned_iops": 3000},
        {"type_": type_url("pd-gold"), "size_gb": 20},
        {"type_": type_url("pd-ssd", "us-east1-b"), "size_gb": 20},
        {"type_": type_url("local-ssd"), "size_gb": 375},
        {"type_": type_url("pd-extreme"), "size_gb": 500, "provisioned_iops": 2000},
        {"type_": type_url("hyperdisk-balanced"), "size_gb": 4, "provisioned_iops": 2001},
        {
            "type_": type_url("hyperdisk-balanced"),
            "size_gb": 100,
            "provisioned_iops": 3000,
            "provisioned_throughput": 751,
        },
        {"type_": type_url("hyperdisk-extreme"), "size_gb": 63},
        {"type_": type_url("hyperdisk-extreme"), "size_gb": 64, "provisioned_throughput": 200},
        {"type_": type_url("hyperdisk-throughput"), "size_gb": 2047},
        {
            "type_": type_url("hyperdisk-throughput"),
            "size_gb": 2048,
            "provisioned_throughput": 181,
        },
    ],
)
def test_a_disk_that_is_not_sold_is_refused(gcp: Gcp, asked: dict[str, Any]) -> None:
    with refused(400, "invalid"):
        make(gcp, **asked)
    assert gcp.left() == []


@pytest.mark.parametrize(
    ("kind", "size", "iops", "throughput"),
    [
        ("pd-standard", 10, 0, 0),
        ("pd-extreme", 500, 100_000, 0),
        ("hyperdisk-balanced", 100, 3600, 290),
        ("hyperdisk-balanced", 4, 2000, 146),
        ("hyperdisk-extreme", 64, 6400, 0),
        ("hyperdisk-throughput", 2048, 0, 180),
    ],
)
def test_a_disk_has_what_its_type_gives_where_nothing_is_asked(
    gcp: Gcp, kind: str, size: int, iops: int, throughput: int
) -> None:
    disk(gcp, kind=kind, size=size)
    made = gcp.call("Disks", "get", zone=ZONE, disk="data")
    assert (made.provisioned_iops, made.provisioned_throughput) == (iops, throughput)


def test_a_disk_that_is_being_made_is_not_deleted_yet(gcp: Gcp) -> None:
    make(gcp, size_gb=20)
    with refused(400, "resourceNotReady"):
        gcp.call("Disks", "delete_unary", zone=ZONE, disk="d")


# Machines.


@pytest.mark.parametrize(
    ("kind", "disk_type"),
    [
        ("n4-standard-4", "pd-balanced"),
        ("c3-standard-8", "pd-standard"),
        ("c4-standard-8", "pd-ssd"),
        ("n2-standard-4", "pd-extreme"),
        ("n2-standard-4", "hyperdisk-balanced"),
        ("e2-standard-4", "hyperdisk-balanced"),
    ],
)
def test_a_machine_refuses_disks_it_does_not_take(gcp: Gcp, kind: str, disk_type: str) -> None:
    params = {"disk_type": type_url(disk_type), "disk_size_gb": 500}
    new = {"auto_delete": True, "initialize_params": params}
    first = "hyperdisk-balanced" if kind[1] == "4" else "pd-balanced"
    asked = wanted(disks=[boot(disk_type=type_url(first)), new], **machine(kind))
    with refused(400, "badRequest") as caught:
        insert(gcp, asked)
    assert "features are not compatible" in str(caught.value)
    assert gcp.left() == []


@pytest.mark.parametrize(
    "changed",
    [
        machine("n2-standard-5"),
        machine("n2-standard-4", "us-east1-b"),
        machine("t2a-standard-4"),
        {"machine_type": "n2-standard-4"},
        {"disks": []},
        {"disks": [{"auto_delete": True, "initialize_params": {"source_image": UBUNTU}}]},
        {"disks": [boot(disk_size_gb=9)]},
        {"disks": [boot(), {"type_": "SCRATCH", "auto_delete": True, "device_name": "a/b"}]},
        {"disks": [boot(), {"type_": "SCRATCH"}]},
        {"network_interfaces": []},
        {"metadata": {"items": [{"key": "a", "value": ""}, {"key": "a", "value": "1"}]}},
        {"tags": {"items": ["Let_in"]}},
        {"labels": {"Lease": "a1"}},
        {"scheduling": {"max_run_duration": {"seconds": 60}}},
        {
            "scheduling": {
                "max_run_duration": {"seconds": 29},
                "instance_termination_action": "DELETE",
            }
        },
        {"scheduling": {"instance_termination_action": "DELETE"}},
        {"scheduling": {"instance_termination_action": "BURN"}},
    ],
    ids=str,
)
def test_a_machine_that_cannot_be_is_refused(gcp: Gcp, changed: dict[str, Any]) -> None:
    with refused(400, "invalid"):
        insert(gcp, wanted(**changed))
    assert gcp.left() == []


def test_an_image_that_is_not_there_is_not_found(gcp: Gcp) -> None:
    with refused(404, "notFound"):
        insert(gcp, wanted(disks=[boot(source_image="global/images/mine")]))


def test_local_disks_are_not_for_every_machine(gcp: Gcp) -> None:
    local = {"type_": "SCRATCH", "auto_delete": True}
    with refused(400, "badRequest"):
        insert(gcp, wanted(disks=[boot(), local], **machine("e2-standard-4")))


def test_a_disk_of_another_zone_is_refused(gcp: Gcp) -> None:
    far = disk(gcp, zone="us-central1-b")
    with refused(400, "invalid"):
        insert(gcp, wanted(disks=[boot(), {"source": far}]))


# Firewall rules.


@pytest.mark.parametrize(
    "changed",
    [
        {"source_ranges": ["127.0.0.1/8"]},
        {"source_ranges": ["everybody"]},
        {"denied": [{"I_p_protocol": "tcp"}]},
    ],
    ids=str,
)
def test_a_rule_that_is_none_is_refused(gcp: Gcp, changed: dict[str, Any]) -> None:
    with refused(400, "invalid"):
        let_in(gcp, **changed)
