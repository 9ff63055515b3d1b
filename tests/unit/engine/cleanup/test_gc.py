"""What `diskbench gc` takes away, what it leaves, and what it says of the money."""

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.rigs.dying import replace_everywhere
from tests.rigs.plans import TRIAL_ID, make_plan, save_plan

from diskbench.engine.cleanup.gc import cost_of_lease, sweep
from diskbench.engine.cleanup.orphans import sweep_provider
from diskbench.errors import CloudSilent, InvalidValue, UnknownName, UserError
from diskbench.model.rental import Scope
from diskbench.providers.fake.cloud import VARIABLE, FakeProvider, plan_fault
from diskbench.store import leases, rows
from diskbench.store.dialects import iso
from diskbench.store.leases import Lease, create_lease, load_lease, release_lease

FAKE = Scope(provider="fake")


def leave(lease_id, *kinds, expires=1.0):
    """Something in the fake cloud, under a lease's tags."""
    left = []
    for kind in kinds or ("disk",):
        place = Path(os.environ[VARIABLE]) / "resources" / f"diskbench-{lease_id}-{kind}"
        place.mkdir(parents=True)
        tags = {"diskbench-lease": lease_id, "zone": "fake-1a"}
        tags |= {} if expires is None else {"diskbench-expires": expires}
        (place / "tags.json").write_text(json.dumps(tags))
        left.append(place)
    return left


def lease_row(session, lease_id, **more):
    row = Lease(lease_id=lease_id, provider="fake", region="fake-1", **more)
    create_lease(session.database, row)
    return load_lease(session.database, lease_id)


def in_an_hour():
    return iso(datetime.now(UTC) + timedelta(hours=1))


class TestByDatabase:
    def test_a_lease_whose_process_died_goes_by_its_row_or_in_words_when_dry(self, session):
        (left,) = leave("early")
        lease_row(session, "early", expires_at=in_an_hour())
        (swept,) = sweep(session, [], dry_run=True)
        assert (swept.outcome, left.exists()) == ("would-give-back", True)
        assert load_lease(session.database, "early").state == "open"
        (swept,) = sweep(session, [], dry_run=False)
        assert (swept.outcome, swept.reason) == ("gave-back", "its trial is finished")
        assert not left.exists()
        assert load_lease(session.database, "early").state == "released"

    def test_one_that_cannot_be_given_back_stops_none_of_the_others(self, session):
        leave("stuck")
        lease_row(session, "stuck")
        lease_row(session, "unknown-provider", created_at="2026-11-21T00:00:00.000000+00:00")
        create_lease(session.database, Lease(lease_id="gone", provider="somebodys"))
        plan_fault("release", "fake-1a", "access")
        by_id = {one.lease_id: one for one in sweep(session, [], dry_run=False)}
        assert by_id["unknown-provider"].outcome == "gave-back"
        assert "somebodys" in by_id["gone"].problem.message, "is not installed any more"
        stuck = by_id["stuck"]
        assert stuck.outcome == "could-not-give-back"
        assert "the credentials expired" in stuck.problem.message
        lease = load_lease(session.database, "stuck")
        assert (lease.state, "credentials expired" in (lease.error or "")) == ("open", True)

    def test_of_two_at_once_one_gave_it_back(self, session, monkeypatch):
        leave("both")
        lease_row(session, "both", expires_at=in_an_hour())
        release, inner = FakeProvider.release, []

        def released(*words, **more):
            if not inner:
                inner.append(None)
                inner[:] = sweep(session, [], dry_run=False)
            release(*words, **more)

        monkeypatch.setattr(FakeProvider, "release", released)
        (outer,) = sweep(session, [], dry_run=False)
        assert [outer.outcome, inner[0].outcome] == ["kept", "gave-back"]
        assert "another process" in outer.reason

    def test_named_twice_it_is_released_once_and_never_under_a_live_process(self, session):
        lease_row(session, "one")
        (swept,) = sweep(session, ["one", "on"], dry_run=False)
        assert swept.lease_id == "one"
        save_plan(session.database, make_plan(), session.evidence.url, owner=session.executor_id)
        lease_row(session, TRIAL_ID, expires_at="2026-01-01T00:00:00.000000+00:00")
        assert sweep(session, [], dry_run=False) == []
        with pytest.raises(InvalidValue, match="in use by a running process"):
            sweep(session, [TRIAL_ID], dry_run=False)

    def test_one_that_a_live_process_writes_while_it_looks_around_stays(self, session, monkeypatch):
        asked = []

        def meanwhile(module, name):
            look = getattr(module, name)

            def looked(*args, **more):
                found = look(*args, **more)
                if not asked:
                    asked.append(name)
                    plan, me = make_plan(), session.executor_id
                    lease = Lease(lease_id=TRIAL_ID, provider="fake")
                    save_plan(session.database, plan, "file:///e", owner=me, lease=lease)
                return found

            replace_everywhere(monkeypatch, module, name, looked)

        meanwhile(rows, "unfinished_trials")
        meanwhile(leases, "list_leases")
        assert sweep(session, [], dry_run=False) == []
        assert asked != []
        (left,) = leases.list_leases(session.database, state="open")
        assert left.lease_id == TRIAL_ID


class TestCost:
    BEGAN = "2026-11-21T10:00:00.000000+00:00"
    NOW = datetime(2026, 11, 21, 16, 30, tzinfo=UTC)

    @pytest.mark.parametrize(("price", "usd"), [(0.12, pytest.approx(0.78)), (None, None)])
    def test_it_is_the_hours_since_it_began_at_the_price_of_its_row_or_unknown(self, price, usd):
        lease = Lease(lease_id="one", provider="aws", created_at=self.BEGAN, hourly_usd=price)
        cost = cost_of_lease(lease, self.NOW)
        assert (cost.hours, cost.usd, cost.hourly_usd) == (6.5, usd, price)

    def test_files_on_a_machine_of_ones_own_cost_nothing(self):
        lease = Lease(lease_id="one", provider="ssh", created_at=self.BEGAN)
        assert cost_of_lease(lease, self.NOW, make_plan()).usd == 0


class TestByProvider:
    def test_the_expired_go_and_the_others_are_told_with_why_they_stay(self, session):
        ends = {"old": 1.0, "young": time.time() + 3600, "undated": None}
        old, young, undated = (leave(name, expires=until)[0] for name, until in ends.items())
        swept, unlisted = sweep_provider(session, FAKE, dry_run=False)
        told = {one.lease_id: (one.outcome, one.reason) for one in swept}
        assert told["old"] == ("gave-back", "it expired")
        assert told["young"][0] == "kept"
        assert told["young"][1].startswith("it expires at 20")
        assert told["undated"] == ("kept", "it does not say when it expires")
        assert (old.exists(), young.exists(), undated.exists()) == (False, True, True)
        assert unlisted == []

    def test_a_lease_of_our_own_database_goes_with_its_cost(self, session):
        leave("old", "machine", "disk")
        began = iso(datetime.now(UTC) - timedelta(hours=2))
        lease_row(session, "old", created_at=began, hourly_usd=0.5)
        ((swept,), _) = sweep_provider(session, FAKE, dry_run=True)
        assert swept.cost.usd == pytest.approx(1.0, abs=0.01)
        assert set(swept.resources) == {"diskbench-old-machine", "diskbench-old-disk"}

    def test_a_run_that_was_gone_on_with_outlives_its_tags(self, session):
        leave("longer", expires=1.0)
        lease_row(session, "longer", expires_at=in_an_hour())
        ((swept,), _) = sweep_provider(session, FAKE, dry_run=False)
        assert swept.outcome == "kept"

    def test_what_a_live_process_works_with_stays_and_an_id_that_nothing_has_is_told(self, session):
        leave(TRIAL_ID, expires=1.0)
        save_plan(session.database, make_plan(), session.evidence.url, owner=session.executor_id)
        ((swept,), _) = sweep_provider(session, FAKE, dry_run=False)
        assert (swept.outcome, swept.reason) == ("kept", "a process is using it")
        with pytest.raises(InvalidValue, match="in use"):
            sweep_provider(session, FAKE, [TRIAL_ID], dry_run=False)
        with pytest.raises(UnknownName, match="nobody"):
            sweep_provider(session, FAKE, ["nobody"], dry_run=False)


class InRegions(FakeProvider):
    """The fake cloud, which is in three regions, one of which may not be listed."""

    def regions(self, _scope):
        return ("here", "nowhere", "there")

    def found(self, scope):
        if scope.region == "nowhere":
            raise UserError("an organisation policy denies it", advice="ask your administrator")
        listed = [one.model_copy(update={"scope": scope}) for one in super().found(scope)]
        return [one for one in listed if one.lease_id == f"in-{scope.region}"]


class Copied(InRegions):
    """All is in two of them: in one it is there, in the other only copies of its tags are."""

    def found(self, scope):
        moved = {"scope": scope}
        if scope.region != "here":
            moved |= {"resources": (), "not_ours": ("prod-database",)}
        found = FakeProvider.found(self, scope) if scope.region != "nowhere" else []
        return [one.model_copy(update=moved) for one in found]


class TestRegions:
    def test_one_that_cannot_be_listed_hides_none_of_the_others(self, session, monkeypatch):
        monkeypatch.setattr("diskbench.providers.registry.provider", lambda _: InRegions())
        leave("in-here")
        leave("in-there")
        swept, unlisted = sweep_provider(session, FAKE, dry_run=False)
        assert [(one.where, one.outcome) for one in swept] == [
            ("fake here", "gave-back"), ("fake there", "gave-back"),
        ]  # fmt: skip
        (nowhere,) = unlisted
        assert (nowhere.where, nowhere.problem.advice) == ("fake nowhere", "ask your administrator")
        # A region that is named is the only one asked.
        scope = FAKE.model_copy(update={"region": "nowhere"})
        with pytest.raises(UserError, match="organisation policy"):
            sweep_provider(session, scope, dry_run=True)

    def test_a_region_with_nothing_but_copies_is_not_given_back(self, session, monkeypatch):
        monkeypatch.setattr("diskbench.providers.registry.provider", lambda _: Copied())
        leave("theirs")
        swept, _ = sweep_provider(session, FAKE, ["theirs"], dry_run=True)
        assert [(one.where, one.outcome) for one in swept] == [("fake here", "would-give-back")]


# What `diskbench gc` does where a cloud does not say what time it is.


LONG_AGO = "2026-01-01T00:00:00.000000+00:00"


class WithClock(FakeProvider):
    """The fake cloud with a clock of its own, which may be silent."""

    def __init__(self, *, silent):
        self.silent, self.asked = silent, 0

    def present(self, _scope):
        self.asked += 1
        if self.silent:
            raise CloudSilent("fake answered without its time", advice="look for a proxy")
        return datetime.now(UTC)


@pytest.fixture(params=[True])
def silent(request, monkeypatch):
    made = WithClock(silent=request.param)
    monkeypatch.setattr("diskbench.providers.registry.provider", lambda _: made)
    return made


class TestNamed:
    @pytest.mark.parametrize("ours", [True, False])
    def test_one_goes_that_is_ours_or_may_go_whatever_the_time(self, session, silent, ours):
        (left,) = leave("named", expires=time.time() + 3600)
        if ours:
            lease_row(session, "named", expires_at=in_an_hour())
        ((swept,), _) = sweep_provider(session, FAKE, ["named"], dry_run=False, not_mine=not ours)
        assert (swept.outcome, swept.problem) == ("gave-back", None)
        assert ours or swept.reason == "you named it"
        assert (left.exists(), silent.asked) == (False, 0)

    def test_what_only_copied_the_tags_goes_by_its_full_id(self, session, silent):
        (left,) = leave("theirs", expires=time.time() + 3600)
        copy = left.rename(left.with_name("prod-database"))
        ((swept,), _) = sweep_provider(session, FAKE, ["prod-database"], dry_run=False)
        assert (swept.outcome, swept.copied, swept.in_database) == ("gave-back", True, False)
        assert (copy.exists(), silent.asked) == (False, 0)

    def test_a_lease_of_others_stays_that_may_go_only_when_it_expired(self, session, silent):
        (left,) = leave("theirs", expires=1.0)
        with pytest.raises(CloudSilent, match="without its time"):
            sweep_provider(session, FAKE, ["theirs"], dry_run=False)
        assert (left.exists(), silent.asked) == (True, 1)


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
    @pytest.mark.parametrize("silent", [True, False], indirect=True)
    def test_what_our_database_gave_back_and_is_there_again_goes_before_it_expires(self, session):
        (left,) = leave("again", expires=time.time() + 3600)
        lease_row(session, "again")
        release_lease(session.database, "again")
        ((swept,), _) = sweep_provider(session, FAKE, dry_run=False)
        assert (swept.outcome, swept.problem) == ("gave-back", None)
        assert "but still exists" in swept.reason
        assert not left.exists()

    @pytest.mark.parametrize("silent", [False], indirect=True)
    def test_it_is_asked_once_for_all_leases_where_anything_expires(self, session, silent):
        leave("undated", expires=None)
        copy = leave("copied", expires=1.0)[0]
        copy.rename(copy.with_name("prod-database"))
        swept, _ = sweep_provider(session, FAKE, dry_run=False)
        assert ([one.outcome for one in swept], silent.asked) == (["kept", "kept"], 0)
        for name in ("one", "two", "three"):
            leave(name, expires=1.0)
        swept, _ = sweep_provider(session, FAKE, dry_run=False)
        assert sorted(one.outcome for one in swept) == ["gave-back"] * 3 + ["kept"] * 2
        assert silent.asked == 1


class TestByDatabaseWhileTheCloudIsSilent:
    @pytest.mark.usefixtures("silent")
    @pytest.mark.parametrize("dry_run", [True, False])
    def test_an_expired_lease_stays_with_the_reason_as_a_problem(self, session, dry_run):
        (left,) = leave(TRIAL_ID, expires=1.0)
        save_plan(session.database, make_plan(), session.evidence.url, owner="dead")
        lease_row(session, TRIAL_ID, expires_at=LONG_AGO)
        (swept,) = sweep(session, [], dry_run=dry_run)
        assert swept.outcome == "kept"
        assert "without its time" in swept.problem.message
        assert left.exists()
        lease = load_lease(session.database, TRIAL_ID)
        assert lease.state == "open"
        assert (lease.error is None) == dry_run, "a dry run writes nothing"
