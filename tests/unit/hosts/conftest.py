import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
import ulid
from tests.rigs.loops import attached, contents, detach_all, empty_image
from tests.rigs.ssh_fixtures import proxy, ssh_config, sshd

from diskbench.errors import MeasurementFailed
from diskbench.hosts import local, shell
from diskbench.hosts.jobs import start_and_watch
from diskbench.hosts.local import LocalHost
from diskbench.hosts.unit import Unit
from diskbench.hosts.workspace import cleanup, make_workspace
from diskbench.model.spec import ResolvedTarget

__all__ = ["proxy", "ssh_config", "sshd"]


@pytest.fixture
def python_of():
    """Gives the command of a Python of that version on this machine: Debian's, or one that pyenv
    has made for the user of this process, whatever HOME says. Skips where there is none: no
    registry has Pythons that old."""

    def find(version):
        root = Path(os.environ.get("PYENV_ROOT", Path(pwd.getpwuid(os.getuid()).pw_dir) / ".pyenv"))
        installed = sorted(root.glob(f"versions/{version}.*/bin/python{version}"))
        found = shutil.which(f"python{version}", path="/usr/bin") or "".join(
            map(str, installed[-1:])
        )
        return found or pytest.skip(f"no Python {version} is on this machine")

    return find


@pytest.fixture
def as_nobody(monkeypatch):
    """Let scripts on this machine run as nobody from now on, also those that are to run as root."""
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    return lambda: monkeypatch.setattr(
        local, "argv", lambda script, root=False: [*drop, *shell.argv(script, root=root)]
    )


@pytest.fixture
def make_loop(tmp_path):
    """Attach a fresh image to a loop device; gives its path and its image. Detached afterwards."""
    with ExitStack() as stack:

        def make(name="disk.img", mib=32):
            image = tmp_path / name
            if not image.exists():
                empty_image(image, mib)
            return stack.enter_context(attached(image)).path, image

        yield make


@pytest.fixture
def exchange(tmp_path):
    """Let another empty disk take the name of a loop device; gives its image."""
    other = empty_image(tmp_path / "other.img")

    def exchanged(device):
        subprocess.run(["losetup", "-d", device], check=True)
        subprocess.run(["losetup", device, str(other)], check=True)
        return other

    yield exchanged
    detach_all(other)


def grow(device, image):
    os.truncate(image, 64 * 2**20)
    subprocess.run(["losetup", "-c", device], check=True)


def watch(unit, should_stop=lambda: False, on_tick=lambda _: None, **more):
    return start_and_watch(LocalHost(), unit, on_tick, should_stop, **more)


def refused(unit, words, *images):
    """The step ends with these words before fio, and nothing is written to the disks."""
    before = [contents(image) for image in images]
    with pytest.raises(MeasurementFailed, match=words):
        watch(unit)
    assert [contents(image) for image in images] == before
    assert not Path(unit.directory, "fio.json").exists()


@pytest.fixture
def target():
    """A directory target whose trial has its own places; taken away afterwards. Any user may pass
    to it: below tmp_path another session of pytest, also one that a test runs, closes the way."""
    trial = str(ulid.ULID()).lower()
    with tempfile.TemporaryDirectory(prefix="diskbench-test-") as name:
        place = Path(name)
        place.chmod(0o755)
        measured = place / "measured"
        measured.mkdir()
        own = {"work_dir": f"{measured}/diskbench-{trial}"}
        own |= {"state_dir": f"{place}/diskbench-{trial}", "size_bytes": 2**20}
        made = ResolvedTarget(kind="directory", path=str(measured), **own)
        yield made
        cleanup(LocalHost(), made)


@pytest.fixture
def make_unit(target):
    """A unit of a short, rate-limited fio job in a workspace that is made."""

    def make(seconds=1, **changes):
        make_workspace(LocalHost(), target)
        job = (
            f"[global]\ndirectory={target.work_dir}\nsize=1m\nioengine=psync\nrw=randrw\n"
            f"thinktime=100ms\nthinktime_blocks=20\ntime_based\nruntime={round(seconds * 1000)}ms\n"
            "write_bw_log=fio\nper_job_logs=1\nlog_avg_msec=1000\n[one]\n[two]\n"
        )
        places = {"state_dir": target.state_dir, "work_dir": target.work_dir}
        trial = target.state_dir.rpartition("-")[2]
        unit = Unit(trial_id=trial, run_index=0, name="000-mix", job=job, **places)
        return unit.model_copy(update=changes)

    return make
