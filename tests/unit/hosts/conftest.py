import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import ulid
from tests.rigs.ssh_fixtures import proxy, ssh_config, sshd

from diskbench.hosts import local, shell
from diskbench.hosts.local import LocalHost
from diskbench.hosts.unit import Unit
from diskbench.hosts.workspace import cleanup, make_workspace
from diskbench.model.spec import ResolvedTarget

__all__ = ["proxy", "ssh_config", "sshd"]


@pytest.fixture
def python_of() -> Callable[[str], str]:
    """Gives the command of a Python of that version on this machine: Debian's, or one that pyenv
    has made for the user of this process, whatever HOME says. Skips where there is none: no
    registry has Pythons that old."""

    def find(version: str) -> str:
        root = Path(os.environ.get("PYENV_ROOT", Path(pwd.getpwuid(os.getuid()).pw_dir) / ".pyenv"))
        installed = sorted(root.glob(f"versions/{version}.*/bin/python{version}"))
        found = shutil.which(f"python{version}", path="/usr/bin") or "".join(
            map(str, installed[-1:])
        )
        return found or pytest.skip(f"no Python {version} is on this machine")

    return find


@pytest.fixture
def as_nobody(monkeypatch) -> Callable[[], None]:
    """Let scripts on this machine run as nobody from now on, also those that are to run as root."""
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    return lambda: monkeypatch.setattr(
        local, "argv", lambda script, root=False: [*drop, *shell.argv(script, root=root)]
    )


@pytest.fixture
def make_loop(tmp_path) -> Iterator[Callable[..., tuple[str, Path]]]:
    """Attach a fresh image to a loop device; gives its path and its image. Detached afterwards."""
    attached: list[str] = []

    def make(name: str = "disk.img", mib: int = 32, *flags: str) -> tuple[str, Path]:
        image = tmp_path / name
        if not image.exists():
            with image.open("wb") as file:
                file.truncate(mib * 2**20)
        argv = ["losetup", "-f", "--show", *flags, str(image)]
        attached.append(subprocess.check_output(argv, text=True).strip())
        return attached[-1], image

    yield make
    for device in attached:
        subprocess.run(["losetup", "-d", device], check=True)


@pytest.fixture
def target() -> Iterator[ResolvedTarget]:
    """A directory target whose trial has its own places; taken away afterwards. Any user may pass
    to it: below tmp_path another session of pytest, also one that a test runs, closes the way."""
    trial = str(ulid.ULID()).lower()
    with tempfile.TemporaryDirectory(prefix="diskbench-test-") as name:
        place = Path(name)
        place.chmod(0o755)
        measured = place / "measured"
        measured.mkdir()
        made = ResolvedTarget(
            kind="directory",
            path=str(measured),
            work_dir=f"{measured}/diskbench-{trial}",
            state_dir=f"{place}/diskbench-{trial}",
            size_bytes=2**20,
        )
        yield made
        cleanup(LocalHost(), made)


@pytest.fixture
def make_unit(target) -> Callable[..., Unit]:
    """A unit of a short, rate-limited fio job in a workspace that is made."""

    def make(seconds: float = 1, **changes: object) -> Unit:
        make_workspace(LocalHost(), target)
        job = (
            f"[global]\ndirectory={target.work_dir}\nsize=1m\nioengine=psync\nrw=randrw\n"
            f"rate_iops=200,200\ntime_based\nruntime={round(seconds * 1000)}ms\n"
            "write_bw_log=fio\nper_job_logs=1\nlog_avg_msec=1000\n[one]\n[two]\n"
        )
        unit = Unit(
            trial_id=target.state_dir.rpartition("-")[2],
            run_index=0,
            name="000-mix",
            state_dir=target.state_dir,
            job=job,
            work_dir=target.work_dir,
        )
        return unit.model_copy(update=changes)

    return make
