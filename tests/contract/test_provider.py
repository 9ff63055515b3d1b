"""What every provider that rents does (ports.Renter), held against each kind that runs here."""

import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.books import SHIPPED
from tests.contract.azure_cloud import AzureCloud
from tests.contract.gcp_cloud import GcpCloud
from tests.contract.rented import (
    AwsCloud,
    Cloud,
    FakeCloud,
    LabCloud,
    Onlooker,
    cell,
    claim,
    guest_of,
    larger,
    scope_of,
)
from tests.contract.vsphere_cloud import VsphereCloud

from diskbench.errors import DiskbenchError, Interrupted, ReleaseFailed, RentalFailed, UserError
from diskbench.model.rental import LeaseEnd
from diskbench.ports import (
    Examinable,
    ExtendsLeases,
    Foresees,
    Metered,
    Renter,
    SwapsDisks,
    TellsTime,
)

pytestmark = pytest.mark.slow


@pytest.fixture(params=["fake", "lab", "aws", "azure", "gcp", "vsphere"])
def cloud(request, tmp_path, monkeypatch):
    if request.param == "fake":
        yield FakeCloud(tmp_path, monkeypatch)
        return
    if request.param == "aws":
        yield AwsCloud(request.getfixturevalue("aws"), monkeypatch, tmp_path / "data")
        return
    if request.param == "azure":
        yield AzureCloud(request.getfixturevalue("azure"), monkeypatch, tmp_path / "data")
        return
    if request.param == "gcp":
        yield GcpCloud(request.getfixturevalue("gcp"), monkeypatch, tmp_path / "data")
        return
    if request.param == "vsphere":
        yield VsphereCloud(request.getfixturevalue("vsphere"), monkeypatch, tmp_path / "data")
        return
    # On a disk, for direct I/O; where /tmp is a tmpfs, tmp_path would be none.
    with tempfile.TemporaryDirectory(prefix="diskbench-test-", dir="/var/tmp") as directory:
        lab = LabCloud(Path(directory) / "lab", monkeypatch)
        try:
            yield lab
        finally:
            lab.tear_down()


def acquire(cloud: Cloud, lease_id: str, onlooker: Onlooker | None = None):
    rental = cloud.provider.resolve(cell(cloud), SHIPPED)
    return cloud.provider.acquire(claim(lease_id), rental, onlooker or Onlooker())


def test_it_is_a_renter(cloud):
    assert isinstance(cloud.provider, Renter)


def test_what_nobody_sells_is_refused_before_anything_is_rented(cloud):
    for spec in cloud.wrong:
        with pytest.raises(UserError) as refused:
            cloud.provider.check(cell(cloud, spec))
        assert refused.value.exit_code == 2
    assert cloud.provider.found(scope_of(cloud)) == []


def test_resolving_rents_nothing_and_says_what_would_be_rented(cloud):
    cloud.provider.check(cell(cloud))
    rental = cloud.provider.resolve(cell(cloud), SHIPPED)
    assert rental.spec == cloud.spec
    assert rental.offer
    assert type(rental).model_validate_json(rental.model_dump_json()) == rental, "crosses a step"
    assert cloud.provider.found(rental.scope) == []


def test_what_is_foreseen_without_a_call_is_what_resolving_finds(cloud):
    """The catalogue alone says the same of disk, machine and price; which machine a region has, and
    how large an image is, only the cloud knows."""
    assert isinstance(cloud.provider, Foresees)
    assert (
        cloud.provider.foresee(cell(cloud), SHIPPED).disk
        == cloud.provider.resolve(cell(cloud), SHIPPED).disk
    )
    resolved = cloud.provider.resolve(cell(cloud), SHIPPED)
    spec = cloud.spec.model_copy(update={"instance_type": resolved.instance_type})
    foreseen = cloud.provider.foresee(cell(cloud, spec), SHIPPED)
    assert (foreseen.promise, foreseen.cloud) == (resolved.promise, resolved.cloud)
    assert (foreseen.cores, foreseen.memory_bytes) == (resolved.cores, resolved.memory_bytes)
    assert foreseen.instance_type == resolved.instance_type
    assert len(foreseen.prices) == len(resolved.prices)
    if resolved.hourly_usd is not None and cloud.spec.region is not None:
        assert foreseen.hourly_usd == pytest.approx(resolved.hourly_usd, rel=0.02)


def test_what_was_acquired_is_there_and_carries_its_lease_and_expiry(cloud):
    acquired = acquire(cloud, "one")
    assert acquired.device or acquired.directory
    assert cloud.spec.size_gib is not None
    assert acquired.size_bytes == cloud.spec.size_gib * 2**30
    assert cloud.count("one") > 0
    (found,) = cloud.provider.found(scope_of(cloud))
    assert (found.lease_id, found.expires_at) == ("one", 4e9)
    assert cloud.ends("one") == {4e9}, "on every single thing"
    assert cloud.provider.gone("one", scope_of(cloud)) is None


def test_acquired_twice_with_the_same_lease_is_acquired_once(cloud):
    first = acquire(cloud, "one")
    before = cloud.count("one")
    assert acquire(cloud, "one") == first
    assert cloud.count("one") == before


def test_a_lease_is_extended_in_everything_that_was_made_for_it_and_in_no_copy(cloud):
    """What another database's gc reads is then the new end."""
    if not isinstance(cloud.provider, ExtendsLeases):
        # engine/extend.py leaves the row of these, and refuses work that would outlast it.
        assert cloud.provider.name == "gcp"
        return
    scope = scope_of(cloud)
    acquired = acquire(cloud, "one")
    cloud.add_copy("two")
    before = [one for one in cloud.provider.found(scope) if one.lease_id == "two"]
    count = cloud.count("one")
    end = LeaseEnd(expires_at=4.05e9, left_s=4.05e9 - time.time())
    guest = guest_of(acquired)
    try:
        for _ in range(2):
            cloud.provider.extend("one", scope, end, guest, acquired.made)
            cloud.provider.extend("two", scope, end, guest)
    finally:
        guest.close()
    assert cloud.count("one") == count, "nothing is made"
    (found,) = (one for one in cloud.provider.found(scope) if one.lease_id == "one")
    assert found.expires_at == 4.05e9
    assert cloud.ends("one") == {4.05e9}, "on every single thing"
    assert [one for one in cloud.provider.found(scope) if one.lease_id == "two"] == before
    assert cloud.provider.gone("one", scope) is None


def test_a_cloud_tells_its_own_time(cloud):
    """What has expired there is judged by it."""
    one = cloud.provider
    assert isinstance(one, TellsTime) or one.name in {"fake", "lab"}, "these are this machine's"
    if isinstance(one, TellsTime):
        off = one.present(scope_of(cloud)) - datetime.now(UTC)
        assert abs(off.total_seconds()) < 60


def test_examining_tells_how_it_is_and_changes_nothing(cloud):
    one = cloud.provider
    assert isinstance(one, Examinable) or one.name == "fake", "the fake cloud lets everybody in"
    findings = one.examine(scope_of(cloud)) if isinstance(one, Examinable) else []
    assert [finding for finding in findings if finding.state == "problem"] == []
    assert {finding.where.split()[0] for finding in findings} <= {one.name}
    quotas = one.quotas(scope_of(cloud)) if isinstance(one, Metered) else []
    assert all(quota.limit >= (quota.used or 0) for quota in quotas)
    assert one.found(scope_of(cloud)) == []


def test_two_leases_share_nothing(cloud):
    one, two = acquire(cloud, "one"), acquire(cloud, "two")
    assert (one.device, one.directory, one.address) != (two.device, two.directory, two.address)
    cloud.provider.release("one", scope_of(cloud))
    assert cloud.count("one") == 0
    assert cloud.count("two") > 0
    assert cloud.provider.gone("two", scope_of(cloud)) is None


def test_releasing_leaves_nothing_and_may_be_done_again(cloud):
    acquire(cloud, "one")
    scope = scope_of(cloud)
    for _ in range(2):
        cloud.provider.release("one", scope)
        assert cloud.count("one") == 0
        assert cloud.provider.found(scope) == []
    assert cloud.provider.gone("one", scope)


def test_a_lease_that_never_was_is_released_as_well(cloud):
    cloud.provider.release("never", scope_of(cloud))


def test_what_acquire_never_made_is_released_too_when_it_carries_the_lease(cloud):
    acquire(cloud, "one")
    cloud.add_leftover("one")
    cloud.add_leftover("two")
    cloud.provider.release("one", scope_of(cloud))
    assert cloud.count("one") == 0
    cloud.provider.release("two", scope_of(cloud))
    assert cloud.count("two") == 0


def test_what_copied_the_tags_of_a_lease_is_told_apart_and_never_given_back_with_it(cloud):
    scope = scope_of(cloud)
    cloud.add_leftover("one")
    copy = cloud.add_copy("one")
    (found,) = cloud.provider.found(scope)
    assert (found.lease_id, found.not_ours) == ("one", (copy,))
    assert found.resources
    assert copy not in found.resources
    cloud.provider.release("one", scope)
    (found,) = cloud.provider.found(scope)
    assert (found.resources, found.not_ours, found.expires_at) == ((), (copy,), None)
    assert cloud.is_there(copy)
    cloud.provider.release("one", scope, copied=["something else"])
    assert cloud.is_there(copy)
    cloud.provider.release("one", scope, copied=[copy])
    assert not cloud.is_there(copy)
    assert cloud.provider.found(scope) == []


def test_a_lease_that_is_found_says_who_rented_it(cloud):
    acquire(cloud, "one")
    (found,) = cloud.provider.found(scope_of(cloud))
    assert found.owner == "tests"


def test_a_release_takes_only_what_was_written_down_as_made(cloud):
    """Where the name was copied with the tags, the id tells: of each kind that was written down."""
    acquired = acquire(cloud, "one")
    before = cloud.provider.found(scope_of(cloud))[0].resources
    assert set(acquired.made) <= set(before)
    cloud.provider.release("one", scope_of(cloud), made=acquired.made)
    assert cloud.count("one") == 0


def test_stopped_before_it_began_it_makes_nothing_that_release_does_not_take_away(cloud):
    onlooker = Onlooker()
    onlooker.stop.set()
    with pytest.raises(Interrupted):
        acquire(cloud, "one", onlooker)
    cloud.provider.release("one", scope_of(cloud))
    assert cloud.count("one") == 0


def test_released_in_the_middle_of_renting_nothing_is_left_in_the_end(cloud):
    halfway, scope = threading.Event(), scope_of(cloud)
    onlooker = Onlooker()

    def stop_at_the_first_word() -> None:
        onlooker.stop.set()
        halfway.set()

    onlooker.on_note = stop_at_the_first_word
    failed: list[BaseException] = []

    def rent() -> None:
        try:
            acquire(cloud, "one", onlooker)
        except DiskbenchError as error:
            failed.append(error)
        halfway.set()

    renting = threading.Thread(target=rent)
    renting.start()
    assert halfway.wait(60)
    cloud.provider.release("one", scope)
    renting.join(60)
    assert not renting.is_alive()
    # What came after the release carries the lease, and goes with the next one.
    cloud.provider.release("one", scope)
    assert cloud.count("one") == 0
    assert all(isinstance(error, Interrupted) for error in failed)


class TestDisksThatAreSwapped:
    """What a provider does that gives a machine other disks (ports.SwapsDisks)."""

    @pytest.fixture
    def swapping(self, cloud):
        assert isinstance(cloud.provider, SwapsDisks)
        return cloud

    def swap(self, cloud, turn):
        """Another disk than before: twice as large."""
        rental = cloud.provider.resolve(cell(cloud, larger(cloud)), SHIPPED)
        return cloud.provider.swap(claim("one", turn=turn), rental, Onlooker())

    def test_the_machine_stays_and_its_new_disk_is_what_was_asked_for(self, swapping):
        first = acquire(swapping, "one")
        before = swapping.count("one")
        second = self.swap(swapping, 2)
        assert second.address == first.address
        assert second.facts.get("instance_id") == first.facts.get("instance_id")
        assert second.size_bytes == 2 * first.size_bytes
        assert (second.identity, second.directory) != (first.identity, first.directory)
        assert swapping.count("one") == before, "the disk before is gone"

    def test_swapped_twice_in_a_turn_is_swapped_once(self, swapping):
        acquire(swapping, "one")
        second = self.swap(swapping, 2)
        before = swapping.count("one")
        assert self.swap(swapping, 2) == second
        assert swapping.count("one") == before

    def test_an_equal_disk_in_the_next_turn_is_another_disk(self, swapping):
        acquire(swapping, "one")
        second, third = self.swap(swapping, 2), self.swap(swapping, 3)
        assert third.size_bytes == second.size_bytes
        assert (third.identity, third.directory) != (second.identity, second.directory)

    def test_releasing_takes_the_machine_and_its_disks_of_every_turn(self, swapping):
        acquire(swapping, "one")
        self.swap(swapping, 2)
        (found,) = swapping.provider.found(scope_of(swapping))
        assert found.lease_id == "one"
        swapping.provider.release("one", scope_of(swapping))
        assert swapping.count("one") == 0
        assert swapping.provider.found(scope_of(swapping)) == []

    def test_a_machine_that_is_gone_gets_no_disk(self, swapping):
        with pytest.raises(RentalFailed):
            self.swap(swapping, 2)
        swapping.provider.release("one", scope_of(swapping))
        assert swapping.count("one") == 0


class TestTheFakesFaults:
    """The fake says what went wrong as every cloud must: by kind, with advice, nothing lost."""

    @pytest.fixture
    def fake(self, tmp_path, monkeypatch):
        return FakeCloud(tmp_path, monkeypatch)

    def test_the_second_zone_is_tried_when_the_first_has_no_room(self, fake):
        from diskbench.providers.fake import plan_fault

        plan_fault("machine", "fake-1a", "capacity")
        onlooker = Onlooker()
        assert acquire(fake, "one", onlooker).facts["zone"] == "fake-1b"
        assert any("trying fake-1b" in note for note in onlooker.notes)

    @pytest.mark.parametrize(
        ("fault", "code"), [("capacity", 1), ("quota", 2), ("access", 2), ("broken", 1)]
    )
    def test_each_kind_of_error_has_its_class_and_advice(self, fake, fault, code):
        from diskbench.providers.fake import ZONES, plan_fault

        for zone in ZONES:
            plan_fault("disk", zone, fault)
        with pytest.raises(DiskbenchError) as raised:
            acquire(fake, "one")
        assert raised.value.exit_code == code
        assert raised.value.advice
        fake.provider.release("one", scope_of(fake))
        assert fake.count("one") == 0

    def test_a_release_that_fails_names_all_that_is_left_and_can_be_repeated(self, fake):
        from diskbench.providers.fake import plan_fault

        acquire(fake, "one")
        plan_fault("release", "fake-1a", "access")
        with pytest.raises(ReleaseFailed) as failed:
            fake.provider.release("one", scope_of(fake))
        for kind in ("network", "machine", "disk"):
            assert f"diskbench-one-{kind}" in failed.value.message
        plan_fault("release", "fake-1a", None)
        fake.provider.release("one", scope_of(fake))
        assert fake.count("one") == 0
