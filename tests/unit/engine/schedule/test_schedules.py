"""What becomes of a schedule's times. The clock is the test's: DBOS's ring is a call."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from diskbench.engine.durable import schedules as clocks
from diskbench.engine.matrix.matrix_file import load_matrix
from diskbench.engine.processes import enrol
from diskbench.engine.schedule import schedules as handled
from diskbench.engine.schedule.runs import ScheduleWatch, campaign_id_of
from diskbench.errors import CostRefused, InvalidValue, MatrixError
from diskbench.model.ids import short
from diskbench.providers.fake.cloud import VARIABLE as FAKE_DIR
from diskbench.report.terminal.status_text import schedule_lines
from diskbench.store.campaigns import list_campaigns, load_cells
from diskbench.store.database import open_database
from diskbench.store.executors import remove_executor
from diskbench.store.matrix_lock import locked
from diskbench.store.schedules import locked_schedule, occurrences_of, save_schedule

BERLIN = "Europe/Berlin"  # forward on 2026-03-29 at 02:00, back on 2026-10-25 at 03:00
MATRIX = """name: nightly
defaults: {provider: fake, disk: plain, size: 1, profile: quick}
axes:
  runs: [1, 2]
"""
MONDAY, TUESDAY, WEDNESDAY = "2026-11-02T03:30", "2026-11-03T03:30", "2026-11-04T03:30"


def at(text: str, zone: str = BERLIN) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))


class Watched:
    """A worker's watch over one schedule, and a clock that is set."""

    def __init__(self, database, folder) -> None:
        self.database, self.folder = database, folder
        self.now = at("2026-11-01T12:00")
        self.watch = ScheduleWatch(database, "me", now=lambda: self.now)
        enrol(database, "me")

    def add(self, cron="30 3 * * *", *, name="nightly", text=MATRIX, now=None, **options):
        self.now = at(now) if now else self.now
        path = self.folder / "nightly.yaml"
        path.write_text(text)
        wanted = {
            "zone": BERLIN, "overlap": "skip", "backfill": False, "budget_usd": None,
            "assume_price_usd_per_hour": None,
        }  # fmt: skip
        wanted |= {"cron": cron, "now": self.now, **options}
        made = handled.add_schedule(self.database, name, load_matrix(str(path)), **wanted)
        path.unlink()
        return made

    def rings(self, moment, *, late: timedelta = timedelta(seconds=2)) -> list[str]:
        """DBOS rings, and the worker looks; the states of all occurrences then."""
        due = at(moment) if isinstance(moment, str) else moment
        self.now = due + late
        self.watch.heard("nightly", due)
        self.watch.look()
        return self.states

    def looks(self, moment: str) -> list[str]:
        """A worker looks at its leisure; the states of all occurrences then."""
        self.now = at(moment)
        self.watch.look()
        return self.states

    def finish(self) -> None:
        """All matrices end."""
        for one in list_campaigns(self.database, states=("running",)):
            with locked(self.database, one.campaign_id) as held:
                held.set_state("done")

    @property
    def became(self) -> list[tuple[str, str, str | None]]:
        """Every occurrence, oldest first: its time in Berlin, its state, and why."""

        def time_of(one):
            moment = datetime.fromisoformat(one.scheduled_for).astimezone(ZoneInfo(BERLIN))
            return moment.isoformat(timespec="minutes")

        found = occurrences_of(self.database, "nightly", most=1000)
        return [(time_of(one), one.state, one.reason) for one in reversed(found)]

    @property
    def states(self) -> list[str]:
        return [state for _, state, _ in self.became]


@pytest.fixture
def watched(database, tmp_path, monkeypatch):
    monkeypatch.setenv(FAKE_DIR, str(tmp_path / "fake"))
    return Watched(database, tmp_path)


def test_a_due_time_begins_one_matrix_whose_id_follows_from_it_though_its_file_is_gone(watched):
    watched.add()
    watched.rings(MONDAY)
    (campaign,) = list_campaigns(watched.database)
    assert (campaign.name, campaign.queue, campaign.schedule) == ("nightly", None, "nightly")
    assert campaign.scheduled_for == "2026-11-02T02:30:00.000000+00:00"
    cells = load_cells(watched.database, campaign.campaign_id)
    assert {cell.cell.runs for cell in cells} == {1, 2}
    assert all(("schedule", "nightly") in cell.cell.labels for cell in cells)
    assert watched.became == [("2026-11-02T03:30+01:00", "begun", None)]
    watched.rings(MONDAY)
    watched.finish()
    watched.rings(MONDAY)
    watched.looks(TUESDAY[:-5] + "00:00")
    assert (len(list_campaigns(watched.database)), watched.states) == (1, ["begun"])
    watched.rings(TUESDAY)
    found = [(one.campaign_id, one.scheduled_for) for one in list_campaigns(watched.database)]
    assert [name for name, _ in found] == [campaign_id_of("nightly", when) for _, when in found]
    assert len(set(found)) == 2


@pytest.mark.slow
def test_two_workers_that_begin_one_at_once_order_its_cells_alike(watched, tmp_path):
    watched.add(text=MATRIX.replace("[1, 2]", "[1, 2, 3, 4, 5, 6]"))
    watched.now = at(MONDAY)
    watched.watch.heard("nightly", at(MONDAY))
    other = ScheduleWatch(watched.database, "other", now=lambda: watched.now)
    enrol(watched.database, "other")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(ScheduleWatch.look, (watched.watch, other)))
    (campaign,) = list_campaigns(watched.database)
    assert len(load_cells(watched.database, campaign.campaign_id)) == 6
    assert watched.states == ["begun"]
    # The seed is the occurrence's own, so a second one that comes too late changes nothing.
    again = open_database(f"sqlite:///{tmp_path}/again.db")
    watched.database, watched.watch = again, ScheduleWatch(again, "me", now=lambda: watched.now)
    watched.add(text=MATRIX.replace("[1, 2]", "[1, 2, 3, 4, 5, 6]"), now="2026-11-01T12:00")
    watched.rings(MONDAY)
    assert list_campaigns(again)[0].seed == campaign.seed
    again.dispose()


@pytest.mark.slow
def test_an_overlapping_time_is_skipped_and_says_which_matrix_still_ran(watched):
    watched.add()
    watched.rings(MONDAY)
    (running,) = list_campaigns(watched.database)
    watched.rings(TUESDAY)
    why = f"matrix {short(running.campaign_id)} was still running"
    assert watched.became[1:] == [("2026-11-03T03:30+01:00", "skipped", why)]
    watched.finish()
    assert watched.rings(WEDNESDAY) == ["begun", "skipped", "begun"]


@pytest.mark.slow
def test_an_overlapping_time_waits_for_the_one_that_runs_where_that_is_wanted(watched):
    watched.add(overlap="queue")
    watched.rings(MONDAY)
    watched.rings(TUESDAY)
    assert watched.rings(WEDNESDAY) == ["begun", "queued", "queued"]
    watched.finish()
    assert watched.looks("2026-11-04T05:00") == ["begun", "begun", "queued"], "one after the other"
    assert len(list_campaigns(watched.database, states=("running",))) == 1
    watched.finish()
    assert watched.looks("2026-11-04T07:00") == ["begun", "begun", "begun"]


@pytest.mark.slow
def test_schedules_do_not_wait_for_each_other(watched):
    watched.add()
    watched.add(name="other", cron="0 4 * * *")
    watched.rings(MONDAY)
    watched.now = at("2026-11-02T04:00")
    watched.watch.heard("other", watched.now)
    watched.watch.look()
    assert {one.schedule for one in list_campaigns(watched.database)} == {"nightly", "other"}


@pytest.mark.slow
def test_a_time_without_a_worker_is_left_out_and_recorded(watched):
    watched.add(now="2026-11-01T12:00")
    watched.looks("2026-11-03T12:00")
    why = "no worker was running then"
    assert watched.became == [
        ("2026-11-02T03:30+01:00", "skipped", why),
        ("2026-11-03T03:30+01:00", "skipped", why),
    ]
    assert not list_campaigns(watched.database)


def test_backfill_makes_up_for_them_one_after_the_other(watched):
    watched.add(backfill=True, now="2026-11-01T12:00")
    assert watched.looks("2026-11-03T12:00") == ["begun", "queued"], (
        "also where overlapping ones are skipped"
    )
    watched.finish()
    assert watched.looks("2026-11-03T13:00") == ["begun", "begun"]


def test_a_worker_that_is_back_within_a_quarter_of_an_hour_is_in_time_and_no_later_one(watched):
    watched.add(now="2026-11-02T03:00")
    assert watched.looks("2026-11-02T03:44") == ["begun"]
    watched.finish()
    watched.rings(TUESDAY, late=timedelta(hours=3))  # the ring lay in the queue until it came
    assert watched.states == ["begun", "skipped"]


def test_what_was_missed_before_the_last_ring_is_found(watched):
    watched.add(cron="30 * * * *", now="2026-11-02T01:00", overlap="queue")
    assert watched.rings("2026-11-02T03:30") == ["skipped", "skipped", "begun"], (
        "01:30 and 02:30 had no worker"
    )


@pytest.mark.slow
def test_of_a_long_absence_the_newest_times_are_recorded(watched):
    watched.add(cron="0 * * * *", now="2026-10-01T12:00")
    watched.looks("2026-11-01T12:30")
    assert (len(watched.became), watched.became[-1][0]) == (100, "2026-11-01T12:00+01:00")


def test_a_ring_that_dbos_lost_is_made_good_half_a_minute_later(watched):
    watched.add(now="2026-11-02T03:00")
    assert watched.looks("2026-11-02T03:30:20") == []
    assert watched.looks("2026-11-02T03:30:31") == ["begun"]


def test_in_spring_a_time_that_does_not_exist_begins_at_the_next_that_does(watched):
    watched.add("30 2 * * 0", now="2026-03-28T12:00")
    watched.looks("2026-03-29T03:05")
    assert watched.became == [("2026-03-29T03:00+02:00", "begun", None)]
    watched.finish()
    assert watched.looks("2026-03-29T04:05") == ["begun"]


def test_in_autumn_a_time_that_comes_twice_is_measured_once(watched):
    watched.add("30 2 * * 0", now="2026-10-24T12:00")
    first = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo(BERLIN), fold=0)
    watched.rings(first)
    watched.finish()
    watched.rings(first.replace(fold=1))
    assert watched.became == [
        ("2026-10-25T02:30+02:00", "begun", None),
        ("2026-10-25T02:30+01:00", "skipped", "the clock was set back, so 02:30 occurred again"),
    ]


def test_one_that_a_dead_process_was_beginning_is_begun_by_another(watched):
    watched.add()
    enrol(watched.database, "dead")
    watched.watch.heard("nightly", at(MONDAY))
    (occurrence,) = occurrences_of(watched.database, "nightly", most=1)
    with locked_schedule(watched.database, "nightly") as held:
        held.change(occurrence.scheduled_for, {"owner": "dead"})
    watched.now = at(MONDAY)
    assert watched.watch.look() == [], "it lives, as far as anybody knows"
    remove_executor(watched.database, "dead")
    watched.watch.look()
    assert watched.states == ["begun"]
    # One that was begun but not written down so is begun once.
    with locked_schedule(watched.database, "nightly") as held:
        held.change(occurrence.scheduled_for, {"state": "queued", "owner": "dead"})
    watched.looks("2026-11-02T04:00")
    assert (watched.states, len(list_campaigns(watched.database))) == (["begun"], 1)


def test_a_matrix_that_cannot_begin_fails_with_the_reason_and_the_next_time_is_tried(watched):
    watched.add()
    (row,) = handled.schedule_statuses(watched.database, now=watched.now)
    with locked_schedule(watched.database, "nightly") as held:
        kept = held.row
    save_schedule(watched.database, kept.model_copy(update={"text": MATRIX + "axis: 1\n"}))
    watched.rings(MONDAY)
    ((_, state, reason),) = watched.became
    assert state == "failed"
    assert "axis" in reason
    save_schedule(watched.database, kept)
    assert watched.rings(TUESDAY) == ["failed", "begun"]
    assert row.occurrences == ()


def test_a_matrix_with_mistakes_or_a_name_that_is_not_one_word_is_not_kept(watched):
    for name in ("", "-x", "a b", "ä", "x" * 64):
        with pytest.raises(InvalidValue, match="not a name of a schedule"):
            watched.add(name=name)
    with pytest.raises(MatrixError, match=r"nightly\.yaml:3: unknown key"):
        watched.add(text="name: x\ndefaults: {provider: fake, disk: plane, size: 1}\naxis: 2\n")
    assert handled.schedule_statuses(watched.database, now=watched.now) == []


AWS = """name: nightly
defaults: {provider: aws, region: us-east-1, disk: gp2, size: 20, profile: quick}
axes: {instance_type: [m5.large, zz9.plural]}
"""


@pytest.fixture
def no_account(monkeypatch, tmp_path):
    """Nobody here has credentials of AWS."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))


@pytest.mark.slow
@pytest.mark.usefixtures("no_account")
def test_a_budget_that_cannot_be_held_is_refused_when_it_is_added(watched):
    with pytest.raises(CostRefused, match=r"no price is known for .*zz9\.plural") as refused:
        watched.add(text=AWS, budget_usd=1.0)
    assert "catalog prices --refresh --region us-east-1" in (refused.value.advice or "")
    watched.add(text=AWS, budget_usd=1.0, assume_price_usd_per_hour=0.5)
    watched.rings(MONDAY)
    (campaign,) = list_campaigns(watched.database)
    assert (campaign.limits.budget_usd, campaign.limits.assume_price_usd_per_hour) == (1.0, 0.5)
    cells = load_cells(watched.database, campaign.campaign_id)
    assert {cell.state for cell in cells} == {"waiting"}, "the cloud cannot be asked now"


def test_adding_again_changes_it_and_looks_not_back(watched):
    assert watched.add(now="2026-11-01T12:00")[0] is True
    handled.pause_schedule(watched.database, "nightly")
    assert watched.add("0 * * * *", zone="UTC", backfill=True, now="2026-11-03T12:30")[0] is False
    (seen,) = handled.schedule_statuses(watched.database, now=watched.now)
    assert (seen.cron, seen.timezone, seen.backfill) == ("0 * * * *", "UTC", True)
    assert seen.paused, "as it was"
    assert seen.created_at < seen.updated_at
    handled.resume_schedule(watched.database, "nightly", now=watched.now)
    assert watched.looks("2026-11-03T12:50") == []


def test_a_paused_schedule_begins_nothing_and_makes_up_for_nothing(watched):
    watched.add(backfill=True, now="2026-11-01T12:00")
    handled.pause_schedule(watched.database, "nightly")
    assert watched.looks("2026-11-03T12:00") == []
    watched.now = at("2026-11-03T12:00")
    handled.resume_schedule(watched.database, "nightly", now=watched.now)
    assert watched.looks("2026-11-03T12:01") == []
    assert watched.looks("2026-11-04T03:31") == ["begun"]


def test_resuming_what_is_not_paused_loses_nothing_and_a_ring_after_a_pause_is_skipped(watched):
    watched.add(now="2026-11-02T03:00")
    handled.resume_schedule(watched.database, "nightly", now=at("2026-11-02T03:35"))
    assert watched.looks("2026-11-02T03:36") == ["begun"]
    handled.pause_schedule(watched.database, "nightly")
    watched.rings(TUESDAY)
    assert watched.became[1:] == [("2026-11-03T03:30+01:00", "skipped", "the schedule was paused")]


def test_what_is_triggered_begins_also_while_it_is_paused_but_after_the_one_that_runs(watched):
    watched.add()
    watched.rings(MONDAY)
    handled.pause_schedule(watched.database, "nightly")
    handled.trigger(watched.database, "nightly", now=at("2026-11-02T09:00"))
    assert watched.looks("2026-11-02T12:00") == ["begun", "queued"]
    watched.finish()
    watched.looks("2026-11-02T12:01")
    assert watched.became[1] == ("2026-11-02T09:00+01:00", "begun", "triggered by hand")


def test_times_of_the_past_are_made_up_for_by_hand_but_none_that_was_begun(watched):
    watched.add(now="2026-11-01T12:00")
    watched.looks("2026-11-02T12:00")
    watched.rings(TUESDAY)
    watched.finish()
    asked = handled.backfill(
        watched.database, "nightly", "2026-11-01", "2026-11-03T03:30", now=at("2026-11-03T12:00")
    )
    assert [one.isoformat()[:16] for one in asked] == ["2026-11-01T03:30", MONDAY]
    assert watched.states == ["queued", "queued", "begun"]
    for _ in range(2):
        watched.looks("2026-11-03T12:00")
        watched.finish()
    assert watched.states == ["begun", "begun", "begun"]
    assert len(list_campaigns(watched.database)) == 3


@pytest.mark.slow
def test_a_mistake_in_the_times_to_make_up_for_is_named(watched):
    watched.add(now="2026-11-01T12:00")
    for start, end, wrong in (
        ("yesterday", None, "--since 'yesterday' is not a time"),
        ("2026-10-01", "2027-01-01", "in the future"),
        ("2026-10-02", "2026-10-01", "is after --until"),
        ("2026-12-02", None, "is after now"),
        ("2016-10-02", None, "more than 1000 times"),
    ):
        with pytest.raises(InvalidValue, match=wrong):
            handled.backfill(watched.database, "nightly", start, end, now=watched.now)


def test_a_removed_schedule_is_gone_and_what_it_measured_stays(watched):
    watched.add()
    watched.rings(MONDAY)
    handled.remove_schedule(watched.database, "nightly")
    assert clocks.clocks(watched.database) == {}
    assert handled.schedule_statuses(watched.database, now=watched.now) == []
    watched.rings(TUESDAY)
    assert len(list_campaigns(watched.database)) == 1


def test_it_is_shown_with_its_next_time_and_what_became_of_the_last(watched):
    watched.add(overlap="queue", backfill=True, budget_usd=5.0, assume_price_usd_per_hour=1.0)
    watched.rings(MONDAY)
    watched.rings(TUESDAY)
    seen = handled.schedule_statuses(watched.database, now=watched.now, past=2)[0]
    first, second = list(schedule_lines(seen))[:2]
    assert first.startswith("nightly  ")
    assert "'30 3 * * *' Europe/Berlin  (overlapping ones wait, backfill, budget $5)" in first
    assert second.startswith("  next  Wed 2026-11-04 03:30 CET")
    waits, begun = list(schedule_lines(seen))[2:4]
    assert waits.startswith("  last  Tue 2026-11-03 03:30 CET")
    assert "queued: matrix" in waits
    assert begun.endswith("runs: 0 of 2 done, 2 waiting")
