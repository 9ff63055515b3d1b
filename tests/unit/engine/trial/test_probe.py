"""A machine is looked at before a run in as few round trips as can be; two addresses of one machine
are known by its kernel and its disk, never by a name. What a cloud counted of a trial is kept, and
nothing waits for it longer than the bound."""

import time
from datetime import UTC, datetime, timedelta
from itertools import repeat

import pytest
from tests.rigs.fake_host import FakeHost
from tests.rigs.plans import make_plan, save_plan
from tests.rigs.runs import a_result, a_row

from diskbench.engine.session import Session
from diskbench.engine.trial import metrics, watch
from diskbench.engine.trial.probe import probe, queued_behind, without_canary_of_others
from diskbench.engine.trial.steps import unit_of
from diskbench.engine.trial.watch import HostLost, step_progress
from diskbench.errors import AccessDenied, RentalFailed, TargetRefused
from diskbench.model.facts import DiskFacts, MountFacts
from diskbench.model.metrics import CloudMetric
from diskbench.model.options import RentSpec
from diskbench.model.rental import Acquired, Rental, Scope
from diskbench.model.result import Tick
from diskbench.model.spec import TargetSpec
from diskbench.ports import Watcher
from diskbench.providers.fake.cloud import FakeProvider
from diskbench.store.archive import read_metrics
from diskbench.store.dialects import iso
from diskbench.store.rows import progress_of_trials
from diskbench.store.step_rows import save_step


def cell_at(path):
    cell = make_plan(("01kq8z6rj0aaaaaaaaaaaaaaa0",)).cell
    return cell.model_copy(update={"target": TargetSpec(kind="directory", path=str(path))})


def test_facts_and_directory_come_in_one_round_trip(tmp_path):
    host = FakeHost()
    found = probe(host, cell_at(tmp_path), install_fio=False)
    assert len(host.calls) == 1
    assert found.fio_version
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["/none/such", "relative", "/etc/passwd"])
def test_a_directory_that_cannot_be_used_is_refused(path):
    with pytest.raises(TargetRefused):
        probe(FakeHost(), cell_at(path), install_fio=False)


def plan_of(address, trial, *, boot="b1", machine="m1", disks=("8:0",), if_busy="wait"):
    plan = make_plan()
    extra = {"boot_id": boot, "machine_id": machine, "disks": list(disks)}
    facts = plan.facts.model_copy(update={"extra": extra})
    cell = plan.cell.model_copy(update={"provider": "ssh", "address": address, "if_busy": if_busy})
    return plan.model_copy(update={"trial_id": trial, "cell": cell, "facts": facts})


SHARED = {
    "the second address of a machine waits and both are named": (
        {}, {}, ("a and b reach the same machine (machine id and boot id agree)", "8:0")),
    "containers of one kernel are one machine with two ids": (
        {"machine": "m2"}, {}, ("the same kernel (boot id agrees)",)),
    "one of several disks in common is enough": (
        {"disks": ("8:0", "8:16")}, {"disks": ("8:16", "8:32")}, ("a and b",)),
    "another disk of the same machine shares the limits of that": (
        {"disks": ("8:16",)}, {}, ("a and b", "share its limits")),
    "the same disk at once is said to be halved": (
        {"if_busy": "share"}, {"if_busy": "share"}, ("half",)),
}  # fmt: skip


@pytest.mark.parametrize(("mine", "theirs", "told"), SHARED.values(), ids=SHARED)
def test_what_two_addresses_share_is_told(mine, theirs, told):
    (note,) = queued_behind(plan_of("b", "t2", **mine), [plan_of("a", "t1", **theirs)]).notes
    assert all(words in note for words in told)


@pytest.mark.parametrize("other", [{"boot": "b2"}, {"boot": ""}, {"disks": ()}])
def test_other_machines_and_other_disks_are_left_alone(other):
    """Also images copied with their machine id, and a machine that says nothing."""
    plan = plan_of("b", "t2", if_busy="fail", **other)
    assert queued_behind(plan, [plan_of("a", "t1")]) == plan


def elsewhere(address, trial, *, disk=None, mount=None, **facts):
    """A plan on a machine of its own."""
    plan = plan_of(address, trial, boot=f"boot of {address}")
    changed = {"disk": disk, "mount": mount, **facts}
    return plan.model_copy(update={"facts": plan.facts.model_copy(update=changed)})


def disk(**names):
    return DiskFacts(name="sdb", path="/dev/sdb", size_bytes=2**34, model="Shared", **names)


@pytest.mark.parametrize("named", [{"wwn": "0x6000c29f"}, {"serial": "vol0123456789abcdef"}])
def test_a_disk_that_two_machines_reach_is_known_by_its_name(named):
    one, two = (elsewhere(at, at, disk=disk(**named)) for at in ("a", "b"))
    (note,) = queued_behind(two, [one]).notes
    assert next(iter(named.values())) in note
    assert "half" in note


QEMU = {"vendor": "QEMU"}


@pytest.mark.parametrize(
    "named", [{}, {"serial": "1"}, {"wwn": "0x5", **QEMU}, {"serial": "drive-scsi0", **QEMU}]
)
def test_names_that_many_disks_have_mean_nothing(named):
    one, two = (elsewhere(at, at, disk=disk(**named)) for at in ("a", "b"))
    assert queued_behind(two, [one]) == two


@pytest.mark.parametrize(("source", "is_one"), [("nas:/export", True), ("127.0.0.1:/x", False)])
def test_two_clients_of_one_export_halve_each_other(source, is_one):
    mount = MountFacts(mount_point="/mnt", source=source, fstype="nfs4", options="rw")
    one, two = (elsewhere(at, at, mount=mount, network_filesystem=True) for at in ("a", "b"))
    assert bool(queued_behind(two, [one]).notes) == is_one


def test_many_addresses_share_one_note_and_are_refused_where_none_is_to_wait():
    others = [plan_of(f"h{n}", f"t{n}", if_busy="share") for n in (10, 9, 2, 1)]
    (note,) = queued_behind(plan_of("h11", "t11", if_busy="share"), others).notes
    assert note.startswith("h1, h2, h9 and 2 more reach")
    assert "1/5" in note
    (note,) = queued_behind(plan_of("a", "t2"), [plan_of("a", "t1")]).notes
    assert note.startswith("2 trials on a reach")
    with pytest.raises(TargetRefused, match="a and b reach the same machine"):
        queued_behind(plan_of("b", "t2", if_busy="fail"), [plan_of("a", "t1")])


@pytest.mark.parametrize(
    ("other", "is_beside"),
    [
        ({"if_busy": "share"}, True),  # one disk, at once
        ({"if_busy": "wait"}, False),  # one disk, in turn
        ({"disks": ("8:16",)}, True),  # two disks of one machine
        ({"boot": "b2", "disks": ("8:16",)}, False),  # two machines
    ],
)
def test_trials_that_measure_on_one_machine_at_once_have_no_canary(other, is_beside):
    first = plan_of("a", "t1", if_busy=other.get("if_busy", "wait"))
    plans = without_canary_of_others([first, plan_of("b", "t2", **other)])
    assert [plan.shares_machine for plan in plans] == [is_beside, is_beside]
    step = first.steps[0]
    units = [unit_of(plan, 0, step) for plan in plans]
    assert [unit.canary_before for unit in units] == [not is_beside, not is_beside]
    assert not is_beside or not any(unit.canary_after for unit in units)


def test_a_cell_that_shares_is_beside_one_that_would_have_failed_and_alone_keeps_its_canary():
    plans = [plan_of("a", "t1", if_busy="fail"), plan_of("b", "t2", if_busy="share")]
    assert all(plan.shares_machine for plan in without_canary_of_others(plans))
    (plan,) = without_canary_of_others([plan_of("a", "t1")])
    assert unit_of(plan, 0, plan.steps[0]).canary_before


PLAN = make_plan()


@pytest.fixture
def database(database):
    save_plan(database, PLAN, "file:///evidence")
    return database


@pytest.fixture
def clock(monkeypatch):
    """Seconds that only the test moves on."""
    seconds = [1000.0]
    monkeypatch.setattr(watch.time, "monotonic", lambda: seconds[0])
    return seconds


def tick_of(database, plan):
    """The second that is in the row of a plan's run; None where no row is there."""
    progress = progress_of_trials(database, [plan.trial_id]).get(plan.trial_id)
    return progress and progress[1] and progress[1]["elapsed_s"]


def step_of(database):
    return step_progress(Watcher(), database, PLAN.trial_id, PLAN.run_ids[0], PLAN.steps[0])


def test_progress_is_in_its_row_at_once_and_every_second(database, clock):
    step = step_of(database)
    step(None)
    for second in range(1, 6):
        step(Tick(elapsed_s=second - 0.5))  # not written
        clock[0] += 1.0
        step(Tick(elapsed_s=second))
        assert tick_of(database, PLAN) == second
    step_of(database)(None)
    clock[0] += 0.1
    step_of(database)(None)
    assert list(progress_of_trials(database, [PLAN.trial_id])) == [PLAN.trial_id]


RENTED = make_plan(rental=Rental(scope=Scope(provider="x"), spec=RentSpec(), offer="a machine"))


class Cloud:
    def __init__(self, *answers):
        self.answers = list(answers)

    def gone(self, _lease_id, _scope):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_a_machine_that_comes_back_is_waited_for_but_not_one_that_its_provider_deleted():
    notes = []
    absence = HostLost(RENTED, Cloud(None, None), notes.append)
    absence.noted_or_raise("lost")
    absence.noted_or_raise("lost again")
    assert absence.reason is None
    assert notes == ["lost", "lost again"]
    absence = HostLost(RENTED, Cloud(None, "i-1 was terminated: Server.SpotInstance"), print)
    absence.noted_or_raise("lost")
    with pytest.raises(RentalFailed, match=r"gone: i-1 was terminated: Server\.SpotInstance"):
        absence.noted_or_raise("lost")
    assert absence.reason


def test_of_a_provider_that_does_not_answer_and_without_one_nothing_is_known():
    notes = []
    silent = HostLost(RENTED, Cloud(AccessDenied("the token expired")), notes.append)
    for absence in (silent, HostLost(make_plan(), None, print)):
        absence.noted_or_raise("lost")
        assert absence.reason is None
    assert "the token expired" in notes[-1]


NOW = datetime(2026, 11, 28, 10, 3, 12, tzinfo=UTC)


class Clock(datetime):
    """A clock that stands at NOW when it is first looked at."""

    began: float | None = None

    @classmethod
    def now(cls, tz=None):  # noqa: ARG003 - as datetime has it
        cls.began = cls.began or time.monotonic()
        return NOW + timedelta(seconds=time.monotonic() - cls.began)


class Monitored(FakeProvider):
    """A cloud that answers each look with the next of `told`."""

    def __init__(self, told):
        super().__init__()
        self.told, self.looks = iter(told), 0

    def metrics(self, *_):
        self.looks += 1
        answer = next(self.told)
        if isinstance(answer, Exception):
            raise answer
        return answer


def series(*begins):
    return [
        CloudMetric(
            name="m", of="vol", statistic="Maximum", period_s=60, limit="disk-iops",
            reached_at=1.0, points=tuple((int(begin.timestamp()), 1.0) for begin in begins),
        )
    ]  # fmt: skip


@pytest.fixture
def kept(session, monkeypatch):
    """Keep the metrics of a run of one step of ten minutes, the last of which ended now."""

    def keep(told, *, waits=True, stops=False, lasted_s=600):
        cloud = Monitored(told)
        rental = Rental(scope=Scope(provider="fake"), spec=RentSpec(disk="plain"), offer="a disk")
        acquired = Acquired(address="192.0.2.1", directory="/tmp", size_bytes=1, emulated=True)
        plan = make_plan(("r1",)).model_copy(update={"rental": rental, "acquired": acquired})
        save_plan(session.database, plan, session.evidence.url)
        began = iso(NOW - timedelta(seconds=lasted_s))
        done = a_result(a_row("r1", 1.0), started_at=began, finished_at=iso(NOW))
        save_step(session.database, "r1", done)
        monkeypatch.setattr(Session, "renter", lambda *_: cloud)
        monkeypatch.setattr(metrics, "datetime", Clock)
        monkeypatch.setattr(Clock, "began", None)
        for name in ("_LOOK_S", "_NAP_S"):
            monkeypatch.setattr(metrics, name, 0.001)
        noted: list[str] = []
        metrics.keep_metrics(session, plan, lambda: stops, noted.append, waits=waits)
        assert len(noted) == (cloud.looks > 1)
        found = read_metrics(session.evidence, "r1")
        begins = [begin for one in found.metrics for begin, _ in one.points] if found else []
        return cloud, begins

    return keep


def test_the_cloud_is_asked_until_it_told_the_last_whole_minute_of_the_run(kept):
    last = NOW - timedelta(seconds=60)
    cloud, begins = kept([[], series(NOW - timedelta(seconds=300)), series(last)])
    assert (cloud.looks, begins) == (3, [int(last.timestamp())])
    before, inside = NOW - timedelta(seconds=900), NOW - timedelta(seconds=60)
    _, begins = kept([series(before, inside)])
    assert begins == [int(inside.timestamp())]


def test_the_wait_ends_at_the_bound(kept, monkeypatch):
    monkeypatch.setattr(metrics, "WAIT_S", 1.0)
    cloud, begins = kept(repeat([]))
    assert cloud.looks >= 1
    assert begins == []
    assert Clock.now() >= NOW + timedelta(seconds=1) - timedelta(seconds=metrics._LOOK_S)


@pytest.mark.parametrize("case", [{"waits": False}, {"stops": True}, {"lasted_s": 60.0}])
def test_nobody_waits_for_a_paid_machine_a_stop_or_a_step_without_a_whole_minute(kept, case):
    cloud, _ = kept([[]], **case)
    assert cloud.looks == 1


@pytest.mark.parametrize("fault", [AccessDenied("no right"), RuntimeError("a fault")])
def test_a_cloud_that_does_not_tell_changes_nothing(kept, fault):
    cloud, begins = kept([fault])
    assert (cloud.looks, begins) == (1, [])
