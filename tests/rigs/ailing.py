"""A host whose commands wait, whose clock is moved, that restarts or lacks memory, when told to.
Its own commands come first on the PATH. Over SSH other files lie over the kernel's boot id and
/proc/vmstat, in a mount namespace. And processes whose wall clock is shifted, their monotonic clock
is not."""

import contextlib
import hashlib
import os
import shutil
import subprocess
import uuid
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path
from tests.rigs.cli import over_ssh
from tests.rigs.flaky_proxy import flaky_proxy
from tests.rigs.sshd import running_sshd
from tests.rigs.windows import first_on_path, program

_WAITS = """
: >{place}/{name}.begun
while [ -e {place}/{name}.held ]; do {sleep} 0.05; done
exec {real} "$@"
"""
_FIO = """
unset LD_PRELOAD
case "$*" in
    *job.fio*)
        echo "$$" >>{place}/fio.starts
        [ ! -e {place}/fio.instead ] || . {place}/fio.instead
        ;;
esac
exec {real} "$@"
"""
_PYTHON = """
LD_PRELOAD={clock} SHIFTED_CLOCK_FILE={place}/moved exec {real} "$@"
"""
_OVERLAID = """
for one in sys/kernel/random/boot_id vmstat; do
    mount --bind "$0/${one##*/}" "/proc/$one" || exit 1
done
exec "$@"
"""


@dataclass(frozen=True)
class Ailing:
    """The host: `place` holds its commands and what it is told to do."""

    place: Path

    @property
    def path(self):
        return first_on_path(self.place / "bin")

    def hold(self, name):
        (self.place / f"{name}.held").touch()
        self._command(name, _WAITS)

    def release(self, name):
        (self.place / f"{name}.held").unlink()

    def has_begun(self, name):
        return (self.place / f"{name}.begun").exists()

    def fio_does(self, script):
        (self.place / "fio.instead").write_text(script)

    @property
    def fio_starts(self):
        starts = self.place / "fio.starts"
        return len(starts.read_text().splitlines()) if starts.exists() else 0

    def move_clock(self, seconds):
        """Move the time of day of its Python by so much, of what it was at first."""
        new = self.place / "moved.new"
        new.write_text(f"{seconds}\n")
        new.rename(self.place / "moved")

    def restart(self):
        """Give it another boot id, as after a restart; over SSH only."""
        (self.place / "boot_id").write_text(f"{uuid.uuid4()}\n")

    def run_out_of_memory(self):
        """Count one more process that the kernel killed for its memory; over SSH only."""
        (self.place / "vmstat").write_text("nr_free_pages 1000\noom_kill 1\n")

    def _command(self, name, text):
        real = shutil.which(name)
        assert real is not None
        known = {"sleep": shutil.which("sleep"), "clock": clock_library()}
        script = text.format(place=self.place, name=name, real=real, **known)
        program(self.place / "bin" / name, script)


def ailing_host(place):
    """A host that is well as yet. Its commands are this machine's where they are on its PATH."""
    place.mkdir()
    host = Ailing(place)
    host._command("fio", _FIO)
    host._command("python3", _PYTHON)
    host.move_clock(0)
    host.restart()
    (place / "vmstat").write_text("nr_free_pages 1000\noom_kill 0\n")
    return host


@contextlib.contextmanager
def reached_by_ssh(host, user, directory):
    """Let `user` reach the host as `box` through a proxy that can break the connection."""
    around = ("unshare", "--mount", "sh", "-c", _OVERLAID, str(host.place))
    with (
        running_sshd(directory, env={"PATH": host.path}, around=around) as server,
        flaky_proxy(server.port) as proxy,
    ):
        over_ssh(user, server.config_block("box", port=proxy.port))
        yield proxy


_SOURCE = Path(__file__).with_name("shifted_clock.c")


def shifted(user, seconds):
    """The same user on a machine whose clock is so many seconds ahead (negative: behind)."""
    wrong = {"LD_PRELOAD": clock_library(), "SHIFTED_CLOCK_S": str(seconds), "TZ": "UTC"}
    return replace(user, extra_env=user.extra_env | wrong)


@cache
def clock_library():
    """The compiled library, kept in the user's cache for each state of its source."""
    digest = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]
    built = user_cache_path("diskbench-tests", ensure_exists=True) / f"shifted-clock-{digest}.so"
    if not built.exists():
        new = built.with_suffix(f".{os.getpid()}")
        words = ["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(new), str(_SOURCE)]
        subprocess.run(words, check=True)
        new.replace(built)
    return str(built)
