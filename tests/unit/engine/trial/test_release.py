"""When a lease counts as given back: only when its provider gave everything back."""

from datetime import timedelta

import pytest
from tests.rigs.plans import make_plan, save_plan

from diskbench.engine.session import Session
from diskbench.engine.trial.release import hand_back
from diskbench.errors import DiskbenchError, ReleaseFailed, RentalFailed
from diskbench.model.options import RentSpec
from diskbench.model.rental import Acquired, Rental, Scope
from diskbench.providers.fake.cloud import FakeProvider
from diskbench.store.clock import iso
from diskbench.store.database import database_time
from diskbench.store.leases import Lease, load_lease

SCOPE = Scope(provider="fake", region="fake-1")


class Failing(FakeProvider):
    """A cloud that does not give back what was rented."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def release(self, *_: object, **__: object) -> None:
        raise self.error


def handed_back(session: Session, cloud: FakeProvider, monkeypatch) -> tuple[str, Lease | None]:
    """What `hand_back` says of a rented trial, and its lease afterwards."""
    rental = Rental(scope=SCOPE, spec=RentSpec(disk="plain", size_gib=1), offer="a disk", disk=None)
    # An address: the machine goes whole, with what lies on it.
    acquired = Acquired(address="192.0.2.1", directory="/tmp", size_bytes=1, emulated=True)
    plan = make_plan().model_copy(update={"rental": rental, "acquired": acquired})
    ends = iso(database_time(session.database) + timedelta(hours=1))
    lease = Lease(lease_id=plan.trial_id, provider="fake", expires_at=ends)
    save_plan(session.database, plan, session.evidence.url, owner="me", lease=lease)
    monkeypatch.setattr(Session, "renter", lambda *_: cloud)
    failed = hand_back(session, plan)
    return "" if failed is None else failed.message, load_lease(session.database, plan.trial_id)


@pytest.mark.parametrize(
    "error",
    [
        ReleaseFailed("vol-1 is still attached"),
        RentalFailed("no answer"),
        DiskbenchError("the credentials expired"),
        RuntimeError("a fault of the provider"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_lease_stays_open_with_the_reason_where_anything_failed(error, session, monkeypatch):
    said, lease = handed_back(session, Failing(error), monkeypatch)
    assert str(error) in said
    assert (lease.state, lease.released_at, lease.error) == ("open", None, said)


def test_a_lease_is_released_when_everything_is_back(session, monkeypatch):
    said, lease = handed_back(session, FakeProvider(), monkeypatch)
    assert (said, lease.state, lease.error) == ("", "released", None)
    assert lease.released_at is not None
