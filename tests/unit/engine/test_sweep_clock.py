"""What `diskbench gc` does where a cloud does not say what time it is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.rigs.plans import TRIAL_ID, make_plan, save_plan
from tests.unit.engine.cleanup.test_gc import FAKE, in_an_hour, lease_row, leave

from diskbench.engine.cleanup.gc import sweep
from diskbench.engine.cleanup.orphans import sweep_provider
from diskbench.engine.session import Session, open_session
from diskbench.errors import CloudSilent
from diskbench.model.rental import Scope
from diskbench.providers.fake.cloud import VARIABLE, FakeProvider
from diskbench.store.leases import load_lease, release_lease

LONG_AGO = "2026-01-01T00:00:00.000000+00:00"


class WithClock(FakeProvider):
    """The fake cloud with a clock of its own, which may be silent."""

    def __init__(self, *, silent: bool) -> None:
        self.silent, self.asked = silent, 0

    def present(self, _scope: Scope) -> datetime:
        self.asked += 1
        if self.silent:
            raise CloudSilent("fake answered without its time", advice="look for a proxy")
        return datetime.now(UTC)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cloud"))
    made = open_session(
        f"sqlite:///{tmp_path}/rows.db", (tmp_path / "evidence").as_uri(), owner="me"
    )
    yield made
    made.close()


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> WithClock:
    made = WithClock(silent=True)
    monkeypatch.setattr("diskbench.providers.registry.provider", lambda _: made)
    return made


@pytest.fixture
def telling(monkeypatch: pytest.MonkeyPatch) -> WithClock:
    made = WithClock(silent=False)
    monkeypatch.setattr("diskbench.providers.registry.provider", lambda _: made)
    return made


def an_hour_on() -> float:
    return time.time() + 3600


class TestNamed:
    def test_an_open_lease_of_ours_goes(self, session, silent):
        (left,) = leave("ours", expires=an_hour_on())
        lease_row(session, "ours", expires_at=in_an_hour())
        ((swept,), _) = sweep_provider(session, FAKE, ["ours"], dry_run=False)
        assert (swept.outcome, swept.problem) == ("gave-back", None)
        assert not left.exists()
        assert silent.asked == 0

    def test_a_lease_of_others_goes_that_may_go_whatever_the_time(self, session, silent):
        (left,) = leave("theirs", expires=an_hour_on())
        ((swept,), _) = sweep_provider(session, FAKE, ["theirs"], dry_run=False, not_mine=True)
        assert (swept.outcome, swept.reason) == ("gave-back", "you named it")
        assert not left.exists()
        assert silent.asked == 0

    def test_what_only_copied_the_tags_goes_by_its_full_id(self, session, silent):
        (left,) = leave("theirs", expires=an_hour_on())
        copy = left.rename(left.with_name("prod-database"))
        ((swept,), _) = sweep_provider(session, FAKE, ["prod-database"], dry_run=False)
        assert (swept.outcome, swept.copied, swept.in_database) == ("gave-back", True, False)
        assert not copy.exists()
        assert silent.asked == 0

    def test_a_lease_of_others_stays_that_may_go_only_when_it_expired(self, session, silent):
        (left,) = leave("theirs", expires=1.0)
        with pytest.raises(CloudSilent, match="without its time"):
            sweep_provider(session, FAKE, ["theirs"], dry_run=False)
        assert left.exists()
        assert silent.asked == 1


class TestUnnamed:
    def test_what_expired_stays_with_the_reason_as_a_problem(self, session, silent):
        left = [leave(name, expires=1.0)[0] for name in ("one", "two")]
        for dry_run in (True, False):
            swept, _ = sweep_provider(session, FAKE, dry_run=dry_run)
            assert [(one.lease_id, one.outcome) for one in swept] == [
                ("one", "kept"), ("two", "kept"),
            ]  # fmt: skip
            assert all(one.problem and "without its time" in one.problem.message for one in swept)
            assert all("expired" in one.reason for one in swept)
        assert all(one.exists() for one in left)
        assert silent.asked == 2, "once each time, for both leases"

    @pytest.mark.usefixtures("silent")
    def test_what_our_database_gave_back_goes(self, session):
        (left,) = leave("again", expires=an_hour_on())
        lease_row(session, "again")
        release_lease(session.database, "again")
        ((swept,), _) = sweep_provider(session, FAKE, dry_run=False)
        assert (swept.outcome, swept.problem) == ("gave-back", None)
        assert not left.exists()

    def test_it_is_not_asked_where_nothing_expires(self, session, telling):
        leave("undated", expires=None)
        copy = leave("copied", expires=1.0)[0]
        copy.rename(copy.with_name("prod-database"))
        swept, _ = sweep_provider(session, FAKE, dry_run=False)
        assert [one.outcome for one in swept] == ["kept", "kept"]
        assert telling.asked == 0

    def test_it_is_asked_once_for_all_leases(self, session, telling):
        for name in ("one", "two", "three"):
            leave(name, expires=1.0)
        swept, _ = sweep_provider(session, FAKE, dry_run=False)
        assert [one.outcome for one in swept] == ["gave-back"] * 3
        assert telling.asked == 1


class TestByDatabase:
    @pytest.mark.usefixtures("silent")
    @pytest.mark.parametrize("dry_run", [True, False])
    def test_an_expired_lease_stays_with_the_reason_as_a_problem(self, session, dry_run):
        (left,) = leave(TRIAL_ID, expires=1.0)
        save_plan(session.database, make_plan(), session.evidence.url, owner="dead")
        lease_row(session, TRIAL_ID, expires_at=LONG_AGO)
        (swept,) = sweep(session, [], dry_run=dry_run)
        assert swept.outcome == "kept"
        assert swept.problem is not None
        assert "without its time" in swept.problem.message
        assert left.exists()
        lease = load_lease(session.database, TRIAL_ID)
        assert lease is not None
        assert lease.state == "open"
        assert (lease.error is None) == dry_run, "a dry run writes nothing"
