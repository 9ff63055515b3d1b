"""Google Cloud as companies have it: labels that are demanded, keys of their own, no billing, and
quotas that no region tells."""

from __future__ import annotations

from typing import Any

import pytest
from emulators.gcp.cloud import Snapshot
from emulators.gcp.regions import last
from tests.cloud.rented_gcp import Gcp
from tests.cloud.test_gcp_policies import User

from diskbench.errors import AccessDenied, InvalidValue, QuotaExceeded
from diskbench.testing.rig import scope_of

KEY = "projects/keys/locations/us-central1/keyRings/ring/cryptoKeys/disks"


@pytest.fixture
def user(gcp: Gcp, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> User:
    return User(gcp, monkeypatch, tmp_path)


def release(user: User) -> None:
    user.provider.release("one", scope_of(user))
    assert user.gcp.left() == []


def denied(user: User, **more: Any) -> AccessDenied:
    with pytest.raises(AccessDenied) as refused:
        user.rent(**more)
    user.gcp.cloud.billed = True
    release(user)
    return refused.value


def test_what_is_demanded_is_told_with_the_option_that_gives_it(user: User) -> None:
    demands = user.gcp.cloud.constraints
    user.gcp.cloud.billed = False
    assert "gcloud billing projects link" in denied(user).advice
    command = f"gcloud kms keys add-iam-policy-binding {KEY} "
    assert command in denied(user, kms_key=KEY).advice, "Compute Engine may not use it"
    demands.labels.add("cost-center")
    unlabelled = denied(user)
    assert "custom.requireLabels" in unlabelled.message
    assert "--tag cost-center=VALUE" in unlabelled.advice
    demands.labels.clear()
    demands.enforced.add("gcp.restrictNonCmekServices")
    assert "--kms-key" in denied(user).advice


@pytest.mark.parametrize("reason", ["forbidden", "invalid", "conditionNotMet"])
def test_a_violated_constraint_is_named_whatever_the_reason(user: User, reason: str) -> None:
    said = "Constraint constraints/compute.vmExternalIpAccess violated for project 1."
    user.gcp.faults.refuse("instances.insert", reason, said, status=403)
    error = denied(user)
    assert "constraint compute.vmExternalIpAccess" in error.message
    assert "--iap" in error.advice


def test_the_quota_of_a_family_is_named_when_it_is_used_up(user: User) -> None:
    user.gcp.faults.quota("CPUS_PER_VM_FAMILY", 4)
    with pytest.raises(QuotaExceeded, match="'CPUS_PER_VM_FAMILY'"):
        user.rent(disk="hyperdisk-balanced", size_gib=20, instance_type="n4-standard-8")
    release(user)


def test_a_lease_passes_where_labels_and_a_key_are_demanded_of_everything(user: User) -> None:
    cloud = user.gcp.cloud
    cloud.constraints.labels.add("cost-center")
    cloud.constraints.enforced.add("gcp.restrictNonCmekServices")
    cloud.keys.add(KEY)
    user.rent(tags=(("cost-center", "r42"),), kms_key=KEY)
    rows = [*cloud.of_kind("instances").values(), *cloud.of_kind("disks").values()]
    assert len(rows) == 3, "machine, root disk and disk"
    assert {row["labels"]["cost-center"] for row in rows} == {"r42"}
    used = {row["diskEncryptionKey"]["kmsKeyName"] for row in cloud.of_kind("disks").values()}
    assert used == {f"{KEY}/cryptoKeyVersions/1"}
    release(user)


def test_a_key_in_another_form_is_refused_before_anything_is_asked(user: User) -> None:
    with pytest.raises(InvalidValue, match="--kms-key 'my-key'"):
        user.rent(kms_key="my-key")
    assert user.gcp.faults.asked == []


def test_a_disk_holds_what_its_snapshot_held(user: User) -> None:
    cloud = user.gcp.cloud
    path = f"projects/{cloud.project}/global/snapshots/filled"
    cloud.snapshots[path] = Snapshot(10, b"filled before")
    (told,) = user.rent(snapshot="filled").facts["volumes"]
    assert told["snapshot"] == "filled"
    with cloud.image(told["id"]).open("rb") as file:
        assert file.read(13) == b"filled before"
    release(user)


@pytest.mark.parametrize(
    ("disk", "more", "google"),
    [
        ("pd-ssd-regional", {}, "pd-ssd"),
        ("hyperdisk-balanced-high-availability", {"iops": 4000, "throughput_mib_per_s": 200},
         "hyperdisk-balanced-high-availability"),
    ],
)  # fmt: skip
def test_a_disk_in_two_zones_is_rented_told_and_given_back(
    user: User, disk: str, more: dict[str, Any], google: str
) -> None:
    cloud = user.gcp.cloud
    (told,) = user.rent(disk=disk, **more).facts["volumes"]
    (row,) = (row for row in cloud.of_kind("disks").values() if "replicaZones" in row)
    (machine,) = cloud.of_kind("instances").values()
    assert machine["zone"] in row["replicaZones"]
    assert (told["type"], len(told["replica_zones"])) == (google, 2)
    assert told["zone"] == last(row["region"])
    assert told["iops"] == more.get("iops")
    release(user)


def test_where_a_zone_has_no_capacity_its_disk_in_two_zones_goes_with_it(user: User) -> None:
    user.gcp.faults.stockout(zone="us-central1-a")
    (told,) = user.rent(disk="pd-balanced-regional").facts["volumes"]
    assert told["replica_zones"] == ["us-central1-b", "us-central1-a"]
    release(user)


@pytest.mark.parametrize(
    ("size_gib", "says", "advice"),
    [(None, "has no snapshot filled", "snapshots list"), (20, "holds 20 GiB", "--size 20")],
)
def test_a_snapshot_that_is_not_there_or_does_not_fit_is_refused_before_renting(
    user: User, size_gib: int | None, says: str, advice: str
) -> None:
    path = f"projects/{user.gcp.cloud.project}/global/snapshots/filled"
    if size_gib is not None:
        user.gcp.cloud.snapshots[path] = Snapshot(size_gib)
    with pytest.raises(InvalidValue, match=says) as refused:
        user.rent(snapshot="filled")
    assert advice in refused.value.advice
    assert user.gcp.left() == []
