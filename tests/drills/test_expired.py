"""What a killed run rented, when nobody resumes it: the next command gives it back."""

from pathlib import Path

import pytest
from tests.drills.test_ids import ONE, TWO, database, rented
from tests.drills.test_ids import user as user
from tests.rigs.cli import Cli

from diskbench.store.leases import Lease, create_lease, list_leases

PAST, FUTURE = "2020-01-01T00:00:00.000000+00:00", "2999-01-01T00:00:00.000000+00:00"


def left(user: Cli, lease_id: str, expires_at: str) -> Path:
    """A machine of the fake cloud whose run was killed."""
    lease = Lease(lease_id=lease_id, provider="fake", expires_at=expires_at)
    create_lease(database(user), lease)
    return rented(user, lease_id, owner="alice@desk", expires=1.0)


def states(user: Cli) -> dict[str, str]:
    return {one.lease_id: one.state for one in list_leases(database(user))}


@pytest.mark.parametrize(
    "command", [("status",), ("results", "list"), ("matrix", "status", "--all")], ids=" ".join
)
def test_a_command_that_reads_gives_back_what_expired(user: Cli, command: tuple[str, ...]) -> None:
    """A killed run's lease expires; a command that only reads says what it gave back on stderr."""
    old, young = left(user, ONE, PAST), left(user, TWO, FUTURE)
    done = user.done(*command)
    assert ONE in done.stderr
    assert ONE not in done.stdout or command == ("status",)
    assert not old.exists()
    assert young.exists()
    assert states(user) == {ONE: "released", TWO: "open"}


def test_what_could_not_be_given_back_does_not_hold_up_every_command(user: Cli) -> None:
    """A lease cannot be given back: the first command says why, the next ones do not wait."""
    create_lease(database(user), Lease(lease_id=ONE, provider="gone", expires_at=PAST))
    first, second = user.run("status"), user.run("status")
    assert (first.returncode, second.returncode) == (0, 0)
    assert "error" in first.stderr
    assert second.stderr == ""
    (lease,) = list_leases(database(user))
    assert (lease.state, bool(lease.error)) == ("open", True)
