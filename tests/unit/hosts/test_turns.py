"""Which claims on a disk live: those whose process holds its lock."""

import fcntl
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.hosts import agent
from diskbench.hosts.agent import Busy, Claim, Turn

CLAIM = """\
disks 8:0
trial {name}
user somebody
pid 1
born 1
since 1
state /nowhere
runs 1
until 0
ticket 7
"""


@pytest.fixture
def place(monkeypatch):
    """A directory of claims; whatever is claimed lies on the disk 8:0."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        monkeypatch.setattr(agent, "shared_place", lambda: name)
        monkeypatch.setattr(agent, "disks_under", lambda _: {"8:0"})
        yield Path(name)


def a_turn(trial="ours", ending=bool):
    made = Turn(trial, "/nowhere", "somebody", ending)
    made.disks = {"8:0"}
    return made


def living(trial=""):
    """The trials whose claims live, by a look of somebody who claims nothing."""
    return sorted(one.trial for one in a_turn(trial).living())


def take(turn, if_busy="fail"):
    turn.take(["/somewhere"], if_busy, lambda _: None, lambda _: None)


@pytest.mark.parametrize("count", [1, 12])
def test_held_claims_live_and_left_ones_do_not(count, place):
    with ExitStack() as stack:
        for number in range(2 * count):
            claim = place / f"diskbench-t{number:02d}.claim"
            claim.write_text(CLAIM.format(name=f"t{number:02d}"))
            if number < count:
                fcntl.flock(stack.enter_context(claim.open("r+")), fcntl.LOCK_EX)
        assert living() == [f"t{n:02d}" for n in range(count)]


def test_a_shared_lock_is_no_turn_and_no_claim_is_kept_for_longer_than_a_diskbench_keeps_one(place):
    claim = place / "diskbench-t0.claim"
    claim.write_text(CLAIM.format(name="t0"))
    with claim.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert living() == []
    text = CLAIM.format(name="t0").replace("until 0", "until 99999999999999")
    claim.write_text(text.replace("/nowhere", "/tmp"))
    assert living() == []
    claim = place / "diskbench-ours.claim"
    claim.touch()
    looks = claim.open()
    fcntl.flock(looks, fcntl.LOCK_SH)
    turn = a_turn(ending=lambda: looks.close())  # it asks at each try whether it is to end
    take(turn)
    assert turn.method == "flock"


def left(name, since_s):
    """The claim of a trial that lost its turn `since_s` seconds ago."""
    return CLAIM.format(name=name).replace("until 0", f"until {int(agent.uptime()) - since_s}")


@pytest.mark.parametrize(
    ("since_s", "owner", "is_held", "stays"),
    [(40, 0, False, False), (40, 0, True, True), (0, 0, False, True), (40, 65534, False, True)],
    ids=["long ago", "long ago, and held", "now", "long ago, of another user"],
)
def test_a_claim_that_lost_its_turn_long_ago_is_gone(
    since_s, owner, is_held, stays, place, monkeypatch
):
    monkeypatch.setattr(agent, "DEAD_S", 30)  # a machine may have been up for minutes only
    claim = place / "diskbench-t0.claim"
    claim.write_text(left("t0", since_s))
    os.chown(claim, owner, owner)
    with claim.open("r+") as file:
        if is_held:
            fcntl.flock(file, fcntl.LOCK_EX)
        assert living() == (["t0"] if is_held else [])
        assert claim.exists(), "who only looks removes nothing"
        take(a_turn(), "share")
    assert claim.exists() is stays


@pytest.mark.parametrize("ahead", [10**7, 10**13])
def test_a_ticket_that_no_diskbench_gives_moves_nobody_back(ahead, place):
    claim = place / "diskbench-t0.claim"
    claim.write_text(CLAIM.format(name="t0").replace("ticket 7", f"ticket {ahead}"))
    with claim.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        turn = a_turn()
        take(turn, "share")
    assert turn.ticket <= agent.uptime() + 1


def test_a_claim_that_is_another_name_of_a_file_of_ours_changes_nothing_in_it(place):
    ours = place / "ours"
    ours.write_text("keep me")
    (place / "diskbench-ours.claim").hardlink_to(ours)
    turn = a_turn()
    take(turn)
    assert (turn.method, ours.read_text()) == ("none", "keep me")


def test_of_another_users_claim_the_name_is_its_owners_and_no_path_is_followed(place, monkeypatch):
    claim = place / "diskbench-t0.claim"
    claim.write_text(left("t0", -30).replace("somebody", "root"))
    os.chown(claim, 65534, 65534)
    monkeypatch.setattr(os.path, "isdir", lambda path: pytest.fail(f"{path} may hang"))
    (found,) = a_turn().living()
    assert found.user == "nobody"


def test_a_claim_that_was_removed_while_it_was_locked_is_made_again(place, monkeypatch):
    claim, real = place / "diskbench-ours.claim", fcntl.flock
    claim.touch()
    removed = []

    def flock(descriptor, operation):
        real(descriptor, operation)
        if not removed:
            removed.append(claim.unlink())

    monkeypatch.setattr(fcntl, "flock", flock)
    take(a_turn())
    assert removed
    assert claim.stat().st_size > 0


def test_turns_are_taken_in_the_order_of_their_tickets_and_a_kept_one_is_its_trials(place):
    first, second, third = a_turn("z"), a_turn("a"), a_turn("m")
    take(first)
    for later in (second, third):
        with pytest.raises(Busy, match="trial z"):
            take(later)
    waiting = a_turn("a")
    waited: list[str] = []

    def step(_):
        """What happens meanwhile: the first trial's next step begins, then the trial ends."""
        waited.append(waiting.behind)
        if len(waited) == 1:
            first.leave()
        elif len(waited) == 2:
            take(first)
        elif len(waited) == 3:
            first.drop()

    waiting.state = first.state = str(place)
    waiting.take(["/somewhere"], "wait", lambda _: None, step)
    assert len(waited) == 3
    assert all("trial z" in one for one in waited)
    assert living() == ["a"]


def test_a_queue_that_somebody_holds_for_ever_is_gone_on_without(place, monkeypatch):
    monkeypatch.setattr(agent, "LOCK_S", 0.1)
    with (place / "diskbench.queue").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        turn = a_turn()
        take(turn)
    assert turn.method == "none"
    assert turn.why == f"{place}/diskbench.queue is locked by another process"
    assert living() == []


@pytest.mark.parametrize("since", ["951782400", "", "08", "x", "1 2", "9" * 14])
def test_a_claim_is_named_with_its_date_and_without_one_where_it_has_none(since):
    claim = Claim("/c", CLAIM.format(name="t").replace("since 1", f"since {since}"), 0)
    assert "trial t (user somebody, process 1 there, since" in claim.sentence
    assert ("since 2000-02-29 00:00:00 UTC)" in claim.sentence) is (since == "951782400")


@given(st.text())
def test_whatever_a_claim_holds_is_data(text):
    assert Claim("/c", text, 65534).sentence.isprintable()
