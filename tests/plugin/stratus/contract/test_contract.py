"""Stratus held to the contract of providers, by the suite that diskbench ships."""

import pytest
from diskbench_stratus.client import VARIABLE, Client
from diskbench_stratus.provider import StratusProvider

from diskbench.model.options import RentSpec
from diskbench.testing.end_to_end import EndToEndContract
from diskbench.testing.renter import RenterContract


class StratusRig:
    spec = RentSpec(disk="vapor", size_gib=10)
    wrong = (
        RentSpec(),
        RentSpec(disk="vapour", size_gib=10),
        RentSpec(disk="vapor"),
        RentSpec(disk="vapor", size_gib=2000),
        RentSpec(disk="vapor", size_gib=10, iops=100),
        RentSpec(disk="vapor", size_gib=10, zone="sky-9a"),
        RentSpec(disk="vapor", size_gib=10, count=2),
    )

    def __init__(self):
        self.provider = StratusProvider()
        self.cloud = Client().cloud

    def count(self, lease_id):
        return sum(f"-{lease_id}-" in name for name, _ in self.cloud.things())

    def ends(self, lease_id):
        return {tags["expires"] for name, tags in self.cloud.things() if f"-{lease_id}-" in name}

    def add_leftover(self, lease_id):
        tags = {"lease": lease_id, "expires": 1.0}
        self.cloud.make(f"diskbench-{lease_id}-forgotten", tags)

    def add_copy(self, lease_id):
        self.cloud.make("prod-database", {"lease": lease_id, "expires": 1.0})
        return "thing prod-database"

    def is_there(self, copy):
        return self.cloud.exists(copy.partition(" ")[2])


@pytest.fixture
def rig(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "sky"))
    return StratusRig()


class OnStratus:
    @pytest.fixture
    def rig(self, rig):
        return rig


class TestContract(OnStratus, RenterContract):
    pass


class TestOneLease(OnStratus, EndToEndContract):
    pass
