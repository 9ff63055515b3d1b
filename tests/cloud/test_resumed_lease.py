"""A resumed run on each emulated cloud: its lease ends later everywhere, or the resume is refused.

SDKs over HTTP, sshd, the guest's own dead-man's switch, a block device and fio are real.
"""

import signal
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from emulators import guests
from tests.cloud.azure_rig import NoTimer
from tests.cloud.measured import EAGER, is_measuring
from tests.contract.clouds import AzureCloud, GcpCloud, VsphereCloud
from tests.contract.rented import AwsCloud, switches
from tests.rigs.cli import Cli
from tests.rigs.waiting import until

from diskbench.errors import DiskbenchError
from diskbench.model.rental import LeaseEnd
from diskbench.ports import ExtendsLeases
from diskbench.store.database import open_database
from diskbench.store.dialects import iso
from diskbench.store.leases import extend_lease, load_lease
from diskbench.store.rows import load_plan
from diskbench.testing.rig import Rig, guest_of

PROFILE = """[read]
filename=data
size=4m
rw=randread
bs=4k
direct=1
time_based
runtime={seconds}
"""
SHORT_S = 900.0
"""What is left of a lease in these tests: more than its work needs, and less than a new lease."""


@dataclass
class Abandoned:
    """A run whose process was killed while its machine measures."""

    cloud: Rig
    user: Cli
    where: tuple[str, ...]
    """How `gc` is told of the place."""

    def begin(self, seconds):
        """Rent, begin to measure, and be killed."""
        (self.user.home / "mine.fio").write_text(PROFILE.format(seconds=seconds))
        size = ("--size", str(self.cloud.spec.size_gib))  # type: ignore[attr-defined]
        controller = self.user.start("run", *self.where, "--profile", "./mine.fio", *size)
        try:
            until(lambda: is_measuring(guests.names()))
        finally:
            controller.kill()
            self.told = controller.communicate()[1]
        (row,) = self.user.json("results", "list")["runs"]
        return load_plan(self.database, row["trial_id"])

    @property
    def database(self):
        return open_database(self.user.extra_env["DISKBENCH_DATABASE_URL"])

    def row_end(self, plan):
        return load_lease(self.database, plan.lease_id).ends.timestamp()

    def set_row(self, plan, left_s):
        end = datetime.now(UTC) + timedelta(seconds=left_s)
        extend_lease(self.database, plan.lease_id, iso(end))

    def extend(self, plan, expires_at, guest=None):
        """As the engine does it; in the guest that is given alone."""
        assert isinstance(self.cloud.provider, ExtendsLeases)
        end = LeaseEnd(expires_at=expires_at, left_s=expires_at - time.time())
        host = guest or guest_of(plan.acquired)
        lease, scope = plan.lease_id, plan.rental.scope
        try:
            self.cloud.provider.extend(lease, scope, end, host, plan.acquired.made)
        finally:
            if guest is None:
                host.close()

    def stranger(self, tmp_path):
        """What `gc` says of the lease in another database of another owner."""
        home = tmp_path / "stranger"
        home.mkdir(exist_ok=True)
        env = self.user.extra_env | {
            "DISKBENCH_DATABASE_URL": f"sqlite:///{home}/rows.db",
            "DISKBENCH_OWNER": "somebody@else",
        }
        other = Cli(home, env, self.user.program)
        (found,) = other.json("gc", *self.where[:-2], "--dry-run")["leases"]
        assert not found["in_database"]
        return found


@pytest.fixture(params=["aws", "azure", "vsphere"])
def abandoned(request, tmp_path, monkeypatch):
    name = request.param
    kind = {"aws": AwsCloud, "azure": AzureCloud, "gcp": GcpCloud, "vsphere": VsphereCloud}
    emulator = request.getfixturevalue(name)
    home = tmp_path / "home"
    home.mkdir()
    # Provider and command share what they keep of a lease: its keys.
    cloud = kind[name](emulator, monkeypatch, home / ".local/share")
    spec = cloud.spec
    where = ["--provider", name, "--endpoint-url", emulator.endpoint]
    if name == "vsphere":
        where += ["--ca-file", str(emulator.simulator.ca_file), "--datastore", "nvme"]
    else:
        where += ["--disk", spec.disk]
    if spec.region:
        where[2:2] = ["--region", spec.region]
    env = emulator.env | {"DISKBENCH_DATABASE_URL": f"sqlite:///{tmp_path}/rows.db"}
    yield Abandoned(cloud, Cli(home, env, (EAGER,)), tuple(where))
    assert emulator.left() == []


def test_a_resumed_lease_ends_later_in_the_guest_on_the_tags_and_in_the_row(abandoned, tmp_path):
    """Before: the switch and the row end soon, and the tags say that the lease is over, as they do
    when a run was gone on with and they were not moved."""
    plan = abandoned.begin(seconds=240)
    soon = float(int(time.time() + SHORT_S))
    abandoned.extend(plan, soon)
    abandoned.set_row(plan, SHORT_S)
    abandoned.extend(plan, time.time() - 60, NoTimer())
    assert switches() == {soon}
    assert abandoned.stranger(tmp_path)["outcome"] == "would-give-back"

    resumed = abandoned.user.start("resume", plan.trial_id)
    try:
        until(lambda: abandoned.row_end(plan) > soon + SHORT_S)
        ends = abandoned.row_end(plan)
        (switch,) = switches()
        assert 0 <= switch - ends < 1
        everywhere = abandoned.cloud.ends(plan.lease_id)
        assert max(everywhere) - min(everywhere) <= 1, "every tag, and the guest"
        found = abandoned.stranger(tmp_path)
        assert found["outcome"] == "kept"
        assert abs(found["expires_at"] - ends) <= 1
    finally:
        resumed.send_signal(signal.SIGINT)  # there is nothing more to see
        _, told = resumed.communicate(timeout=240)
    assert resumed.returncode == 130, told


TAGS = {
    "aws": lambda one: one.aws.faults.forbid("CreateTags"),
    "azure": lambda one: one.azure.faults.forbid("Microsoft.Resources/tags/write"),
    "vsphere": lambda one: one.vsphere.fault("ReconfigVM_Task", "NoPermission", times=0),
}


def test_an_extension_that_fails_half_way_leaves_the_earlier_end_on_tags_and_row(
    abandoned, tmp_path
):
    plan = abandoned.begin(seconds=3)
    soon = float(int(time.time() + SHORT_S))
    abandoned.extend(plan, soon)
    abandoned.set_row(plan, SHORT_S)
    before = abandoned.row_end(plan)
    TAGS[abandoned.cloud.provider.name](abandoned.cloud)
    with pytest.raises(DiskbenchError):
        abandoned.extend(plan, soon + 7200)
    assert switches() == {soon + 7200}, "moved first"
    found = abandoned.stranger(tmp_path)
    assert found["expires_at"] == soon, "moved last"
    done = abandoned.user.run("resume", plan.trial_id)
    assert f"the lease of {plan.trial_id} could not be extended" in done.stderr
    assert abandoned.row_end(plan) == before
    if abandoned.cloud.provider.name == "vsphere":  # which is not told to fail any more
        abandoned.cloud.vsphere.fresh()  # type: ignore[attr-defined]
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("abandoned", ["gcp"], indirect=True)
def test_google_ends_a_running_machine_at_its_time_so_work_that_outlasts_it_is_refused(abandoned):
    plan = abandoned.begin(seconds=600)
    abandoned.set_row(plan, 300)
    done = abandoned.user.run("resume", plan.trial_id)
    assert done.returncode == 2, done.stderr
    assert f"{plan.trial_id[-8:]} cannot be resumed: it needs up to" in done.stderr
    assert "its machine on gcp ends itself at" in done.stderr
    assert "maxRunDuration" in done.stderr
    assert f"diskbench gc {plan.trial_id[-8:]}" in done.stderr
    assert abandoned.user.run("gc", plan.trial_id).returncode == 0
