"""Secrets in command lines, which every user of a machine can read: each execve is recorded."""

from dataclasses import dataclass

import pytest
from tests.cloud.conftest import aws as aws
from tests.cloud.conftest import aws_server as aws_server
from tests.cloud.eager import __file__ as eager
from tests.cloud.rented import REGION
from tests.rigs.cli import Cli
from tests.rigs.postgres import running_postgres

JOB = "[a]\nrw=write\nsize=256k\nbs=64k\ndirect=1\nioengine=psync\n"
# What stands for each secret; none of it opens anything.
SECRET = "c2VjcmV0LW9mLXRoZS13b3JrZXJzLXdoaWNoLWlzLWxvbmctZW5vdWdo"  # noqa: S105
PASSWORD = "Passw0rdOfTheDatabase"  # noqa: S105
KEY, TOKEN = "wJalrSecretAccessKeyOfSomebody", "FwoGSessionTokenOfSomebody"
KEYS = {"DISKBENCH_SECRET": SECRET, "AWS_SECRET_ACCESS_KEY": KEY, "AWS_SESSION_TOKEN": TOKEN}
SECRETS = (SECRET, PASSWORD, KEY, TOKEN, "PRIVATE KEY", "#cloud-config", "I2Nsb3VkLWNvbmZpZ")
"""The last is how `#cloud-config` begins in base64: the user data of a machine holds its key."""


@dataclass
class Watched(Cli):
    """A user whose diskbench, and everything it starts, is watched by strace."""

    @property
    def seen(self):
        return self.home.parent / "execve.txt"

    @property
    def command(self):
        flags = ["-f", "-q", "-s", "100000", "-e", "trace=execve", "-e", "signal=none"]
        return ["strace", *flags, "-o", str(self.seen), *super().command]


@pytest.fixture
def url():
    with running_postgres() as made:
        yield made.replace("bench@", f"bench:{PASSWORD}@")


def nothing_told(user, said, at_least):
    """No secret stands in a command line, in what was printed, or in what was kept."""
    lines = user.seen.read_text(errors="replace").splitlines()
    assert sum("execve(" in line for line in lines) >= at_least
    for secret in SECRETS:
        assert [line[:300] for line in lines if secret in line] == []
        assert secret not in said
        kept = [path for path in user.home.rglob("*") if path.is_file()]
        assert [path for path in kept if secret.encode() in path.read_bytes()] == []


def test_no_command_of_controller_or_host_holds_a_secret(chaos, url):
    """A rental in the lab with secrets of three kinds; strace records every command."""
    user = Watched(chaos.user.home, chaos.user.extra_env | KEYS | {"DISKBENCH_DATABASE_URL": url})
    words = ("run", "--provider", "lab", "--disk", "gp2", "--size", "1")
    done = user.done("-v", *words, "--profile", user.job(JOB), timeout_s=280)
    nothing_told(user, done.stdout + done.stderr, at_least=100)


def test_no_command_of_a_controller_that_rents_holds_a_secret(aws, user):
    """A rental in an emulated AWS with secrets and tokens; strace records every command."""
    watched = Watched(user.home, aws.env | KEYS, (eager,))
    where = ("--provider", "aws", "--region", REGION, "--endpoint-url", aws.endpoint)
    words = ("run", *where, "--disk", "gp3", "--size", "4", "--profile", user.job(JOB))
    done = watched.done("-v", *words, timeout_s=280)
    nothing_told(watched, done.stdout + done.stderr, at_least=2)
