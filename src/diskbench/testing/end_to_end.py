"""One lease from resolve to release: for clouds where renting takes long."""

import time

import pytest

from diskbench.errors import UserError
from diskbench.model.rental import LeaseEnd
from diskbench.ports import ExtendsLeases, SwapsDisks
from diskbench.testing.renter import EXPIRES_AT
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


class EndToEndContract:
    """Inherit this class and define a fixture `rig`. One test checks what RenterContract requires
    of one lease, with a single machine."""

    @pytest.fixture
    def rig(self) -> Rig:
        """The provider and its cloud, without any lease; a subclass overrides this."""
        raise NotImplementedError("override the fixture `rig`: it returns a diskbench.testing.Rig")

    def test_one_lease_from_the_first_question_to_the_last_release(self, rig: Rig) -> None:
        provider = rig.provider
        for spec in rig.wrong:
            with pytest.raises(UserError):
                provider.check(cell(rig, spec))
        provider.check(cell(rig))
        scope = scope_of(rig)
        assert provider.found(scope) == [], "nothing was rented so far"

        acquired = acquire(rig, "one")
        assert rig.spec.size_gib is not None
        assert acquired.size_bytes == rig.spec.size_gib * 2**30
        count = rig.count("one")
        assert acquire(rig, "one") == acquired, "acquired twice is acquired once"
        assert rig.count("one") == count
        (lease,) = provider.found(scope)
        assert (lease.lease_id, lease.expires_at, lease.owner) == ("one", EXPIRES_AT, "tests")
        assert set(acquired.made) <= set(lease.resources)
        assert rig.ends("one") == {EXPIRES_AT}
        assert provider.gone("one", scope) is None

        if isinstance(provider, ExtendsLeases):
            end = LeaseEnd(expires_at=4.05e9, left_s=4.05e9 - time.time())
            guest = guest_of(acquired)
            try:
                provider.extend("one", scope, end, guest, acquired.made)
            finally:
                guest.close()
            assert rig.ends("one") == {4.05e9}

        made = acquired.made
        if isinstance(provider, SwapsDisks):
            rental = resolved(rig, larger(rig))
            swapped = provider.swap(claim("one", turn=2), rental, RigOnlooker())
            assert swapped.size_bytes == 2 * acquired.size_bytes
            assert (swapped.identity, swapped.directory) != (acquired.identity, acquired.directory)
            made = swapped.made

        copy = rig.add_copy("one")
        provider.release("one", scope, made=made)
        (lease,) = provider.found(scope)
        assert (lease.resources, lease.not_ours) == ((), (copy,))
        assert rig.is_there(copy)
        provider.release("one", scope, copied=[copy])
        provider.release("one", scope)
        assert not rig.is_there(copy)
        assert rig.count("one") == 0
        assert provider.found(scope) == []
        assert provider.gone("one", scope)
