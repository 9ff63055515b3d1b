"""The end of a lease whose work is resumed: moved everywhere, or nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from tests.rigs.plans import make_plan, make_step

from diskbench.engine.extend import check_lasts
from diskbench.engine.session import Session, open_session
from diskbench.engine.takeover import claim
from diskbench.errors import InvalidValue, StoreUnavailable
from diskbench.model.rental import Claim, Rental, RentSpec, Scope
from diskbench.plan.duration import left_s, longest_s
from diskbench.ports import ExtendsLeases
from diskbench.providers.fake import VARIABLE, FakeProvider
from diskbench.store.clock import database_time, iso
from diskbench.store.leases import Lease, load_lease
from diskbench.store.rows import save_plan

SCOPE = Scope(provider="fake", region="fake-1")
RUN = "01jd3v9c7m8r2k5w6x4y1z0abc"
STEPS = tuple(
    make_step(index, name).model_copy(update={"expected_s": 600.0})
    for index, name in enumerate(("fill", "read", "write"))
)


class Fixed:
    """A provider whose switch cannot be moved, as one of a running machine on Google Cloud."""

    name = "gcp"


@pytest.fixture
def session(tmp_path, monkeypatch) -> Iterator[Session]:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cloud"))
    made = open_session(f"sqlite:///{tmp_path}/rows.db", (tmp_path / "evidence").as_uri())
    yield made
    made.close()


def rented_plan(session: Session, renter: object, monkeypatch, *, left: timedelta):
    """A rented trial of a dead process whose lease has so much time left."""
    spec = RentSpec(disk="plain", size_gib=1)
    rental = Rental(scope=SCOPE, spec=spec, offer="a disk", disk=None)
    plan = make_plan((RUN,), steps=STEPS, expected_s=1800.0).model_copy(update={"rental": rental})
    monkeypatch.setattr(Session, "renter", lambda *_: renter)
    ends = database_time(session.database) + left
    lease = Lease(lease_id=plan.trial_id, provider="fake", expires_at=iso(ends))
    save_plan(session.database, plan, session.evidence.url, owner="dead", lease=lease)
    return plan, ends


def row_end(session: Session, plan) -> datetime:
    lease = load_lease(session.database, plan.trial_id)
    assert lease is not None
    assert lease.expires_at is not None
    return datetime.fromisoformat(lease.expires_at)


def test_a_lease_that_is_resumed_ends_later_in_its_row_and_on_its_tags(session, monkeypatch):
    cloud = FakeProvider()
    plan, ends = rented_plan(session, cloud, monkeypatch, left=timedelta(minutes=1))
    before = Claim(lease_id=plan.trial_id, expires_at=ends.timestamp(), owner="me", version="0")
    cloud._make(before, "machine", "fake-1a")
    check_lasts(session, plan)
    assert claim(session, plan)
    until = row_end(session, plan)
    assert until > ends + timedelta(hours=1)
    (found,) = cloud.found(SCOPE)
    assert found.expires_at == pytest.approx(until.timestamp(), abs=1e-3)


def test_where_it_cannot_be_moved_the_row_says_what_the_switch_says(session, monkeypatch):
    assert not isinstance(Fixed(), ExtendsLeases)
    plan, ends = rented_plan(session, Fixed(), monkeypatch, left=timedelta(hours=1))
    check_lasts(session, plan)
    assert claim(session, plan)
    assert row_end(session, plan) == ends


@pytest.mark.parametrize("left", [timedelta(minutes=29), timedelta(minutes=-5)])
def test_work_that_would_outlast_the_switch_is_refused_with_words(session, monkeypatch, left):
    plan, ends = rented_plan(session, Fixed(), monkeypatch, left=left)
    with pytest.raises(InvalidValue) as refused:
        check_lasts(session, plan)
    assert f"{plan.trial_id} cannot be resumed: it needs up to 30 min more" in str(refused.value)
    assert f"gcp ends itself at {ends:%Y-%m-%d %H:%M} UTC" in str(refused.value)
    assert f"diskbench gc {plan.trial_id}" in refused.value.advice
    assert refused.value.exit_code == 2


def test_where_the_provider_does_not_answer_the_row_is_not_moved(session, monkeypatch, caplog):
    class Away(FakeProvider):
        def extend(self, *_: object) -> None:
            raise StoreUnavailable("no answer")

    plan, ends = rented_plan(session, Away(), monkeypatch, left=timedelta(hours=1))
    assert claim(session, plan)
    assert row_end(session, plan) == ends
    assert "keeps its end: no answer" in caplog.text


def test_what_is_left_is_counted_by_the_steps_that_have_ended():
    plan = make_plan(steps=STEPS)
    assert left_s(plan, []) == longest_s(plan)
    assert left_s(plan, ["fill"]) == longest_s(plan) - 600
    assert left_s(plan, ["fill", "unknown"] + ["read"] * 99) == 0
