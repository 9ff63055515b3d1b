"""Hosts that cannot be written to: silence is not taken for a broken connection."""

import subprocess
from pathlib import Path

import pytest
from tests.rigs.cli import over_ssh
from tests.rigs.loops import filesystem
from tests.rigs.sshd import running_sshd

from diskbench.errors import MeasurementFailed
from diskbench.hosts.jobs import start_and_watch
from diskbench.hosts.local import LocalHost
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
