"""The rounds of a release, as every cloud gives back a lease; a listing that lags is asked again,
by one rule for all clouds."""

import pytest

from diskbench.errors import AccessDenied, HostUnavailable, ReleaseFailed
from diskbench.model.rental import Which
from diskbench.providers.keys import lease_directory
from diskbench.providers.skeleton import leases
from diskbench.providers.skeleton.leases import Failures, Lag, Listed, noting, release
from diskbench.providers.waits import CloudTiming

ONE = Which("01jone")


def of(names):
    return Listed(dict.fromkeys(names))


class Cloud:
    """What is listed, one answer after the other; the last again and again."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.told: list[set[str]] = []

    def list_lease(self, deleted):
        self.told.append(set(deleted))
        return of(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])


@pytest.fixture(autouse=True)
def keys(tmp_path, monkeypatch):
    """Where the lease's keys are."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    place = lease_directory(ONE.lease_id)
    place.mkdir(parents=True)
    return place


def test_what_comes_while_it_is_given_back_goes_in_the_next_round(keys):
    taken: list[tuple[str, ...]] = []
    cloud = Cloud(("disk a",), ("disk b",), ())
    release(ONE, "here", cloud.list_lease, lambda found, _: taken.append(tuple(found.meant)))
    assert taken == [("disk a",), ("disk b",)]
    assert cloud.told[:2] == [set(), {"disk a"}], "what was deleted"
    assert not keys.exists(), "the lease's keys go with it"


def test_what_never_ends_is_given_up_after_some_rounds_and_named():
    rounds: list[int] = []
    with pytest.raises(ReleaseFailed, match=r"not given back in here: disk a \(still listed\)"):
        release(ONE, "here", Cloud(("disk a",)).list_lease, lambda *_: rounds.append(1))
    assert len(rounds) == leases.RELEASE_ROUNDS
    look, late = Cloud(("disk a",)).list_lease, lag(listed_s=0.001)
    with pytest.raises(ReleaseFailed, match="disk a"):
        release(ONE, "here", look, lambda *_: None, lag=late)


def test_a_failure_ends_the_rounds_and_what_is_left_is_named_with_its_reason(keys):
    rounds: list[int] = []

    def give_back(_, failures):
        rounds.append(1)
        with noting(failures, "disk a", lambda _: False):
            raise AccessDenied("no right to delete it")

    look = Cloud(("disk a", "disk b"), ("disk a",)).list_lease
    with pytest.raises(ReleaseFailed) as failed:
        release(ONE, "here", look, give_back, tell=str.upper)
    assert failed.value.message == "not given back in here: DISK A (no right to delete it)"
    assert "diskbench gc 01jone" in failed.value.advice
    assert len(rounds) == 1
    assert keys.exists(), "they may be needed once more"


def test_a_failure_of_what_is_gone_after_all_is_none():
    def give_back(_, failures):
        failures["disk a"] = "took too long"

    release(ONE, "here", Cloud(("disk a",), ()).list_lease, give_back)
    failures: Failures = {}
    with noting(failures, "disk a", lambda error: isinstance(error, AccessDenied)):
        raise AccessDenied("it does not exist")
    assert failures == {}


def test_a_listing_or_a_login_that_fails_is_told_with_its_advice():
    def look(_):
        raise HostUnavailable("nobody answers", advice="look at the network")

    with pytest.raises(ReleaseFailed, match="could not be listed: nobody answers") as failed:
        release(ONE, "here", look, lambda *_: None)
    assert failed.value.advice == "look at the network; then: diskbench gc 01jone"
    assert failed.value.exit_code == 3
    told = pytest.raises(ReleaseFailed, match="01jone was not given back: no login")
    with told as failed, leases.giving_back("01jone"):
        raise AccessDenied("no login", advice="log in")
    assert failed.value.advice == "log in; then: diskbench gc 01jone"


def test_a_copy_that_a_person_named_leaves_the_leases_keys(keys):
    release(Which("01jone", copied=["disk x"]), "here", Cloud(()).list_lease, lambda *_: None)
    assert keys.exists()


QUICK = CloudTiming(first_poll_s=0.001, max_poll_s=0.001, nap_s=0.001)
LONG_S = 600.0
"""Longer than any test: only the listing ends the wait."""


def lag(unlisted_s=None, listed_s=0.0, repeats=0):
    return Lag(QUICK, lambda _: unlisted_s, listed_s, repeats)


A, B, AB = ("disk a",), ("disk b",), ("disk a", "disk b")


@pytest.mark.parametrize(
    ("answers", "deleted", "waiting", "first", "left", "asked"),
    [
        pytest.param([(), (), (), A], (), lag(LONG_S), None, A, 4, id="made just now"),
        pytest.param([A, A, A, ()], A, lag(None, LONG_S), None, (), 4, id="just deleted"),
        pytest.param([AB, B], A, lag(None, LONG_S), None, B, 2, id="deleted, and another is there"),
        pytest.param([()], A, lag(repeats=5), None, (), 1, id="nothing can be hidden"),
        pytest.param([()], (), lag(-LONG_S, repeats=4), None, (), 5, id="late, but repeated"),
        pytest.param([()], A, lag(-LONG_S, repeats=4), A, (), 1, id="late, after a delete"),
        pytest.param([()], (), None, None, (), 1, id="a cloud without lag"),
    ],
)
def test_a_listing_that_may_be_behind_is_asked_again(answers, deleted, waiting, first, left, asked):
    cloud = Cloud(*answers)
    began = None if first is None else of(first)
    assert tuple(leases.listed_in_time(cloud.list_lease, deleted, waiting, began).meant) == left
    assert len(cloud.told) == asked


def test_a_release_goes_on_when_the_first_listing_was_too_early():
    look, taken = Cloud((), ("disk a",), ("disk a",), ()).list_lease, []
    waiting = Lag(QUICK, lambda first: None if first.meant else LONG_S, LONG_S)
    release(ONE, "here", look, lambda found, _: taken.append(tuple(found.meant)), lag=waiting)
    assert taken == [("disk a",)], "what is still listed is not deleted twice"


def test_a_release_asks_how_long_by_the_listing_that_it_began_with():
    cloud, began = Cloud(("disk a",), ()), list[tuple[str, ...]]()
    waiting = Lag(QUICK, lambda first: began.append(tuple(first.meant)), LONG_S)
    release(ONE, "here", cloud.list_lease, lambda *_: None, lag=waiting)
    assert began == [("disk a",)]
