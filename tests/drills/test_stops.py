"""Every stop arrives, nothing else is taken for one, and no clock of a host is trusted.
SIGKILL at the calls that ask an emulated AWS for machines and disks, and give them back.

The emulator sends the signal: while it holds the request, or when it has done what was asked and
nobody hears the answer any more."""

import contextlib
import os
import signal
import subprocess
import threading
from datetime import datetime
from pathlib import Path

import pytest
from tests.cloud.conftest import aws as aws
from tests.cloud.conftest import aws_server as aws_server
from tests.cloud.eager import __file__ as eager
from tests.cloud.rented import REGION, Aws
from tests.rigs import waiting
from tests.rigs.ailing import ailing_host, reached_by_ssh
from tests.rigs.cli import Cli, a_user, merged_rows
from tests.rigs.loops import attached, empty_image
from tests.rigs.waiting import until

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
    waiting.ended(process, -signal.SIGKILL)


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


HURRY_S = 100
"""Far longer than any of it takes on an idle machine, far shorter than what is waited for."""


@pytest.fixture
def host(tmp_path):
    return ailing_host(tmp_path / "ailing")


@pytest.fixture
def user(tmp_path, host):
    user = a_user(tmp_path)
    user.extra_env["PATH"] = host.path
    return user


@pytest.fixture
def run(user, target):
    """Start `diskbench run` on a job of two steps; what is left of it is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*more, seconds=60):
        job = user.job(seconds=seconds)
        process = user.start("run", "--path", str(target), "--profile", job, *more)
        started.append(process)
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    user.run("gc", *(one["trial_id"] for one in runs(user)))


@pytest.fixture
def run_on_disk(user, tmp_path):
    with attached(empty_image(tmp_path / "disk.img", 64)) as disk:
        words = ("--device", disk.path, "--destroy-data", str(disk.image), "--filesystem", "ext4")
        yield lambda: user.start("run", *words, "--profile", user.job(seconds=60))


def runs(user):
    done = user.json("results", "show", "last") if user.run("results").stdout else {"runs": []}
    return list(done["runs"])


def the_run(user):
    return user.json("results", "show", "last")["runs"][0]


def step_of(target, step="001-read"):
    name = next((one.name for one in target.glob("diskbench-*")), "none")
    return Path("/var/tmp", name, "run-0", f"step-{step}")


def unit_of(target):
    return int((step_of(target) / "pid").read_text().split()[0])


def fio_of(target):
    return int((step_of(target) / "fio.pid").read_text())


def live_of(target, step="001-read"):
    try:
        return (step_of(target, step) / "live.tsv").read_text()
    except FileNotFoundError:
        return ""


def is_measuring(target):
    return "\t" in live_of(target)


def ended(process, code):
    return waiting.ended(process, code, HURRY_S)


def is_over(host, target):
    """Whether fio was started, or the unit waited for its permission for three seconds."""
    return host.fio_starts > 0 or live_of(target, "000-write").count("? ") >= 3


def gone(user):
    return not list(Path("/var/tmp").glob(f"diskbench-{the_run(user)['trial_id']}"))


@pytest.mark.parametrize("stage", ["sync", "sha256sum"])
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "cancel"])
def test_a_stop_before_the_first_line_of_fio_keeps_fio_from_starting(
    host, user, target, run, stage, how
):
    """SIGINT, SIGTERM or 'diskbench cancel' while the first step's sync, or its canary, waits."""
    host.hold(stage)
    process = run()
    until(lambda: host.has_begun(stage))
    if how == "cancel":
        user.done("cancel", the_run(user)["run_id"])
    else:
        process.send_signal(signal.Signals[how])
    said = ended(process, 130)
    assert "broke" not in said
    host.release(stage)
    assert host.fio_starts == 0
    assert the_run(user)["state"] == "interrupted"
    assert "stopped by the user" in said
    assert gone(user)
    assert list(target.iterdir()) == []


def test_fio_does_not_start_after_a_stop_that_could_not_be_delivered(
    host, user, target, tmp_path, run
):
    """The connection is refused while sync waits, then SIGINT; sync ends after the command."""
    host.hold("sync")
    with reached_by_ssh(host, user, tmp_path / "sshd") as proxy:
        process = run("--provider", "ssh", "--host", "box")
        until(lambda: host.has_begun("sync"))
        proxy.refuse()
        process.send_signal(signal.SIGINT)
        said = ended(process, 130)
        assert "could not be asked to stop" in said
        assert "a fio that waits does not start" in said
        host.release("sync")
        until(lambda: is_over(host, target))
        assert host.fio_starts == 0
        proxy.heal()
        done = user.run("gc", the_run(user)["trial_id"])
    assert done.returncode == 0, done.stderr
    assert gone(user)
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("how", ["SIGKILL", "twice"])
def test_fio_does_not_start_after_its_command_was_killed(host, user, target, run, how):
    """SIGKILL, or a second Ctrl-C at once, while sync waits; then resume."""
    host.hold("sync")
    process = run(seconds=1)
    until(lambda: host.has_begun("sync"))
    for _ in range(1 if how == "SIGKILL" else 2):
        process.send_signal(signal.SIGKILL if how == "SIGKILL" else signal.SIGINT)
    process.communicate(timeout=HURRY_S)
    host.release("sync")
    step = step_of(target, "000-write")
    if step.exists():
        until(lambda: (step / "exit").exists() or is_over(host, target))
    assert host.fio_starts == 0
    resumed = user.run("resume")
    if how == "SIGKILL":
        assert resumed.returncode == 0, resumed.stderr
        assert [row["step"] for row in merged_rows(the_run(user))] == ["write", "read"]
    else:
        assert resumed.returncode in {0, 130}, resumed.stderr
    assert gone(user)
    assert list(target.iterdir()) == []


def test_a_deadline_arrives_before_the_first_line_of_fio(host, user, target):
    """A cell passes max_cell_time while sync waits: it fails, and not because a user stopped it."""
    host.hold("sync")
    matrix = user.job(
        "name: m\nlimits: {max_cell_time: 4s}\n"
        f"defaults: {{provider: local, path: {target}, profile: {user.job()}}}\n",
        "matrix.yaml",
    )
    done = user.run("matrix", "run", matrix)
    assert done.returncode == 1, done.stderr
    assert "max_cell_time" in done.stderr + done.stdout
    assert "by the user" not in str(the_run(user))
    assert host.fio_starts == 0
    host.release("sync")


def test_a_stop_while_the_filesystem_is_made_ends_mkfs(host, user, run_on_disk):
    """SIGINT while mkfs runs on its disk: the run ends as interrupted (130), the disk is free."""
    host.hold("mkfs.ext4")
    process = run_on_disk()
    until(lambda: host.has_begun("mkfs.ext4"))
    process.send_signal(signal.SIGINT)
    ended(process, 130)
    assert host.fio_starts == 0
    assert gone(user)


@pytest.mark.parametrize("whom", ["unit", "all"])
def test_a_signal_on_the_host_is_not_the_users(user, target, run, whom):
    """SIGTERM to a step's unit on the host, or to all of its processes: the run fails (1)."""
    process = run()
    until(lambda: is_measuring(target))
    unit = unit_of(target)
    if whom == "all":
        fio = fio_of(target)
        os.killpg(unit, signal.SIGTERM)
        os.kill(fio, signal.SIGTERM)
    else:
        os.kill(unit, signal.SIGTERM)
    said = ended(process, 1)
    assert "ended by signal 15 (SIGTERM)" in said
    assert "the machine was not restarted" in said
    if whom == "unit":
        assert "terminating on signal 15" in said
    assert the_run(user)["state"] == "failed"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_of_the_host_is_reported_as_one(host, user, target, tmp_path, run, number):
    """The host restarts while fio runs: orderly (SIGTERM), or all at once (SIGKILL)."""
    with reached_by_ssh(host, user, tmp_path / "sshd") as proxy:
        process = run("--provider", "ssh", "--host", "box")
        until(lambda: is_measuring(target))
        unit = unit_of(target)
        proxy.refuse()
        os.kill(unit, number)
        until(lambda: not Path(f"/proc/{unit}").exists())
        host.restart()
        proxy.heal()
        said = ended(process, 1)
    assert "boot id changed" in said
    assert ("signal 15" in said) == (number == signal.SIGTERM)
    assert the_run(user)["state"] == "failed"


def test_the_end_of_fio_is_reported_with_its_cause(host, user, run):
    """Another process kills fio; what else ends a fio: tests/unit/fio/test_recorded.py."""
    host.fio_does("kill -KILL $$")
    assert "fio was ended by signal 9 on the host" in ended(run(seconds=1), 1)
    assert the_run(user)["state"] == "failed"


def test_a_fio_that_the_kernel_killed_for_its_memory_is_reported_as_that(
    host, user, target, tmp_path, run
):
    """The kernel kills fio, and the host's own count of such kills goes up."""
    with reached_by_ssh(host, user, tmp_path / "sshd"):
        process = run("--provider", "ssh", "--host", "box")
        until(lambda: is_measuring(target))
        host.run_out_of_memory()
        os.kill(fio_of(target), signal.SIGKILL)
        said = " ".join(ended(process, 1).split())
        assert "out of memory, the kernel killed 1 process" in said


@pytest.mark.parametrize("moved", [-7200, 7200])
def test_a_clock_that_is_moved_changes_no_duration(host, user, target, tmp_path, run, moved):
    """The clock of the host is set back or forward by two hours while fio runs: it is said."""
    with reached_by_ssh(host, user, tmp_path / "sshd"):
        process = run("--timing", "--provider", "ssh", "--host", "box", seconds=4)
        until(lambda: is_measuring(target))
        host.move_clock(moved)
        said = ended(process, 0)
    step = the_run(user)["steps"][1]
    began, over = (datetime.fromisoformat(step[at]) for at in ("started_at", "finished_at"))
    assert 4 <= (over - began).total_seconds() < HURRY_S
    (warning,) = [one for one in step["warnings"] if one["code"] == "clock-moved"]
    assert f"{moved:+d}" in warning["message"]
    in_fio = [float(line.split()[0]) for line in said.splitlines() if "fio itself" in line]
    assert 4 <= in_fio[0] < HURRY_S
    told = user.run("results", "show", "last", "--timing").stdout
    beyond = [float(line.split()[0]) for line in told.splitlines() if "outside fio" in line]
    assert 0 <= beyond[0] < HURRY_S
