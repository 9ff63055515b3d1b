"""What was sent for a lease, read from operations."""

import pytest

from diskbench.providers.gcp.leases import still_made

ZONE = "https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a"
MACHINE = f"{ZONE}/instances/diskbench-one-machine"


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
