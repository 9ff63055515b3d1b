"""The contract of providers that rent (diskbench.testing): on the fake cloud and the lab in full,
on each emulated cloud once end to end, and in full where everything is run."""

import importlib
import tempfile
from pathlib import Path

import pytest
from tests.contract.clouds import AzureCloud, GcpCloud, VsphereCloud
from tests.contract.rented import AwsCloud, FakeCloud, LabCloud

from diskbench.errors import DiskbenchError, ReleaseFailed
from diskbench.providers.fake.cloud import ZONES, plan_fault
from diskbench.testing.end_to_end import EndToEndContract
from diskbench.testing.renter import RenterContract
from diskbench.testing.rig import RigOnlooker, acquire, scope_of

pytestmark = pytest.mark.slow

LAG = 3
"""Looks for which a new thing is absent, and a deleted one present."""


class TestFake(RenterContract):
    @pytest.fixture
    def rig(self, tmp_path, monkeypatch):
        return FakeCloud(tmp_path, monkeypatch)


class TestLab(RenterContract):
    @pytest.fixture
    def rig(self, monkeypatch):
        # On a disk, for direct I/O: where /tmp is a tmpfs, tmp_path has none.
        with tempfile.TemporaryDirectory(prefix="diskbench-test-", dir="/var/tmp") as directory:
            lab = LabCloud(Path(directory) / "lab", monkeypatch)
            try:
                yield lab
            finally:
                lab.tear_down()


RIGS = {"aws": AwsCloud, "azure": AzureCloud, "gcp": GcpCloud, "vsphere": VsphereCloud}


class Emulated:
    cloud: str
    lags = False
    """New things are absent from the first three looks at them, and deleted ones still there."""

    @pytest.fixture
    def kind(self):
        return self.cloud, self.lags

    @pytest.fixture
    def rig(self, kind, request, tmp_path, monkeypatch):
        cloud, lags = kind
        emulator = request.getfixturevalue(cloud)
        if lags and cloud == "vsphere":
            emulator.lag(LAG)
        elif lags:
            monkeypatch.setattr(emulator.cloud, "lag", LAG)
        yield RIGS[cloud](emulator, monkeypatch, tmp_path / "data")
        if lags and cloud == "vsphere":
            emulator.lag(0)


class InOneSession(Emulated, EndToEndContract):
    """All calls of the lease share one session at the cloud."""

    opening: str
    """What opens one."""

    @pytest.fixture(autouse=True)
    def one_session(self, monkeypatch):
        module, _, name = self.opening.rpartition(".")
        genuine, opened = getattr(importlib.import_module(module), name), []

        def counted(*args, **more):
            opened.append(genuine(*args, **more))
            return opened[-1]

        monkeypatch.setattr(self.opening, counted)
        yield
        assert len(opened) == 1


class TestAwsEndToEnd(InOneSession):
    cloud = "aws"
    opening = "diskbench.providers.aws.client._open"


class TestLaggingAwsEndToEnd(Emulated, EndToEndContract):
    cloud = "aws"
    lags = True


class TestAzureEndToEnd(InOneSession):
    cloud = "azure"
    opening = "diskbench.providers.azure.client.Azure"


class TestGcpEndToEnd(InOneSession):
    cloud = "gcp"
    opening = "diskbench.providers.gcp.client.log_in"


class TestVsphereEndToEnd(InOneSession):
    cloud = "vsphere"
    opening = "diskbench.providers.vsphere.client.connect"


@pytest.mark.thorough
class TestEmulated(Emulated, RenterContract):
    @pytest.fixture(
        params=[(cloud, lags) for cloud in RIGS for lags in (False, True)],
        ids=lambda kind: f"{kind[0]}{' lags' * kind[1]}",
    )
    def kind(self, request):
        return request.param


class TestTheFakesFaults:
    """The fake says what went wrong as every cloud must: by kind, with advice, nothing lost."""

    @pytest.fixture
    def fake(self, tmp_path, monkeypatch):
        return FakeCloud(tmp_path, monkeypatch)

    def test_the_second_zone_is_tried_when_the_first_has_no_room(self, fake):
        plan_fault("machine", "fake-1a", "capacity")
        onlooker = RigOnlooker()
        assert acquire(fake, "one", onlooker).facts["zone"] == "fake-1b"
        assert any("trying fake-1b" in note for note in onlooker.notes)

    @pytest.mark.parametrize(
        ("fault", "code"), [("capacity", 1), ("quota", 2), ("access", 2), ("broken", 1)]
    )
    def test_each_kind_of_error_has_its_class_and_advice(self, fake, fault, code):
        for zone in ZONES:
            plan_fault("disk", zone, fault)
        with pytest.raises(DiskbenchError) as raised:
            acquire(fake, "one")
        assert raised.value.exit_code == code
        assert raised.value.advice
        fake.provider.release("one", scope_of(fake))
        assert fake.count("one") == 0

    def test_a_release_that_fails_names_all_that_is_left_and_can_be_repeated(self, fake):
        acquire(fake, "one")
        plan_fault("release", "fake-1a", "access")
        with pytest.raises(ReleaseFailed) as failed:
            fake.provider.release("one", scope_of(fake))
        for kind in ("network", "machine", "disk"):
            assert f"diskbench-one-{kind}" in failed.value.message
        plan_fault("release", "fake-1a", None)
        fake.provider.release("one", scope_of(fake))
        assert fake.count("one") == 0
