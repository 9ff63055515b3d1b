"""Hosts that cannot be written to: silence is not taken for a broken connection.
Hosts whose login disturbs commands: it prints, reads, traces, or is a shell of another kind."""

import hashlib
import io
import json
import logging
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.cli import over_ssh
from tests.rigs.loops import filesystem
from tests.rigs.sshd import running_sshd
from tests.rigs.windows import first_on_path, program

from diskbench.errors import HostUnavailable, MeasurementFailed
from diskbench.hosts import ssh
from diskbench.hosts.jobs import start_and_watch
from diskbench.hosts.local import LocalHost
from diskbench.hosts.shell import Frame
from diskbench.hosts.ssh import SshHost
from diskbench.hosts.unit import Unit

SHORT = "[step]\nrw=write\nsize=1m\nbs=64k\nioengine=psync\n"
LONG = SHORT.replace("=write", "=randread") + "rate_iops=50\ntime_based\nruntime=600\n"
SMALL = "mount -t tmpfs -o size={size},nr_inodes={inodes} none /var/tmp"
EXT4 = (
    "head -c 16m /dev/zero >$at.img; mkfs.ext4 -q -F $at.img; mount -o loop $at.img /var/tmp; "
    "rm $at.img"
)
NO_SPACE, FILLED = "No space left on device", "; head -c 100k /dev/zero >/var/tmp/full"
WHEN_FIO_RUNS = (
    "(n=0; until ls /var/tmp/diskbench-*/run-0/*/fio.json || [ $n = 900 ]; "
    "do sleep 0.1; n=$((n + 1)); done; sleep 2; {harm}) >/dev/null 2>&1 </dev/null &"
)


def measured(user, place, setup, job):
    target = place / "target"
    target.mkdir()
    around = ("unshare", "--mount", "sh", "-c", f'at="$0"; {setup}\nexec "$@"', str(place / "at"))
    with running_sshd(place / "sshd", around=around) as server:
        over_ssh(user, server.config_block("box"))
        words = ("--provider", "ssh", "--host", "box", "--path", str(target))
        done = user.run("run", *words, "--profile", user.job(job), "--output", "json")
    return done, " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("setup", "words"),
    [
        (SMALL.format(size="100k", inodes=999), (NO_SPACE, "inodes are free")),
        (SMALL.format(size="200k", inodes=999), (NO_SPACE, "inodes are free")),
        (SMALL.format(size="100k", inodes=999) + FILLED, (NO_SPACE, "(0 KiB and")),
        (SMALL.format(size="1m", inodes=2), (NO_SPACE, "0 inodes are free")),
        (SMALL.format(size="1m", inodes=12), (NO_SPACE, "0 inodes are free")),
        (SMALL.format(size="1m", inodes=22), (NO_SPACE, "0 inodes are free")),
        ("mount -t tmpfs -o ro none /var/tmp", ("Read-only file system",)),
    ],
    ids=["100 kB", "200 kB", "full", "2 inodes", "12 inodes", "22 inodes", "read-only"],
)
def test_a_host_without_room_is_named_and_ends_the_run(user, tmp_path, setup, words):
    """/var/tmp of the host is full or nearly so, has no inodes left, or is read-only at first."""
    done, said = measured(user, tmp_path, setup, SHORT)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in said
    assert "no answer" not in said
    assert "cannot write to /var/tmp" in said
    assert all(word in said for word in words), said


@pytest.mark.parametrize(
    ("setup", "harm", "words"),
    [
        (SMALL.format(size="3m", inodes=999), "head -c 8m /dev/zero >/var/tmp/x", "No space left"),
        (EXT4, "head -c 32m /dev/zero >/var/tmp/x", "No space left"),
        (EXT4, "mount -o remount,abort /var/tmp; touch /var/tmp/x", "Read-only file system"),
    ],
    ids=["tmpfs full", "ext4 full", "ext4 read-only"],
)
def test_a_host_that_fills_up_during_a_step_ends_it(user, tmp_path, setup, harm, words):
    """/var/tmp of the host fills up, or turns read-only, while fio runs for ten minutes."""
    setup = f"{setup}; {WHEN_FIO_RUNS.format(harm=harm)}"
    done, said = measured(user, tmp_path, setup, LONG)
    # What lies on a disk that is read-only cannot be taken away: exit 3.
    assert done.returncode == (3 if "Read-only" in words else 1), done.stderr
    assert "Traceback" not in said
    assert "was ended on box: cannot write to /var/tmp/diskbench-" in said
    assert words in said
    mine = subprocess.run(["pgrep", "-f", str(tmp_path / "target")], capture_output=True, text=True)
    assert mine.stdout == "", "no fio is left"


def test_a_full_directory_of_claims_does_not_end_a_step(user, tmp_path):
    """/run/lock of the host, where trials take turns, is full: there is no claim on the disk."""
    claims = "mount -t tmpfs -o size=4k,mode=1777 none /run/lock"
    done, _ = measured(user, tmp_path, f"{claims}; head -c 4k /dev/zero >/run/lock/full", SHORT)
    assert done.returncode == 0, done.stderr


def test_a_stop_on_a_read_only_host_ends_fio(tmp_path):
    """Ctrl-C while fio runs, on a host whose disk turned read-only in that second."""
    with filesystem(tmp_path / "mount", 16) as mount:
        state, work = mount / "diskbench-state1", tmp_path / "work"
        state.mkdir(mode=0o700)
        work.mkdir(mode=0o700)
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        found = work.stat()
        (state / "work.id").write_text(f"{boot} {found.st_dev} {found.st_ino}\n")
        job = f"{LONG}directory={work}\n"
        unit = Unit(
            trial_id="01kq8z6rj0aaaaaaaaaaaaaaa1", run_index=0, name="000-x",
            state_dir=str(state), work_dir=str(work), job=job, drop_caches=False,
        )  # fmt: skip
        stopped = False

        def tick(_):
            nonlocal stopped
            if not stopped:
                subprocess.run(["mount", "-o", "remount,abort", str(mount)], check=False)
                subprocess.run(["touch", str(mount / "x")], check=False, capture_output=True)
            stopped = True

        with pytest.raises(MeasurementFailed, match=r"cannot write to .*Read-only file system"):
            start_and_watch(LocalHost(), unit, tick, lambda: stopped)
        assert not subprocess.run(["pgrep", "-f", str(work)], capture_output=True).stdout


Login = Callable[..., SshHost]
ODD = bytes(range(256)) * 3 + b"\x1e\n\x1e<>0\n"
JOB = "[write]\nrw=write\nsize=1m\nbs=64k\nioengine=psync\n"


@pytest.fixture
def login(tmp_path, monkeypatch):
    """Makes a host whose login reads `bashrc`, or runs the command itself by `instead`."""
    monkeypatch.setattr(ssh, "_NOISY", set())
    with ExitStack() as stack:

        def made(bashrc="", instead=""):
            place = tmp_path / "sshd"
            extra = f"ForceCommand {instead}" if instead else ""
            server = stack.enter_context(running_sshd(place, extra=extra))
            (place / ".bashrc").write_text(bashrc)
            config = tmp_path / "ssh_config"
            config.write_text(server.config_block("box"))
            host = SshHost("box", config=str(config))
            stack.callback(host.close)
            return host

        yield made


def works(host, place, *, errors=True):
    data = place / "data"
    data.write_bytes(ODD)
    done = host.run(f"cat {data}; echo why >&2; exit 7")
    assert done.exit == 7
    if errors:
        assert (done.stdout, done.stderr) == (ODD, b"why\n")
    assert list(host.stream("read -r a; echo $a; printf end", stdin=b"in\n")) == [b"in", b"end"]
    sink = io.BytesIO()
    assert host.fetch(f"cat {data}; echo why >&2; exit 5", sink) == 5
    assert sink.getvalue() == ODD
    much = ODD * 1000
    assert host.run(f"cat >{place}/put", stdin=much).exit == 0
    assert hashlib.sha256((place / "put").read_bytes()).digest() == hashlib.sha256(much).digest()
    assert "noclobber\ton" not in host.run("set -o").text.replace(" ", "\t")


NOISE = {
    "lines": "echo Welcome; echo news >&2",
    "no end of line": "printf 'Welcome '; printf 'news ' >&2",
    "NULs and marks": r"printf 'a\0b\0\036<\036%032d<\036%032d>0\n' 1 2",
    "half a megabyte": "head -c 500000 /dev/zero; head -c 500000 /dev/zero >&2",
    "its own tracing": "set -xv; echo traced",
    "an end of its own": "trap 'echo bye; echo bye >&2' EXIT; echo hello",
    "a line that it reads": "read -r line; echo got $line",
    "ten lines that it reads": "for n in 1 2 3 4 5 6 7 8 9 10; do read -r line; done; echo $n",
}
HABITS = {
    "cd and umask": "cd /; umask 777; export CDPATH=/tmp",
    "aliases": "shopt -s expand_aliases; alias exec=false sh=false printf=false cat=false",
    "options of the shell": "set -Cu; export SHELLOPTS",
}


@pytest.mark.parametrize("kind", NOISE)
def test_what_a_login_prints_stays_out_of_the_answers(login, tmp_path, caplog, kind):
    """A login prints on both streams, reads its input, or traces; it is reported once."""
    with caplog.at_level(logging.WARNING):
        works(login(NOISE[kind]), tmp_path)
    told = [one.getMessage() for one in caplog.records if "before each command" in one.message]
    assert len(told) == 1, told
    assert "box prints" in told[0]
    assert "must print nothing" in told[0]


@pytest.mark.parametrize("kind", HABITS)
def test_the_habits_of_a_login_do_not_reach_a_command(login, tmp_path, caplog, kind):
    """A login file changes directory, umask, aliases or shell options; nothing is reported."""
    works(login(HABITS[kind]), tmp_path)
    assert not caplog.records


@pytest.mark.parametrize(
    ("instead", "errors"),
    [
        ("""echo banner; sh -c "$SSH_ORIGINAL_COMMAND"; echo footer; echo footer >&2""", True),
        ("""sh -c "$SSH_ORIGINAL_COMMAND" 2>&1; exit 0""", False),
        ("""sh -c "$SSH_ORIGINAL_COMMAND" 2>/dev/null""", False),
    ],
    ids=["banners", "joined streams", "no standard error"],
)
def test_a_forced_command_around_ours_does_no_harm(login, tmp_path, instead, errors):
    """It prints a banner before and after, gives status 0 to everything, or joins both streams."""
    works(login(instead=instead), tmp_path, errors=errors)


@pytest.mark.parametrize(
    ("bashrc", "instead", "words"),
    [
        ("cat >/dev/null", "", "consumes the standard input"),
        ("head -c 3000000 /dev/zero", "", "prints more than 1 MiB before a command"),
        ("yes noise", "", r"prints more than 1 MiB before a command \('noise␊noise"),
        ("exec cat", "", r"exit status 0, and printed .*"),
        ("echo gone; exit 3", "", "exit status 3, and printed 'gone'"),
        ("", "echo This account is not available. >&2; exit 1", "This account is not available"),
    ],
    ids=["eats", "large", "endless", "becomes cat", "leaves", "nologin"],
)
def test_a_login_that_lets_no_command_through_is_refused_by_name(login, bashrc, instead, words):
    """A login reads away all input, prints without end, becomes another program, or is refused."""
    host = login(bashrc, instead)
    with pytest.raises(HostUnavailable, match=words) as refused:
        host.run("echo x", stdin=b"echo evil >&2\n", timeout_s=20)
    assert "box" in refused.value.message
    assert "ssh HOST true" in refused.value.advice
    assert "evil" not in refused.value.message


@pytest.mark.parametrize("shell", ["dash", "bash", "tcsh", "csh", "bsd-csh", "zsh", "fish", "ksh"])
def test_any_login_shell_passes_a_command_on(login, tmp_path, shell):
    """The login shell is one that quotes in another way than sh."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    host = login(instead=f'{found} -c "$SSH_ORIGINAL_COMMAND"')
    works(host, tmp_path)
    odd = "it's !! ~ \\ \\n %h `q` é ^x"
    assert host.run(f"cat <<'END'\n{odd}\nEND\n: {'x' * 40_000}").text == odd + "\n"


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=300))
def test_a_command_line_holds_nothing_that_a_login_shell_would_change(script):
    """Any text at all is the script of a command."""
    line = Frame(script).line
    assert re.fullmatch(r"/bin/sh -c( '[ -&(-~]{1,900}')+", line), line
    assert not set("!\n") & set(line)
    assert not re.search(r"\\['\\]", line), "fish takes these two for one"


def test_a_run_on_a_host_that_prints_is_measured_whole(user, target, tmp_path):
    """A run over SSH on a host whose login prints on both streams: it is said once."""
    with running_sshd(tmp_path / "sshd") as server:
        (tmp_path / "sshd/.bashrc").write_text("printf 'Welcome to this machine'; echo x >&2")
        over_ssh(user, server.config_block("box"))
        done = user.done(*run_on_box(user, target))
    assert json.loads(done.stdout)["runs"][0]["state"] == "done"
    assert done.stderr.count("box prints") == 1, done.stderr
    assert "Welcome to this machine" in done.stderr


CHANGED = """\
at=$(printf %s "$*" | sed -n 's/.*"dir": "\\([^"]*\\).*/\\1/p')
cp "$at/fio.json" {place}/whole; echo changed >>"$at/fio.json"; {real} "$@"
mv {place}/whole "$at/fio.json"; exit 0"""
PYTHON = """\
case "$*" in
    *'"do": "pack"'*) [ ! -e {place}/broken ] || {{ {harm}; }} ;;
esac
exec {real} "$@"
"""


@pytest.mark.parametrize(
    "harm",
    ["head -c 20000 /dev/urandom; exit 0", '{real} "$@" | head -c 3000; exit 0', CHANGED, "exit 2"],
    ids=["damaged", "cut", "changed", "none"],
)
def test_files_that_cannot_be_fetched_now_are_fetched_by_resume(user, target, tmp_path, harm):
    """The host sends a damaged, cut, changed or no archive: it keeps the files, fio starts once."""
    programs, real = tmp_path / "programs", shutil.which("python3")
    text = PYTHON.format(place=programs, real=real, harm=harm.format(place=programs, real=real))
    program(programs / "python3", text)
    counts = f'case "$*" in *job.fio) echo >>{programs}/starts ;; esac'
    program(programs / "fio", f'{counts}\nexec {shutil.which("fio")} "$@"')
    (programs / "broken").touch()
    with running_sshd(tmp_path / "sshd", env={"PATH": first_on_path(programs)}) as server:
        over_ssh(user, server.config_block("box"))
        done = user.run(*run_on_box(user, target))
        assert done.returncode == 1, done.stderr
        assert "diskbench resume" in done.stderr
        assert "Traceback" not in done.stderr
        (programs / "broken").unlink()
        again = user.done("resume", "last", "--output", "json")
    assert json.loads(again.stdout)["runs"][0]["state"] == "done"
    assert (programs / "starts").read_text().count("\n") == 1


def run_on_box(user, target):
    on_host = ("--provider", "ssh", "--host", "box", "--path", str(target))
    return ("run", *on_host, "--profile", user.job(JOB), "--output", "json")
