"""The role that `diskbench doctor --print-policy gcp` prints: with all of it a lease goes from the
first question to the last release, and without any one right something is refused that names it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from emulators.gcp.cloud import Snapshot
from emulators.gcp.server import ACCOUNT, fresh
from tests.cloud.eager import GCP
from tests.cloud.rented_gcp import Gcp
from tests.contract.gcp_cloud import GcpCloud

from diskbench.catalog.books import Books
from diskbench.errors import AccessDenied, DiskbenchError, UnknownName
from diskbench.model.options import RentSpec
from diskbench.model.rental import Rental, Scope
from diskbench.providers.gcp.client import GcpSessions, change
from diskbench.providers.gcp.doctor import OPTIONAL, permissions
from diskbench.providers.gcp.leases import sent
from diskbench.providers.gcp.plugin import GcpOptions
from diskbench.testing.rig import RigOnlooker, cell, claim

NAMED = "projects/ubuntu-os-cloud/global/images/ubuntu-2404-noble-amd64-v20261101"


class User(GcpCloud):
    """One who has the role, or all of it but one right."""

    @property
    def scope(self) -> Scope:
        return Scope(provider="gcp", account=self.gcp.cloud.project, endpoint=self.gcp.endpoint)

    @property
    def compute(self) -> Any:
        return GcpSessions().of_scope(self.scope, GCP)

    def resolved(self, **more: Any) -> Rental:
        typed = self.spec.model_dump(exclude_defaults=True) | {"instance_type": "n2-standard-2"}
        return self.provider.resolve(cell(self, RentSpec(**typed | more)), Books())

    def unknown_region(self) -> None:
        with pytest.raises(UnknownName):
            self.resolved(region="mars-north1")

    def placed(self) -> None:
        """None can be made here, so that it is refused, but for another reason."""
        with pytest.raises(DiskbenchError) as refused:
            self.provider.acquire(claim("one"), self.resolved(placement="close"), RigOnlooker())
        if isinstance(refused.value, AccessDenied):
            raise refused.value

    def copied(self) -> None:
        name = f"projects/{self.gcp.cloud.project}/global/snapshots/filled"
        self.gcp.cloud.snapshots[name] = Snapshot(10)
        self.rented(snapshot="filled")

    def rented(self, **more: Any) -> None:
        lease = str(uuid4())  # a second one of that name would be answered as the first was
        self.provider.acquire(claim(lease), self.resolved(**more), RigOnlooker())
        self.provider.release(lease, self.scope)

    def filled(self) -> None:
        lease, watch = str(uuid4()), RigOnlooker()
        rental = self.resolved()

        def fill() -> None:
            self.provider.acquire(claim(lease), rental, watch)

        self.provider.snapshot(claim(lease), rental, fill, watch)
        self.provider.release(lease, self.scope)

    def repaired(self) -> None:
        """As after an attachment of an earlier process that did not ask for autoDelete."""
        request = {
            "zone": "us-central1-a", "instance": "diskbench-one-machine", "autoDelete": True,
            "deviceName": "diskbench-0", "requestId": str(uuid4()),
        }  # fmt: skip
        try:
            change(self.compute, "instances", "setDiskAutoDelete", request, "disk", 30)
        except AccessDenied:
            raise
        except DiskbenchError:
            pass  # it is not there

    def lease(self) -> None:
        """From the first question to the last release, with another disk between."""
        self.provider.acquire(claim("one"), self.resolved(), RigOnlooker())
        self.provider.swap(claim("one", turn=2), self.resolved(size_gib=11), RigOnlooker())
        self.provider.release("one", self.scope)


ELSE: dict[str, Callable[[User], object]] = {
    "compute.images.get": lambda user: user.resolved(image=NAMED),
    "compute.regions.list": User.unknown_region,
    "compute.resourcePolicies.use": User.placed,
    "compute.instances.setDiskAutoDelete": User.repaired,
    "compute.globalOperations.list": lambda user: sent(user.compute, "one"),
    "compute.regionOperations.get": lambda user: user.rented(disk="pd-ssd-regional"),
    "compute.disks.createSnapshot": User.filled,
    "compute.snapshots.create": User.filled,
    "compute.snapshots.delete": User.filled,
    "compute.snapshots.get": User.copied,
    "compute.snapshots.setLabels": User.filled,
    "compute.snapshots.useReadOnly": User.copied,
}
"""Rights that not every lease needs, and what needs them."""


@pytest.fixture
def user(gcp: Gcp, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> User:
    return User(gcp, monkeypatch, tmp_path)


def test_a_whole_lease_passes_under_exactly_the_printed_role(user: User) -> None:
    assert user.gcp.cloud.roles == {ACCOUNT: frozenset(permissions())}
    user.lease()
    for more in ELSE.values():
        more(user)
    user.provider.release("one", user.scope)
    assert user.gcp.left() == []


@pytest.mark.parametrize("right", [one for one in permissions() if one not in OPTIONAL])
def test_without_any_one_right_something_is_refused_that_names_it(user: User, right: str) -> None:
    user.gcp.cloud.roles[ACCOUNT] = frozenset(permissions()) - {right}
    with pytest.raises(DiskbenchError) as refused:
        ELSE.get(right, User.lease)(user)
    assert f"'{right}'" in refused.value.message
    fresh(user.gcp.cloud)


def test_without_the_right_to_tunnel_the_machine_is_never_reached(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{user.gcp.cloud.programs}{os.pathsep}{os.environ['PATH']}")
    rental = user.resolved(gcp=GcpOptions(iap=True))
    user.gcp.cloud.roles[ACCOUNT] = frozenset(permissions()) - {"iap.tunnelInstances.accessViaIAP"}
    user.provider.timing = dataclasses.replace(GCP, ssh_s=2.0)
    with pytest.raises(DiskbenchError, match=r"not authorized|4033|took longer"):
        user.provider.acquire(claim("one"), rental, RigOnlooker())
    fresh(user.gcp.cloud)
