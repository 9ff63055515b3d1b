"""A private PostgreSQL: a cluster of its own in a directory, on a unix socket only.

Needs the `postgresql` package (initdb, pg_ctl). PostgreSQL refuses to run as root, so as root it
runs as the user `postgres`."""

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

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
def running_postgres() -> Iterator[str]:
    """The URL of the database of a `postgres_server`."""
    with postgres_server() as server:
        yield server.url


@contextmanager
def postgres_server() -> Iterator[Server]:
    """A server with an empty database; it ends with the block."""
    # A socket's path has at most 107 characters: pytest's own directories may be too deep.
    home = Path(tempfile.mkdtemp(prefix="diskbench-pg-"))
    home.chmod(0o755)
    as_user: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(home, "postgres", "postgres")
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    bin_dir = _bin_dir()

    def run(*argv: str) -> None:
        subprocess.run(
            [*as_user, *argv], cwd=home, check=True, capture_output=True, stdin=subprocess.DEVNULL
        )

    def pg_ctl(*argv: str) -> None:
        run(f"{bin_dir}/pg_ctl", "-D", f"{home}/data", "-w", "-l", str(home / "log"), *argv)

    try:
        flags = ("-U", "bench", "--auth=trust", "--no-sync", "--locale=C.UTF-8", "-E", "UTF8")
        run(f"{bin_dir}/initdb", "-D", f"{home}/data", *flags)
        options = " ".join(["-k", str(home), "-c", "listen_addresses=", *_SPEED])
        server = Server(f"postgresql://bench@/postgres?host={home}", options, pg_ctl)
        server.start()
        try:
            yield server
        finally:
            server.crash()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def new_database(url: str) -> str:
    """The URL of an empty database of its own, on the server of another."""
    server, name = sa.make_url(url).set(drivername="postgresql+psycopg"), f"t{uuid.uuid4().hex}"
    admin = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    admin.dispose()
    return server.set(database=name).render_as_string(hide_password=False)


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
