"""A cloud's listing that lags is asked again, by one rule for all clouds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from diskbench.errors import ReleaseFailed
from diskbench.model.ours import Which
from diskbench.providers.skeleton.leases import Lag, listed_in_time, release
from diskbench.providers.waits import CloudTiming

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

QUICK = CloudTiming(first_poll_s=0.001, max_poll_s=0.001, nap_s=0.001)
LONG_S = 600.0
"""Longer than any test: only the listing ends the wait."""
ONE = Which("01jone")


@dataclass(frozen=True)
class Listed:
    left: tuple[str, ...]
    others: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        return self.left


def lag(unlisted_s: float | None = None, listed_s: float = 0.0, repeats: int = 0) -> Lag[Listed]:
    return Lag(QUICK, lambda _: unlisted_s, listed_s, repeats)


@dataclass
class Cloud:
    """Answers in turn, the last again and again."""

    answers: list[tuple[str, ...]]
    asked: int = 0

    def list_lease(self, _: Collection[str]) -> Listed:
        self.asked += 1
        return Listed(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def test_what_was_made_just_now_is_waited_for() -> None:
    cloud = Cloud([(), (), (), ("disk a",)])
    assert listed_in_time(cloud.list_lease, (), lag(unlisted_s=LONG_S)).left == ("disk a",)


def test_what_was_deleted_is_waited_for() -> None:
    cloud = Cloud([("disk a",), ("disk a",), ("disk a",), ()])
    assert listed_in_time(cloud.list_lease, {"disk a"}, lag(listed_s=LONG_S)).left == ()


def test_what_is_listed_beside_it_does_not_end_the_wait() -> None:
    cloud = Cloud([("disk a", "disk b"), ("disk b",)])
    assert listed_in_time(cloud.list_lease, {"disk a"}, lag(listed_s=LONG_S)).left == ("disk b",)


def test_nothing_is_waited_for_where_nothing_can_be_hidden() -> None:
    cloud = Cloud([()])
    listed_in_time(cloud.list_lease, {"disk a"}, lag(repeats=5))
    assert cloud.asked == 1


def test_an_empty_listing_is_repeated_however_late_it_is() -> None:
    cloud = Cloud([()])
    listed_in_time(cloud.list_lease, (), lag(unlisted_s=-LONG_S, repeats=4))
    assert cloud.asked == 5


def test_after_the_time_the_listing_is_returned_as_it_is() -> None:
    cloud = Cloud([("disk a",)])
    assert listed_in_time(cloud.list_lease, {"disk a"}, lag(listed_s=0.01)).left == ("disk a",)


def test_a_cloud_without_lag_is_asked_once() -> None:
    cloud = Cloud([()])
    listed_in_time(cloud.list_lease, (), None)
    assert cloud.asked == 1


def test_a_release_goes_on_when_the_first_listing_was_too_early() -> None:
    cloud, taken = Cloud([(), ("disk a",), ("disk a",), ()]), []
    waiting = Lag(QUICK, lambda first: None if first.left else LONG_S, LONG_S)
    release(ONE, "here", cloud.list_lease, lambda found, _: taken.append(found.left), lag=waiting)
    assert taken == [("disk a",)], "what is still listed is not deleted twice"


def test_a_release_asks_how_long_by_the_listing_that_it_began_with() -> None:
    cloud, began = Cloud([("disk a",), ()]), []

    def unlisted_s(first: Listed) -> None:
        began.append(first.left)

    release(ONE, "here", cloud.list_lease, lambda *_: None, lag=Lag(QUICK, unlisted_s, LONG_S))
    assert began == [("disk a",)]


def test_a_look_is_told_what_was_deleted() -> None:
    told: list[set[str]] = []

    def list_lease(deleted: Collection[str]) -> Listed:
        told.append(set(deleted))
        return Listed(() if deleted else ("disk a",))

    release(ONE, "here", list_lease, lambda *_: None)
    assert told == [set(), {"disk a"}]


def test_what_is_listed_after_all_that_time_is_named() -> None:
    with pytest.raises(ReleaseFailed, match="disk a"):
        release(
            ONE, "here", Cloud([("disk a",)]).list_lease, lambda *_: None, lag=lag(listed_s=0.001)
        )


def test_after_a_delete_an_empty_listing_is_believed_when_the_time_is_over() -> None:
    cloud = Cloud([()])
    listed_in_time(
        cloud.list_lease, {"disk a"}, lag(unlisted_s=-LONG_S, repeats=4), Listed(("disk a",))
    )
    assert cloud.asked == 1
