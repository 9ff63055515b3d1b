"""Machines of Google Cloud where an organisation restricts them: without an external address, by a
tunnel, shielded, in a network of custom mode; and what is said where a constraint forbids one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cloud.rented_gcp import Gcp
from tests.contract.gcp_cloud import GcpCloud

from diskbench.catalog.books import Books
from diskbench.errors import AccessDenied, HostUnavailable, InvalidValue
from diskbench.model.options import RentSpec
from diskbench.model.rental import Acquired
from diskbench.providers.gcp.plugin import GcpOptions
from diskbench.providers.options import NetworkOptions
from diskbench.testing.rig import RigOnlooker, cell, claim, scope_of

OLD_IMAGE = "projects/bring-your-own/global/images/seasoned-v20180101"
PRIVATE = NetworkOptions(no_public_ip=True)
TUNNEL = GcpOptions(iap=True)


class User(GcpCloud):
    """Somebody who rents, and gives everything back."""

    def rent(self, **more: Any) -> Acquired:
        spec = RentSpec(**self.spec.model_dump(exclude_defaults=True) | more)
        self.provider.check(cell(self, spec))
        rental = self.provider.resolve(cell(self, spec), Books())
        mine = claim("one").model_copy(update={"tags": spec.tags})
        return self.provider.acquire(mine, rental, RigOnlooker())

    def machine(self) -> Any:
        (row,) = self.gcp.cloud.of_kind("instances").values()
        return row


@pytest.fixture
def user(gcp: Gcp, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    made = User(gcp, monkeypatch, tmp_path)
    yield made
    scope = scope_of(made)
    gcp.cloud.constraints.enforced.clear()
    made.provider.release("one", scope)
    assert gcp.left() == []


def test_without_a_public_address_the_private_one_is_reached(user: User) -> None:
    acquired = user.rent(network=PRIVATE)
    (nic,) = user.machine()["networkInterfaces"]
    assert "accessConfigs" not in nic
    assert acquired.address == nic["networkIP"]


def test_a_tunnel_of_iaps_reaches_a_machine_that_nobody_else_does(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{user.gcp.cloud.programs}{os.pathsep}{os.environ['PATH']}")
    user.gcp.cloud.constraints.enforced.add("compute.vmExternalIpAccess")
    acquired = user.rent(gcp=TUNNEL)
    assert "accessConfigs" not in user.machine()["networkInterfaces"][0]
    (rule,) = user.gcp.cloud.of_kind("firewalls").values()
    assert rule["sourceRanges"] == ["35.235.240.0/20"]
    assert acquired.ssh is not None
    assert "start-iap-tunnel" in Path(acquired.ssh.config).read_text()


def test_without_gcloud_a_tunnel_is_refused_before_anything_is_rented(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(HostUnavailable, match="gcloud"):
        user.rent(gcp=TUNNEL)


@pytest.mark.parametrize(
    ("constraint", "advice"),
    [("compute.vmExternalIpAccess", "--iap"), ("compute.requireOsLogin", "exempt")],
)
def test_what_a_constraint_forbids_is_named_with_it(
    user: User, constraint: str, advice: str
) -> None:
    user.gcp.cloud.constraints.enforced.add(constraint)
    with pytest.raises(AccessDenied) as refused:
        user.rent()
    assert f"constraint {constraint} forbids it" in refused.value.message
    assert advice in refused.value.advice


def test_where_shielded_machines_are_required_one_is_made_or_the_image_named(user: User) -> None:
    user.gcp.cloud.constraints.enforced.add("compute.requireShieldedVm")
    with pytest.raises(AccessDenied, match="requireShieldedVm") as refused:
        user.rent(image=OLD_IMAGE)
    assert "--image" in refused.value.advice
    user.rent()
    assert user.machine()["shieldedInstanceConfig"]["enableSecureBoot"] is True


def test_a_default_network_in_custom_mode_gets_its_subnetwork(user: User) -> None:
    user.gcp.cloud.custom_mode = True
    user.rent()
    assert user.machine()["networkInterfaces"][0]["subnetwork"].endswith("own-us-central1")


def test_a_network_with_ipv6_only_is_refused_by_name(user: User) -> None:
    user.gcp.cloud.stack = "IPV6_ONLY"
    with pytest.raises(InvalidValue, match="IPV6_ONLY"):
        user.rent()
    user.gcp.cloud.stack = "IPV4_ONLY"


def test_the_local_disks_of_a_z3_are_as_large_as_google_says(user: User) -> None:
    acquired = user.rent(disk="local-ssd", size_gib=None, instance_type="z3-highmem-8")
    assert acquired.size_bytes == 3000 * 2**30


@pytest.mark.parametrize(
    ("machine", "policy"),
    [
        ("h4d-standard-192", "TERMINATE"),
        ("c3-standard-192-metal", "TERMINATE"),
        ("z3-highmem-88", "TERMINATE"),
        ("z3-highmem-8", "MIGRATE"),
        ("n4-standard-8", "MIGRATE"),
    ],
)
def test_a_machine_gets_the_maintenance_policy_that_it_takes(
    user: User, machine: str, policy: str
) -> None:
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
    user: User, reason: str, message: str, sent: str
) -> None:
    user.gcp.faults.refuse("instances.insert", reason, message)
    user.rent(instance_type="n2-standard-8")
    asked = [one.body["scheduling"] for one in user.gcp.faults.calls("instances.insert")]
    assert [one.get("onHostMaintenance") for one in asked] == [None, sent]
