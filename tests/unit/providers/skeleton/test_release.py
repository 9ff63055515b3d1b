"""The rounds of a release, as every cloud gives back a lease."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from diskbench.errors import AccessDenied, HostUnavailable, ReleaseFailed
from diskbench.model.ours import Which
from diskbench.providers.keys import lease_directory
from diskbench.providers.skeleton.leases import (
    RELEASE_ROUNDS,
    Failures,
    giving_back,
    noting,
    release,
)

ONE = Which("01jone")


@dataclass(frozen=True)
class Listing:
    left: tuple[str, ...]
    others: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        return self.left


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def listings(*left: tuple[str, ...]) -> Callable[[object], Listing]:
    """What is listed, one answer after the other; the last again and again."""
    answers = list(left)
    return lambda _: Listing(answers.pop(0) if len(answers) > 1 else answers[0])


def test_what_comes_while_it_is_given_back_goes_in_the_next_round() -> None:
    taken: list[tuple[str, ...]] = []
    look = listings(("disk a",), ("disk b",), ())
    keys = lease_directory(ONE.lease_id)
    keys.mkdir(parents=True)
    release(ONE, "here", look, lambda found, _: taken.append(found.left))
    assert taken == [("disk a",), ("disk b",)]
    assert not keys.exists(), "the lease's keys go with it"


def test_what_never_ends_is_given_up_after_some_rounds_and_named() -> None:
    rounds: list[int] = []
    with pytest.raises(ReleaseFailed, match=r"not given back in here: disk a \(still listed\)"):
        release(ONE, "here", listings(("disk a",)), lambda *_: rounds.append(1))
    assert len(rounds) == RELEASE_ROUNDS


def test_a_failure_ends_the_rounds_and_what_is_left_is_named_with_its_reason() -> None:
    rounds: list[int] = []

    def give_back(_: Listing, failures: Failures) -> None:
        rounds.append(1)
        with noting(failures, "disk a", lambda _: False):
            raise AccessDenied("no right to delete it")

    keys = lease_directory(ONE.lease_id)
    keys.mkdir(parents=True)
    look = listings(("disk a", "disk b"), ("disk a",))
    with pytest.raises(ReleaseFailed) as failed:
        release(ONE, "here", look, give_back, tell=str.upper)
    assert failed.value.message == "not given back in here: DISK A (no right to delete it)"
    assert "diskbench gc 01jone" in failed.value.advice
    assert len(rounds) == 1
    assert keys.exists(), "they may be needed once more"


def test_a_failure_of_what_is_gone_after_all_is_none() -> None:
    def give_back(_: Listing, failures: Failures) -> None:
        failures["disk a"] = "took too long"

    release(ONE, "here", listings(("disk a",), ()), give_back)


def test_a_thing_that_is_gone_is_given_back() -> None:
    failures: Failures = {}
    with noting(failures, "disk a", lambda error: isinstance(error, AccessDenied)):
        raise AccessDenied("it does not exist")
    assert failures == {}


def test_a_listing_that_fails_keeps_nothing_back() -> None:
    def look(_: object) -> Listing:
        raise HostUnavailable("nobody answers", advice="look at the network")

    with pytest.raises(ReleaseFailed, match="could not be listed: nobody answers") as failed:
        release(ONE, "here", look, lambda *_: None)
    assert failed.value.advice == "look at the network; then: diskbench gc 01jone"
    assert failed.value.exit_code == 3


def test_whatever_keeps_a_lease_from_being_given_back_is_told_with_its_advice() -> None:
    with (
        pytest.raises(ReleaseFailed, match="01jone was not given back: no login") as failed,
        giving_back("01jone"),
    ):
        raise AccessDenied("no login", advice="log in")
    assert failed.value.advice == "log in; then: diskbench gc 01jone"


def test_a_copy_that_a_person_named_leaves_the_leases_keys() -> None:
    keys = lease_directory(ONE.lease_id)
    keys.mkdir(parents=True)
    release(Which("01jone", copied=["disk x"]), "here", listings(()), lambda *_: None)
    assert keys.exists()
