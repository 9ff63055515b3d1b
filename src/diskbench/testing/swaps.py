"""The contract of a provider that swaps a machine's disks (ports.SwapsDisks)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from diskbench.errors import RentalFailed
from diskbench.ports import SwapsDisks
from diskbench.testing.rig import Rig, RigOnlooker, acquire, claim, larger, resolved, scope_of

if TYPE_CHECKING:
    from diskbench.model.rental import Acquired


def swap(rig: Rig, turn: int) -> Acquired:
    """Give the machine of lease `one` another disk, twice as large; raises what `swap` raises."""
    provider = rig.provider
    assert isinstance(provider, SwapsDisks), "SwapContract is for providers that swap disks"
    return provider.swap(claim("one", turn=turn), resolved(rig, larger(rig)), RigOnlooker())


class SwapContract:
    """Inherit this class beside RenterContract; both use the fixture `rig`."""

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
