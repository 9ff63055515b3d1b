"""A private PostgreSQL: a cluster of its own in a directory, on a unix socket only.

Needs the `postgresql` package (initdb, pg_ctl). PostgreSQL refuses to run as root, so as root it
runs as the user `postgres`."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_SPEED = ["-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off"]


@dataclass(frozen=True)
class Server:
    """A PostgreSQL that runs: its empty database's URL, and how it is stopped and started."""

    url: str
    options: str
    pg_ctl: Callable[..., None]

    def stop(self) -> None:
        """Throw everybody out and stay away, as in the middle of an upgrade or a failover."""
        self.pg_ctl("-m", "fast", "stop")

    def crash(self) -> None:
        """End without a word to anybody, as when its machine loses power."""
        self.pg_ctl("-m", "immediate", "stop")

    def start(self) -> None:
        self.pg_ctl("-o", self.options, "start")


@contextmanager
def running_postgres(*settings: str, keep: Path | None = None) -> Iterator[str]:
    """The URL of the database of a `postgres_server`."""
    with postgres_server(*settings, keep=keep) as server:
        yield server.url


@contextmanager
def postgres_server(*settings: str, keep: Path | None = None) -> Iterator[Server]:
    """A server with an empty database and `settings` ("name=value"); it ends with the block. With
    `keep` its data stay in this directory, and are used again if they are there."""
    # A socket's path has at most 107 characters: pytest's own directories may be too deep.
    home = Path(tempfile.mkdtemp(prefix="diskbench-pg-"))
    home.chmod(0o755)
    data = keep.absolute() if keep else home / "data"
    as_user: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(home, "postgres", "postgres")
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            shutil.chown(keep, "postgres", "postgres")
    bin_dir = _bin_dir()

    def run(*argv: str) -> None:
        subprocess.run(
            [*as_user, *argv], cwd=home, check=True, capture_output=True, stdin=subprocess.DEVNULL
        )

    def pg_ctl(*argv: str) -> None:
        run(f"{bin_dir}/pg_ctl", "-D", str(data), "-w", "-l", str(home / "log"), *argv)

    try:
        if not (data / "PG_VERSION").exists():
            run(f"{bin_dir}/initdb", "-D", str(data), "-U", "bench", "--auth=trust", "--no-sync",
                "--locale=C.UTF-8", "-E", "UTF8")  # fmt: skip
        options = " ".join(["-k", str(home), "-c", "listen_addresses=", *_SPEED])
        options += "".join(f" -c {setting}" for setting in settings)
        server = Server(f"postgresql://bench@/postgres?host={home}", options, pg_ctl)
        server.start()
        try:
            yield server
        finally:
            # What is kept must be whole: a server stopped at once forgets what was not synced.
            pg_ctl("-m", "fast" if keep else "immediate", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _bin_dir() -> str:
    """Debian keeps the server's programs out of PATH, by version."""
    found = shutil.which("initdb")
    if found:
        return str(Path(found).parent)
    versions = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3])
    )
    if not versions:
        raise RuntimeError("PostgreSQL's initdb is missing: install the postgresql package")
    return str(versions[-1].parent)
