"""What a cloud counted of a trial is kept, and nothing waits for it longer than the bound."""

import time
from datetime import UTC, datetime, timedelta
from itertools import repeat

import pytest
from tests.rigs.plans import make_plan, save_plan
from tests.rigs.runs import a_result, a_row

from diskbench.engine.session import Session
from diskbench.engine.trial import metrics
from diskbench.errors import AccessDenied
from diskbench.model.metrics import CloudMetric
from diskbench.model.options import RentSpec
from diskbench.model.rental import Acquired, Rental, Scope
from diskbench.providers.fake.cloud import FakeProvider
from diskbench.store.archive import read_metrics
from diskbench.store.dialects import iso
from diskbench.store.step_rows import save_step

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
