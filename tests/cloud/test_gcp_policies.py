"""Google Cloud of companies: machines without an external address, by a tunnel, shielded, in
a network of custom mode; labels that are demanded, keys of their own, no billing, and quotas that
no region tells; and what is said where a constraint forbids something."""

import os
from pathlib import Path

import pytest
from emulators.gcp.cloud import Snapshot
from emulators.gcp.regions import last
from tests.contract.clouds import GcpCloud

from diskbench.catalog.books import Books
from diskbench.errors import AccessDenied, HostUnavailable, InvalidValue, QuotaExceeded
from diskbench.model.options import RentSpec
from diskbench.providers.gcp.plugin import GcpOptions
from diskbench.providers.options import NetworkOptions
from diskbench.testing.rig import RigOnlooker, cell, claim, scope_of

OLD_IMAGE = "projects/bring-your-own/global/images/seasoned-v20180101"
PRIVATE = NetworkOptions(no_public_ip=True)
TUNNEL = GcpOptions(iap=True)
KEY = "projects/keys/locations/us-central1/keyRings/ring/cryptoKeys/disks"


class User(GcpCloud):
    """Somebody who rents, and gives everything back."""

    def rent(self, **more):
        spec = RentSpec(**self.spec.model_dump(exclude_defaults=True) | more)
        self.provider.check(cell(self, spec))
        rental = self.provider.resolve(cell(self, spec), Books())
        mine = claim("one").model_copy(update={"tags": spec.tags})
        return self.provider.acquire(mine, rental, RigOnlooker())

    def machine(self):
        (row,) = self.gcp.cloud.of_kind("instances").values()
        return row


@pytest.fixture
def user(gcp, tmp_path, monkeypatch):
    made = User(gcp, monkeypatch, tmp_path)
    yield made
    scope = scope_of(made)
    gcp.cloud.constraints.enforced.clear()
    made.provider.release("one", scope)
    assert gcp.left() == []


def test_without_a_public_address_the_private_one_is_reached_in_custom_mode_in_its_subnetwork(user):
    user.gcp.cloud.custom_mode = True
    acquired = user.rent(network=PRIVATE)
    (nic,) = user.machine()["networkInterfaces"]
    assert nic["subnetwork"].endswith("own-us-central1")
    assert "accessConfigs" not in nic
    assert acquired.address == nic["networkIP"]


def test_a_tunnel_of_iaps_needs_gcloud_and_reaches_a_machine_that_is_private(user, monkeypatch):
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(HostUnavailable, match="gcloud"):
        user.rent(gcp=TUNNEL)
    monkeypatch.setenv("PATH", f"{user.gcp.cloud.programs}{os.pathsep}{path}")
    user.gcp.cloud.constraints.enforced.add("compute.vmExternalIpAccess")
    acquired = user.rent(gcp=TUNNEL)
    assert "accessConfigs" not in user.machine()["networkInterfaces"][0]
    (rule,) = user.gcp.cloud.of_kind("firewalls").values()
    assert rule["sourceRanges"] == ["35.235.240.0/20"]
    assert "start-iap-tunnel" in Path(acquired.ssh.config).read_text()


@pytest.mark.parametrize(
    ("constraint", "advice"),
    [("compute.vmExternalIpAccess", "--iap"), ("compute.requireOsLogin", "exempt")],
)
def test_what_a_constraint_forbids_is_named_with_it(user, constraint, advice):
    user.gcp.cloud.constraints.enforced.add(constraint)
    with pytest.raises(AccessDenied) as refused:
        user.rent()
    assert f"constraint {constraint} forbids it" in refused.value.message
    assert advice in refused.value.advice


def test_where_shielded_machines_are_required_one_is_made_or_the_image_named(user):
    user.gcp.cloud.constraints.enforced.add("compute.requireShieldedVm")
    with pytest.raises(AccessDenied, match="requireShieldedVm") as refused:
        user.rent(image=OLD_IMAGE)
    assert "--image" in refused.value.advice
    user.rent()
    assert user.machine()["shieldedInstanceConfig"]["enableSecureBoot"] is True


def test_the_local_disks_of_a_z3_are_as_large_as_google_says(user):
    acquired = user.rent(disk="local-ssd", size_gib=None, instance_type="z3-highmem-8")
    assert acquired.size_bytes == 3000 * 2**30


@pytest.mark.parametrize(
    ("machine", "policy"), [("z3-highmem-88", "TERMINATE"), ("n4-standard-8", "MIGRATE")]
)
def test_a_machine_gets_the_maintenance_policy_that_it_takes(user, machine, policy):
    user.rent(disk="hyperdisk-balanced", size_gib=20, instance_type=machine)
    assert user.machine()["scheduling"]["onHostMaintenance"] == policy


@pytest.mark.parametrize(
    ("reason", "message", "sent"),
    [
        ("badRequest", "OnHostMaintenance must be set to MIGRATE for machine type - n2-standard-8.",
         "MIGRATE"),
        ("invalid",
         "This machine type only supports on_host_maintenance = OnHostMaintenance.TERMINATE.",
         "TERMINATE"),
        ("badRequest", "Instances with guest accelerators do not support live migration.",
         "TERMINATE"),
    ],
)  # fmt: skip
def test_where_google_names_the_other_maintenance_policy_the_machine_is_asked_for_again(
    user, reason, message, sent
):
    user.gcp.faults.refuse("instances.insert", reason, message)
    user.rent(instance_type="n2-standard-8")
    asked = [one.body["scheduling"] for one in user.gcp.faults.calls("instances.insert")]
    assert [one.get("onHostMaintenance") for one in asked] == [None, sent]


def denied(user, **more):
    """The refusal, after which everything is given back."""
    with pytest.raises(AccessDenied) as refused:
        user.rent(**more)
    user.gcp.cloud.billed = True
    user.provider.release("one", scope_of(user))
    assert user.gcp.left() == []
    return refused.value


def test_what_is_demanded_is_told_with_the_option_that_gives_it(user):
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
def test_a_violated_constraint_is_named_whatever_the_reason(user, reason):
    said = "Constraint constraints/compute.vmExternalIpAccess violated for project 1."
    user.gcp.faults.refuse("instances.insert", reason, said, status=403)
    error = denied(user)
    assert "constraint compute.vmExternalIpAccess" in error.message
    assert "--iap" in error.advice


def test_the_quota_of_a_family_is_named_when_it_is_used_up(user):
    user.gcp.faults.quota("CPUS_PER_VM_FAMILY", 4)
    with pytest.raises(QuotaExceeded, match="'CPUS_PER_VM_FAMILY'"):
        user.rent(disk="hyperdisk-balanced", size_gib=20, instance_type="n4-standard-8")


def test_a_lease_passes_where_labels_and_a_key_are_demanded_of_everything(user):
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


def test_a_key_in_another_form_is_refused_before_asking_and_a_network_of_ipv6_by_name(user):
    with pytest.raises(InvalidValue, match="--kms-key 'my-key'"):
        user.rent(kms_key="my-key")
    assert user.gcp.faults.asked == []
    user.gcp.cloud.stack = "IPV6_ONLY"
    with pytest.raises(InvalidValue, match="IPV6_ONLY"):
        user.rent()
    user.gcp.cloud.stack = "IPV4_ONLY"


def test_a_disk_holds_what_its_snapshot_held_which_is_there_and_fits(user):
    cloud = user.gcp.cloud
    path = f"projects/{cloud.project}/global/snapshots/filled"
    missing, large = ("has no snapshot filled", "snapshots list"), ("holds 20 GiB", "--size 20")
    for says, advice in (missing, large):
        with pytest.raises(InvalidValue, match=says) as refused:
            user.rent(snapshot="filled")
        assert advice in refused.value.advice
        assert user.gcp.left() == []
        cloud.snapshots[path] = Snapshot(20)
    cloud.snapshots[path] = Snapshot(10, b"filled before")
    (told,) = user.rent(snapshot="filled").facts["volumes"]
    assert told["snapshot"] == "filled"
    with cloud.image(told["id"]).open("rb") as file:
        assert file.read(13) == b"filled before"


@pytest.mark.parametrize(
    ("disk", "more", "google"),
    [
        ("pd-ssd-regional", {}, "pd-ssd"),
        ("hyperdisk-balanced-high-availability", {"iops": 4000, "throughput_mib_per_s": 200},
         "hyperdisk-balanced-high-availability"),
    ],
)  # fmt: skip
def test_a_disk_in_two_zones_is_rented_told_and_given_back(user, disk, more, google):
    cloud = user.gcp.cloud
    (told,) = user.rent(disk=disk, **more).facts["volumes"]
    (row,) = (row for row in cloud.of_kind("disks").values() if "replicaZones" in row)
    (machine,) = cloud.of_kind("instances").values()
    assert machine["zone"] in row["replicaZones"]
    assert (told["type"], len(told["replica_zones"])) == (google, 2)
    assert told["zone"] == last(row["region"])
    assert told["iops"] == more.get("iops")


def test_where_a_zone_has_no_capacity_its_disk_in_two_zones_goes_with_it(user):
    user.gcp.faults.stockout(zone="us-central1-a")
    (told,) = user.rent(disk="pd-balanced-regional").facts["volumes"]
    assert told["replica_zones"] == ["us-central1-b", "us-central1-a"]
