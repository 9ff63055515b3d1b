import time

import pytest

from diskbench.model.comparison import Difference
from diskbench.model.history import History, HistoryPoint, LevelChange
from diskbench.report.terminal.history_text import regression_lines


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def at(day):
    return f"2026-11-{day:02d}T03:30:00.000000+00:00"


def history(values, *changes, visible=0.05, block="aws gp2"):
    points = tuple(
        HistoryPoint(at=at(day), campaign_id=f"c{day}", value=value, trials=3)
        for day, value in enumerate(values, 1)
    )
    return History(
        block=block, step="rand", direction="read", metric="iops", points=points, changes=changes,
        noise=0.012, span=0.2, visible=visible,
    )  # fmt: skip


def change(size, **more):
    values = {
        "at": at(5), "before": at(4), "median_before": 3000, "median_after": 3000 * (1 + size),
        "change": size, "regression": size < 0, "p": 1e-6, "since": 4,
    }  # fmt: skip
    return LevelChange(**(values | more))


def text(*histories):
    return "\n".join(regression_lines(histories))


def test_a_change_is_told_with_day_size_and_what_changed_with_it():
    kernel = Difference(fact="kernel", a=("6.1",), b=("6.5",))
    shown = text(history([3000] * 4 + [2400] * 4, change(-0.2, differences=(kernel,))))
    assert "aws gp2, rand read: 8 times" in shown
    assert "2026-11-05 " in shown
    assert "worse: 3,000 IOPS → 2,400 IOPS (−20.0 %), seen 4 times" in " ".join(shown.split())
    assert "what changed with it: kernel 6.1 → 6.5" in shown


def test_more_iops_are_better():
    assert "better: 3,000 IOPS → 3,300 IOPS (+10.0 %)" in text(history([3000] * 9, change(0.1)))


def test_no_change_is_said_with_the_number_of_times_and_what_would_be_seen():
    shown = " ".join(text(history([3000] * 9)).split())
    assert "no change found in 9 times; a step of 5 % would be found, noise 1.2 %" in shown


def test_too_few_times_say_so():
    assert "3 times are too few" in text(history([3000] * 3, visible=None))


def test_the_largest_change_comes_first_and_what_did_not_change_last():
    small = history([1] * 9, change(-0.06), block="small")
    large = history([1] * 9, change(0.5), block="large")
    shown = text(history([1] * 9, block="calm"), small, large)
    assert shown.index("large") < shown.index("small") < shown.index("calm")
    assert max(map(len, shown.splitlines())) <= 80
