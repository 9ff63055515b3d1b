"""SIGKILL at the calls that ask an emulated AWS for machines and disks, and give them back.

The emulator sends the signal: while it holds the request, or when it has done what was asked and
nobody hears the answer any more."""

import os
import signal
import threading

import pytest
from tests.cloud.conftest import aws as aws
from tests.cloud.conftest import aws_server as aws_server
from tests.cloud.eager import __file__ as eager
from tests.cloud.rented import REGION, Aws
from tests.rigs.cli import Cli, merged_rows
from tests.rigs.waiting import ended, until

JOB = (
    "[global]\nfilename=data\nsize=4m\ndirect=1\nioengine=libaio\n[write]\nrw=write\nbs=256k\n"
    "[read]\nstonewall\nrw=randread\nbs=4k\nsize=256k\n"
)
RENTING = (
    *("CreateSecurityGroup", "AuthorizeSecurityGroupIngress", "ImportKeyPair", "RunInstances"),
    *("CreateVolume", "AttachVolume", "ModifyInstanceAttribute"),
)
GIVING_BACK = ("TerminateInstances", "DeleteVolume", "DeleteSecurityGroup", "DeleteKeyPair")
TABLE = [
    *((f"{when} {action}", "resume")
      for action in (*RENTING, *GIVING_BACK)
      for when in ("lost", "done")
      if (when, action) != ("done", "DeleteVolume")),  # the volume went with its machine
    *((f"done {action}", "gc") for action in RENTING),
]  # fmt: skip
"""At which call the process is killed, and what is wished then."""


@pytest.fixture
def renter(aws: Aws, user: Cli) -> Cli:
    user.extra_env = {**aws.env, "AWS_ENDPOINT_URL": aws.endpoint}
    user.program = (eager,)
    return user


@pytest.fixture
def words(aws: Aws, user: Cli) -> tuple[str, ...]:
    where = ("--provider", "aws", "--region", REGION, "--endpoint-url", aws.endpoint)
    return ("run", *where, "--disk", "gp3", "--size", "4", "--profile", user.job(JOB))


def killed_at(aws: Aws, user: Cli, moment: str, *words: str) -> None:
    begun: list[int] = []
    ready = threading.Event()

    def kill() -> None:
        ready.wait(60)
        os.kill(begun[0], signal.SIGKILL)

    when, action = moment.split()
    aws.faults.at("lost" if when == "lost" else "done", action, kill)
    process = user.start(*words)
    begun.append(process.pid)
    ready.set()
    ended(process, -signal.SIGKILL)


def rented_once_and_given_back(aws: Aws, user: Cli, *, lost: str = "") -> None:
    """One machine and disk were made, every row is there once. The first `lost` call made none."""
    for action in ("RunInstances", "CreateVolume"):
        heard = aws.faults.calls(action)[action == lost :]
        tokens = {one.params.get("ClientToken") for one in heard}
        assert len(tokens) == 1, f"{action} asked for {len(tokens)} things"
    until(lambda: aws.left() == [])
    (row,) = user.json("results", "list")["runs"]
    (run,) = user.json("results", "show", row["run_id"])["runs"]
    assert run["state"] == "done"
    steps = [(one["step"], one["direction"]) for one in merged_rows(run)]
    assert steps == [("write", "write"), ("read", "read")]


@pytest.mark.thorough
@pytest.mark.parametrize(("moment", "wish"), TABLE)
def test_a_kill_at_any_call_to_the_cloud_leaks_and_doubles_nothing(
    aws, renter, words, moment, wish
):
    """SIGKILL before the cloud receives each call and before its answer; then resume, or gc."""
    killed_at(aws, renter, moment, *words)
    (row,) = renter.json("results", "list")["runs"]
    renter.done(wish, *([row["trial_id"]] if wish == "gc" else []))
    if wish == "resume":
        when, action = moment.split()
        rented_once_and_given_back(aws, renter, lost=action if when == "lost" else "")
        return
    until(lambda: aws.left() == [])
    (row,) = renter.json("results", "list")["runs"]
    assert row["state"] == "cancelled"


def test_a_run_killed_four_times_leaks_and_doubles_nothing(aws, renter, words):
    """One run is killed at four calls to the cloud, each resume at the next."""
    killed_at(aws, renter, "done RunInstances", *words)
    for moment in ("lost CreateVolume", "done AttachVolume", "done TerminateInstances"):
        killed_at(aws, renter, moment, "resume")
    renter.done("resume")
    rented_once_and_given_back(aws, renter, lost="CreateVolume")
