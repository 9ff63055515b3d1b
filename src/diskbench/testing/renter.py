"""The contract of every provider that rents (ports.Renter and the optional abilities)."""

import threading
import time
from datetime import UTC, datetime

import pytest

from diskbench.catalog.books import Books
from diskbench.errors import DiskbenchError, Interrupted, RentalFailed, UserError
from diskbench.model.rental import Acquired, LeaseEnd
from diskbench.ports import (
    Examinable,
    ExtendsLeases,
    Foresees,
    Metered,
    Renter,
    SwapsDisks,
    TellsTime,
)
from diskbench.testing.rig import (
    Rig,
    RigOnlooker,
    acquire,
    cell,
    claim,
    guest_of,
    larger,
    resolved,
    scope_of,
)

EXPIRES_AT = 4e9
"""When the leases of `acquire` end, in Unix seconds."""
PATIENCE_S = 300.0
"""How long a test waits for another thread; a generous bound, never the measure of anything."""


def swap(rig: Rig, turn: int) -> Acquired:
    """Give the machine of lease `one` another disk, twice as large; raises what `swap` raises, and
    skips the test where the provider swaps no disks."""
    if not isinstance(rig.provider, SwapsDisks):
        pytest.skip("it swaps no disks")
    return rig.provider.swap(claim("one", turn=turn), resolved(rig, larger(rig)), RigOnlooker())


class RenterContract:
    """Inherit this class and define a fixture `rig`. An ability is tested where the provider has
    it."""

    @pytest.fixture
    def rig(self) -> Rig:
        """The provider and its cloud, without any lease; a subclass overrides this."""
        raise NotImplementedError("override the fixture `rig`: it returns a diskbench.testing.Rig")

    def test_it_is_a_renter(self, rig: Rig) -> None:
        assert isinstance(rig.provider, Renter)

    def test_a_spec_that_is_not_sold_is_refused_before_anything_is_rented(self, rig: Rig) -> None:
        for spec in rig.wrong:
            with pytest.raises(UserError) as refused:
                rig.provider.check(cell(rig, spec))
            assert refused.value.exit_code == 2
        assert rig.provider.found(scope_of(rig)) == []

    def test_resolving_rents_nothing_and_says_what_would_be_rented(self, rig: Rig) -> None:
        rig.provider.check(cell(rig))
        rental = resolved(rig)
        assert rental.spec == rig.spec
        assert rental.offer
        assert type(rental).model_validate_json(rental.model_dump_json()) == rental, (
            "a rental is stored as JSON between two steps"
        )
        assert rig.provider.found(rental.scope) == []

    def test_what_is_foreseen_without_a_call_is_what_resolving_finds(self, rig: Rig) -> None:
        """The catalogue alone says the same of disk, machine and price; only the cloud knows which
        machine a region has and how large an image is."""
        provider = rig.provider
        if not isinstance(provider, Foresees):
            return
        rental = resolved(rig)
        assert provider.foresee(cell(rig), Books()).disk == rental.disk
        spec = rig.spec.model_copy(update={"instance_type": rental.instance_type})
        foreseen = provider.foresee(cell(rig, spec), Books())
        assert (foreseen.promise, foreseen.cloud) == (rental.promise, rental.cloud)
        assert (foreseen.cores, foreseen.memory_bytes) == (rental.cores, rental.memory_bytes)
        assert foreseen.instance_type == rental.instance_type
        assert len(foreseen.prices) == len(rental.prices)
        if rental.hourly_usd is not None and rig.spec.region is not None:
            assert foreseen.hourly_usd == pytest.approx(rental.hourly_usd, rel=0.02)

    def test_what_was_acquired_is_there_and_carries_its_lease_and_expiry(self, rig: Rig) -> None:
        acquired = acquire(rig, "one")
        assert acquired.device or acquired.directory
        assert rig.spec.size_gib is not None
        assert acquired.size_bytes == rig.spec.size_gib * 2**30
        assert rig.count("one") > 0
        (lease,) = rig.provider.found(scope_of(rig))
        assert (lease.lease_id, lease.expires_at) == ("one", EXPIRES_AT)
        assert rig.ends("one") == {EXPIRES_AT}, "every single thing carries the end"
        assert rig.provider.gone("one", scope_of(rig)) is None

    def test_acquired_twice_with_the_same_lease_is_acquired_once(self, rig: Rig) -> None:
        first = acquire(rig, "one")
        before = rig.count("one")
        assert acquire(rig, "one") == first
        assert rig.count("one") == before

    def test_a_lease_is_extended_in_all_that_was_made_for_it_and_in_no_copy(self, rig: Rig) -> None:
        """The `gc` of another database reads the new end."""
        provider = rig.provider
        if not isinstance(provider, ExtendsLeases):
            return
        scope = scope_of(rig)
        acquired = acquire(rig, "one")
        rig.add_copy("two")
        before = [lease for lease in provider.found(scope) if lease.lease_id == "two"]
        count = rig.count("one")
        end = LeaseEnd(expires_at=4.05e9, left_s=4.05e9 - time.time())
        guest = guest_of(acquired)
        try:
            for _ in range(2):
                provider.extend("one", scope, end, guest, acquired.made)
                provider.extend("two", scope, end, guest)
        finally:
            guest.close()
        assert rig.count("one") == count, "extending makes nothing"
        (lease,) = (lease for lease in provider.found(scope) if lease.lease_id == "one")
        assert lease.expires_at == 4.05e9
        assert rig.ends("one") == {4.05e9}, "every single thing carries the new end"
        assert [lease for lease in provider.found(scope) if lease.lease_id == "two"] == before
        assert provider.gone("one", scope) is None

    def test_the_time_of_the_cloud_is_about_this_machines(self, rig: Rig) -> None:
        """The cloud's time decides which leases have expired."""
        if isinstance(rig.provider, TellsTime):
            off = rig.provider.present(scope_of(rig)) - datetime.now(UTC)
            assert abs(off.total_seconds()) < 60

    def test_examining_finds_no_problem_and_changes_nothing(self, rig: Rig) -> None:
        provider = rig.provider
        findings = provider.examine(scope_of(rig)) if isinstance(provider, Examinable) else []
        assert [finding for finding in findings if finding.state == "problem"] == []
        assert {finding.where.split()[0] for finding in findings} <= {provider.name}
        quotas = provider.quotas(scope_of(rig)) if isinstance(provider, Metered) else []
        told = [(quota.limit, quota.used or 0) for quota in quotas]
        assert all(limit is None or limit >= used for limit, used in told)
        assert provider.found(scope_of(rig)) == []

    def test_two_leases_share_nothing(self, rig: Rig) -> None:
        first, second = acquire(rig, "one"), acquire(rig, "two")
        assert (first.device, first.directory, first.address) != (
            second.device,
            second.directory,
            second.address,
        )
        rig.provider.release("one", scope_of(rig))
        assert rig.count("one") == 0
        assert rig.count("two") > 0
        assert rig.provider.gone("two", scope_of(rig)) is None

    def test_releasing_leaves_nothing_and_may_be_repeated(self, rig: Rig) -> None:
        acquire(rig, "one")
        scope = scope_of(rig)
        for _ in range(2):
            rig.provider.release("one", scope)
            assert rig.count("one") == 0
            assert rig.provider.found(scope) == []
        assert rig.provider.gone("one", scope)

    def test_releasing_a_lease_that_never_was_is_no_error(self, rig: Rig) -> None:
        rig.provider.release("never", scope_of(rig))

    def test_a_leftover_with_the_leases_name_and_tags_is_released_too(self, rig: Rig) -> None:
        acquire(rig, "one")
        rig.add_leftover("one")
        rig.add_leftover("two")
        rig.provider.release("one", scope_of(rig))
        assert rig.count("one") == 0
        rig.provider.release("two", scope_of(rig))
        assert rig.count("two") == 0

    def test_a_copy_of_the_tags_is_reported_apart_and_deleted_only_by_name(self, rig: Rig) -> None:
        scope = scope_of(rig)
        rig.add_leftover("one")
        copy = rig.add_copy("one")
        (lease,) = rig.provider.found(scope)
        assert (lease.lease_id, lease.not_ours) == ("one", (copy,))
        assert lease.resources
        assert copy not in lease.resources
        rig.provider.release("one", scope)
        (lease,) = rig.provider.found(scope)
        assert (lease.resources, lease.not_ours, lease.expires_at) == ((), (copy,), None)
        assert rig.is_there(copy)
        rig.provider.release("one", scope, copied=["something else"])
        assert rig.is_there(copy)
        rig.provider.release("one", scope, copied=[copy])
        assert not rig.is_there(copy)
        assert rig.provider.found(scope) == []

    def test_a_lease_that_is_found_says_who_rented_it(self, rig: Rig) -> None:
        acquire(rig, "one")
        (lease,) = rig.provider.found(scope_of(rig))
        assert lease.owner == "tests"

    def test_a_release_takes_what_acquire_reported_as_made(self, rig: Rig) -> None:
        """A copy with the same name differs from the lease's resource by its id."""
        acquired = acquire(rig, "one")
        before = rig.provider.found(scope_of(rig))[0].resources
        assert set(acquired.made) <= set(before)
        rig.provider.release("one", scope_of(rig), made=acquired.made)
        assert rig.count("one") == 0

    def test_stopped_before_it_began_it_makes_nothing_that_release_leaves(self, rig: Rig) -> None:
        onlooker = RigOnlooker()
        onlooker.stop.set()
        with pytest.raises(Interrupted):
            acquire(rig, "one", onlooker)
        rig.provider.release("one", scope_of(rig))
        assert rig.count("one") == 0

    def test_released_in_the_middle_of_renting_nothing_is_left_in_the_end(self, rig: Rig) -> None:
        halfway, scope = threading.Event(), scope_of(rig)
        onlooker = RigOnlooker()

        def stop_at_the_first_note() -> None:
            onlooker.stop.set()
            halfway.set()

        onlooker.on_note = stop_at_the_first_note
        failed: list[BaseException] = []

        def rent() -> None:
            try:
                acquire(rig, "one", onlooker)
            except DiskbenchError as error:
                failed.append(error)
            halfway.set()

        renting = threading.Thread(target=rent)
        renting.start()
        assert halfway.wait(PATIENCE_S)
        rig.provider.release("one", scope)
        renting.join(PATIENCE_S)
        assert not renting.is_alive()
        # A resource made after that release carries the lease, and the next release deletes it.
        rig.provider.release("one", scope)
        assert rig.count("one") == 0
        assert all(isinstance(error, Interrupted) for error in failed)

    def test_the_machine_stays_and_its_new_disk_is_what_was_asked_for(self, rig: Rig) -> None:
        first = acquire(rig, "one")
        before = rig.count("one")
        second = swap(rig, 2)
        assert second.address == first.address
        assert second.facts.get("instance_id") == first.facts.get("instance_id")
        assert second.size_bytes == 2 * first.size_bytes
        assert (second.identity, second.directory) != (first.identity, first.directory)
        assert rig.count("one") == before, "the disk of the turn before is gone"

    def test_swapped_twice_in_a_turn_is_swapped_once(self, rig: Rig) -> None:
        acquire(rig, "one")
        second = swap(rig, 2)
        before = rig.count("one")
        assert swap(rig, 2) == second
        assert rig.count("one") == before

    def test_an_equal_disk_in_the_next_turn_is_another_disk(self, rig: Rig) -> None:
        acquire(rig, "one")
        second, third = swap(rig, 2), swap(rig, 3)
        assert third.size_bytes == second.size_bytes
        assert (third.identity, third.directory) != (second.identity, second.directory)

    def test_releasing_takes_the_machine_and_its_disks_of_every_turn(self, rig: Rig) -> None:
        acquire(rig, "one")
        swap(rig, 2)
        (lease,) = rig.provider.found(scope_of(rig))
        assert lease.lease_id == "one"
        rig.provider.release("one", scope_of(rig))
        assert rig.count("one") == 0
        assert rig.provider.found(scope_of(rig)) == []

    def test_a_machine_that_is_gone_gets_no_disk(self, rig: Rig) -> None:
        with pytest.raises(RentalFailed):
            swap(rig, 2)
        rig.provider.release("one", scope_of(rig))
        assert rig.count("one") == 0
