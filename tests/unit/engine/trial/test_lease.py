"""The end of a lease whose work is resumed: moved everywhere, or nowhere."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from tests.rigs.dying import replace_everywhere
from tests.rigs.plans import make_plan, make_step, save_plan

from diskbench.engine.durable import process
from diskbench.engine.session import Session
from diskbench.engine.trial.lease import check_lasts, expiry, move_end, renew
from diskbench.engine.trial.release import hand_back
from diskbench.engine.work import claim
from diskbench.errors import (
    DiskbenchError,
    InvalidValue,
    ReleaseFailed,
    RentalFailed,
    StoreUnavailable,
)
from diskbench.model.ids import short
from diskbench.model.options import RentSpec
from diskbench.model.rental import Acquired, Claim, Rental, Scope
from diskbench.model.spec import Loop, SharedMachine
from diskbench.plan.cost import left_s, longest_s
from diskbench.ports import ExtendsLeases
from diskbench.providers.fake.cloud import FakeProvider
from diskbench.store import campaigns
from diskbench.store.database import database_time
from diskbench.store.dialects import iso
from diskbench.store.leases import Lease, create_lease, load_lease
from diskbench.testing.rig import RigOnlooker

SHORT_STEPS = tuple(
    make_step(index, name).model_copy(update={"expected_s": seconds})
    for index, (name, seconds) in enumerate([("fill", 100.0), ("read", 60.0), ("write", 60.0)])
)


def test_a_lease_lasts_as_long_again_as_its_runs_and_an_hour_and_a_loop_to_its_last_round():
    plan, moment = make_plan(steps=SHORT_STEPS, expected_s=440.0), datetime.now(UTC)
    left = datetime.fromisoformat(expiry(moment, plan)) - moment
    assert left == timedelta(hours=1, seconds=2 * 440)
    loop = Loop(first=1, tracked="write", direction="write", min_rounds=5, max_rounds=25)
    plan = make_plan(("a" * 26, "b" * 26), steps=SHORT_STEPS, loop=loop, expected_s=2 * 700.0)
    assert longest_s(plan) == 2 * (100 + 25 * 120)
    plan = make_plan(steps=STEPS)
    assert left_s(plan, []) == longest_s(plan)
    assert left_s(plan, ["fill"]) == longest_s(plan) - 600
    assert left_s(plan, ["fill", "unknown"] + ["read"] * 99) == 0


SCOPE = Scope(provider="fake", region="fake-1")
RUN = "01jd3v9c7m8r2k5w6x4y1z0abc"
MACHINE = "01jd3v9c7m8r2k5w6x4y1z0mac"
STEPS = tuple(
    make_step(index, name).model_copy(update={"expected_s": 600.0})
    for index, name in enumerate(("fill", "read", "write"))
)


class Fixed:
    """A provider whose switch cannot be moved, as one of a running machine on Google Cloud."""

    name = "gcp"

    def ends_by(self) -> str:
        return "Google deletes the machine (maxRunDuration)"


class Away(FakeProvider):
    """A cloud that lets nothing be moved now."""

    def extend(self, *_: object) -> None:
        raise RentalFailed("no answer", advice="look at the network")


def rented_plan(session: Session, renter: object, monkeypatch, *, left: timedelta, **changes: Any):
    """A rented trial of a dead process whose lease has so much time left."""
    rental = Rental(scope=SCOPE, spec=RentSpec(disk="plain", size_gib=1), offer="a disk", disk=None)
    acquired = Acquired(address="", directory="/tmp", size_bytes=1, emulated=True)
    changes = {"rental": rental, "acquired": acquired} | changes
    plan = make_plan((RUN,), steps=STEPS, expected_s=1800.0).model_copy(update=changes)
    monkeypatch.setattr(Session, "renter", lambda *_: renter)
    ends = database_time(session.database) + left
    lease = Lease(lease_id=plan.trial_id, provider="fake", expires_at=iso(ends))
    save_plan(session.database, plan, session.evidence.url, owner="dead", lease=lease)
    return plan, ends


def row_end(session: Session, lease_id: str) -> datetime:
    return load_lease(session.database, lease_id).ends


def made(cloud: FakeProvider, lease_id: str, ends: datetime) -> None:
    """The machine of a lease, as it stands at the cloud."""
    before = Claim(lease_id=lease_id, expires_at=ends.timestamp(), owner="me", version="0")
    cloud._rent(before, "machine", "fake-1a", RigOnlooker())


@pytest.mark.parametrize("machine", [None, SharedMachine(lease_id=MACHINE, turn=2)])
def test_a_lease_that_is_resumed_and_a_machine_that_trials_share_end_later_in_row_and_tags(
    session, monkeypatch, machine
):
    cloud, left = FakeProvider(), timedelta(minutes=1)
    plan, ends = rented_plan(session, cloud, monkeypatch, left=left, machine=machine)
    lease_id = machine.lease_id if machine else plan.trial_id
    if machine:
        row = Lease(lease_id=lease_id, provider="fake", expires_at=iso(ends))
        create_lease(session.database, row)
    made(cloud, lease_id, ends)
    check_lasts(session, plan)
    assert claim(session, plan)
    until = row_end(session, lease_id)
    assert until > ends + timedelta(hours=1)
    assert row_end(session, plan.trial_id) == until
    (found,) = cloud.found(SCOPE)
    assert found.expires_at == pytest.approx(until.timestamp(), abs=1e-3)


def test_a_lease_never_ends_earlier_for_being_resumed(session, monkeypatch):
    plan, ends = rented_plan(session, Away(), monkeypatch, left=timedelta(days=3))
    move_end(session, plan, iso(ends - timedelta(hours=1)))
    assert row_end(session, plan.trial_id) == ends


def test_what_switches_off_is_moved_before_the_row_says_so(session, monkeypatch):
    """The row is last: whoever reads it counts on what is moved already."""
    seen = []

    class Watched(FakeProvider):
        def extend(self, lease_id, _scope, end, guest, made=()) -> None:
            seen.append((row_end(session, lease_id), end, guest, made))

    plan, ends = rented_plan(session, Watched(), monkeypatch, left=timedelta(minutes=1))
    assert claim(session, plan)
    ((row, end, guest, _),) = seen
    assert row == ends
    assert guest is session.connect(plan)
    assert end.expires_at == pytest.approx(row_end(session, plan.trial_id).timestamp(), abs=1e-3)
    assert 0 < end.left_s <= 2 * longest_s(plan) + 3600


def test_where_it_cannot_be_moved_the_row_says_what_the_switch_says(session, monkeypatch):
    assert not isinstance(Fixed(), ExtendsLeases)
    plan, ends = rented_plan(session, Fixed(), monkeypatch, left=timedelta(hours=1))
    check_lasts(session, plan)
    assert claim(session, plan)
    assert row_end(session, plan.trial_id) == ends


@pytest.mark.parametrize(
    ("left", "told"), [(timedelta(minutes=29), "in 28 min"), (timedelta(minutes=-5), "5 min ago")]
)
def test_work_that_would_outlast_the_switch_is_refused_with_words(session, monkeypatch, left, told):
    plan, ends = rented_plan(session, Fixed(), monkeypatch, left=left)
    for refuse in (check_lasts, claim):
        with pytest.raises(InvalidValue) as refused:
            refuse(session, plan)
        said = str(refused.value)
        assert f"{short(plan.trial_id)} cannot be resumed: it needs up to 30 min more" in said
        assert f"gcp ends itself at {ends:%Y-%m-%d %H:%M} UTC ({told})" in said
        assert "Google deletes the machine (maxRunDuration)" in said
        assert f"diskbench gc {short(plan.trial_id)}" in refused.value.advice
        assert refused.value.exit_code == 2


@pytest.mark.parametrize(("minutes", "fits"), [(60, True), (10, False)])
def test_where_nothing_is_moved_only_work_that_fits_goes_on(
    session, monkeypatch, caplog, minutes, fits
):
    """Else our own switch would kill our own run."""
    plan, ends = rented_plan(session, Away(), monkeypatch, left=timedelta(minutes=minutes))
    check_lasts(session, plan)
    if fits:
        assert claim(session, plan)
        assert "could not be extended: no answer" in caplog.text
    else:
        with pytest.raises(InvalidValue, match="could not be moved: no answer") as refused:
            claim(session, plan)
        assert refused.value.advice.startswith("look at the network; then: diskbench resume")
    assert row_end(session, plan.trial_id) == ends


def test_a_database_that_is_away_is_no_reason_to_go_on_with_the_old_end(session, monkeypatch):
    class Broken(FakeProvider):
        def extend(self, *_: object) -> None:
            raise StoreUnavailable("the database does not answer")

    plan, _ = rented_plan(session, Broken(), monkeypatch, left=timedelta(hours=1))
    with pytest.raises(StoreUnavailable):
        claim(session, plan)


def test_a_cell_that_would_outlast_its_machine_is_tried_again_on_another(session, monkeypatch):
    plan, _ = rented_plan(session, Fixed(), monkeypatch, left=timedelta(minutes=1))
    settled: list[tuple[Any, ...]] = []
    stations = SimpleNamespace(session=session, settle=lambda *words, **_: settled.append(words))
    cell = SimpleNamespace(trial_id=plan.trial_id, owner="dead", key="one")
    replace_everywhere(monkeypatch, campaigns, "claim_cell", lambda *_, **__: True)
    replace_everywhere(monkeypatch, process, "silent_s", lambda *_: 1.0)
    monkeypatch.setattr(process, "go_on", lambda *_: None)
    process.take(stations, cell, "PENDING", ())  # type: ignore[arg-type]
    ((trial_id, end, problem),) = settled
    assert (trial_id, end, problem.kind) == (plan.trial_id, None, "RentalFailed")
    assert "ends itself at" in problem.message


class TestDraft:
    """A machine that is still to be rented, or half made: its guest was told its end at boot."""

    def begun(self, session, monkeypatch, minutes):
        cloud, left = FakeProvider(), timedelta(minutes=minutes)
        plan, ends = rented_plan(session, cloud, monkeypatch, left=left, acquired=None)
        made(cloud, plan.trial_id, ends)
        check_lasts(session, plan)
        assert claim(session, plan)
        return cloud, plan, ends

    def test_one_whose_lease_lasts_is_left_alone(self, session, monkeypatch):
        cloud, plan, ends = self.begun(session, monkeypatch, 60)
        renew(session, plan, RigOnlooker())
        assert row_end(session, plan.trial_id) == ends
        (found,) = cloud.found(SCOPE)
        assert found.expires_at == pytest.approx(ends.timestamp(), abs=1e-3)

    def test_one_whose_lease_is_too_short_is_begun_anew(self, session, monkeypatch):
        cloud, plan, ends = self.begun(session, monkeypatch, 10)
        watch = RigOnlooker()
        assert row_end(session, plan.trial_id) == ends, "not before what was made is gone"
        renew(session, plan, watch)
        assert cloud.found(SCOPE) == []
        assert row_end(session, plan.trial_id) > ends + timedelta(hours=1)
        assert "given back and rented again" in watch.notes[0]

    def test_one_on_a_machine_that_others_used_needs_another(self, session, monkeypatch):
        shared = SharedMachine(lease_id=MACHINE, turn=2)
        draft = {"acquired": None, "machine": shared, "left": timedelta(minutes=10)}
        plan, ends = rented_plan(session, FakeProvider(), monkeypatch, **draft)
        lease = Lease(lease_id=MACHINE, provider="fake", expires_at=iso(ends))
        create_lease(session.database, lease)
        with pytest.raises(RentalFailed, match="that cells share cannot be used"):
            renew(session, plan, RigOnlooker())


FAKE = Scope(provider="fake", region="fake-1")


class Failing(FakeProvider):
    """A cloud that does not give back what was rented."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def release(self, *_: object, **__: object) -> None:
        raise self.error


def handed_back(session: Session, cloud: FakeProvider, monkeypatch) -> tuple[str, Lease | None]:
    """What `hand_back` says of a rented trial, and its lease afterwards."""
    rental = Rental(scope=FAKE, spec=RentSpec(disk="plain", size_gib=1), offer="a disk", disk=None)
    # An address: the machine goes whole, with what lies on it.
    acquired = Acquired(address="192.0.2.1", directory="/tmp", size_bytes=1, emulated=True)
    plan = make_plan().model_copy(update={"rental": rental, "acquired": acquired})
    ends = iso(database_time(session.database) + timedelta(hours=1))
    lease = Lease(lease_id=plan.trial_id, provider="fake", expires_at=ends)
    save_plan(session.database, plan, session.evidence.url, owner="me", lease=lease)
    monkeypatch.setattr(Session, "renter", lambda *_: cloud)
    failed = hand_back(session, plan)
    return "" if failed is None else failed.message, load_lease(session.database, plan.trial_id)


ERRORS = (ReleaseFailed("still attached"), RentalFailed("no answer"), DiskbenchError("expired"))


@pytest.mark.parametrize(
    "error", [*ERRORS, RuntimeError("ours")], ids=lambda one: type(one).__name__
)
def test_a_lease_stays_open_with_the_reason_where_anything_failed(error, session, monkeypatch):
    said, lease = handed_back(session, Failing(error), monkeypatch)
    assert str(error) in said
    assert (lease.state, lease.released_at, lease.error) == ("open", None, said)


def test_a_lease_is_released_when_everything_is_back(session, monkeypatch):
    said, lease = handed_back(session, FakeProvider(), monkeypatch)
    assert (said, lease.state, lease.error) == ("", "released", None)
    assert lease.released_at is not None
