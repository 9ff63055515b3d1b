"""Make a case of tests/cases/stores from an earlier commit: its database, its evidence, and how it
was made. Run by hand, once a version: `python -m tests.cases.stores.make NAME COMMIT`.

The commit's own code, in a worktree beside the checkout, measures one run to its end and begins a
second one, which is killed in its second step; fio goes on to the end of that step. Only this file
runs today's code.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import zstandard

HERE = Path(__file__).parent
PLACE = "/nowhere/diskbench-case"
"""Stands for the directory that a store was made in; a test puts its own there."""
WHOLE = """[global]
size=1m
direct=0
ioengine=psync
filename=data
[write]
rw=write
bs=64k
"""
KILLED = (
    WHOLE
    + """[read]
stonewall
rw=randread
bs=4k
time_based
runtime=3
[last]
stonewall
rw=randread
bs=4k
number_ios=20
"""
)


def main() -> None:
    """Make one case; what it holds is said on stderr."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("name", help="the case's name: the schema, and what it is known for")
    asked.add_argument("commit", help="the commit whose code makes it")
    args = asked.parse_args()
    with tempfile.TemporaryDirectory(prefix="diskbench-case-") as place:
        source = Path(place, "source")
        _git("worktree", "add", "--detach", str(source), args.commit)
        try:
            _make(HERE / args.name, Path(place), source)
        finally:
            _git("worktree", "remove", "--force", str(source))


def _make(case: Path, place: Path, source: Path) -> None:
    home, target = place / "home", place / "target"
    home.mkdir()
    target.mkdir()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("DISKBENCH_", "XDG_"))}
    env |= {
        "HOME": str(home),
        "PYTHONPATH": str(source / "src"),
        "DISKBENCH_DATABASE_URL": f"sqlite:///{place}/store.db",
        "DISKBENCH_EVIDENCE_URL": f"file://{place}/evidence",
    }
    (place / "evidence").mkdir()
    _run(place, env, "whole", WHOLE, kill=False)
    _run(place, env, "killed", KILLED, kill=True)
    case.mkdir(parents=True, exist_ok=True)
    text = _dump(place / "store.db")
    (case / "database.sql.zst").write_bytes(_small(text.replace(str(place), PLACE).encode()))
    (case / "evidence.tar.zst").write_bytes(_small(_tar(place / "evidence", "evidence")))
    _wait_for(_unit(place) / "exit")
    state = _state_of_killed(place / "store.db")
    (case / "host.tar.zst").write_bytes(_small(_tar(state, "state")))
    shutil.rmtree(state)
    commit = _git("log", "-1", "--format=%h of %ad: %s", "--date=short", cwd=source)
    (case / "HOW.md").write_text(
        f"Made by `python -m tests.cases.stores.make {case.name} {commit.split()[0]}`\n\n"
        f"{commit}\n\nSchema: {_schema(place / 'store.db')}\n"
    )
    size = sum(one.stat().st_size for one in case.iterdir())
    print(f"{case.name}: {size:,} bytes, schema {_schema(place / 'store.db')}", file=sys.stderr)


def _run(place: Path, env: dict[str, str], name: str, job: str, *, kill: bool) -> None:
    profile = place / f"{name}.fio"
    profile.write_text(job)
    argv = [sys.executable, "-m", "diskbench", "run"]
    argv += ["--path", str(place / "target"), "--profile", str(profile)]
    process = subprocess.Popen(
        argv, env=env, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if kill and "step 2 of 3" in line:
            # fio begins when the command that follows it lets it, and goes on without that command.
            _wait_for(_unit(place) / "fio.pid")
            process.send_signal(signal.SIGKILL)
            process.wait()
            return
    if process.wait() != 0 or kill:
        raise SystemExit(f"{name}: exit {process.returncode}")


def _dump(database: Path) -> str:
    with sqlite3.connect(database) as connection:
        return "\n".join(connection.iterdump())


def _schema(database: Path) -> str:
    with sqlite3.connect(database) as connection:
        (version,) = connection.execute("SELECT version_num FROM diskbench_alembic_version")
    return str(version[0])


def _state_of_killed(database: Path) -> Path:
    """Where the killed run's scripts and figures are on the host: its directory under /var/tmp."""
    with sqlite3.connect(database) as connection:
        (plan,) = connection.execute(
            "SELECT plan FROM diskbench_trial JOIN diskbench_claim USING (trial_id)"
        ).fetchone()
    return Path(json.loads(plan)["target"]["state_dir"])


def _unit(place: Path) -> Path:
    """The directory of the killed run's second step on the host."""
    return _state_of_killed(place / "store.db") / "run-0" / "step-001-read"


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 240
    while not path.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"{path} did not appear in 20 s")
        time.sleep(0.1)


def _tar(folder: Path, name: str) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                tar.add(path, f"{name}/{path.relative_to(folder)}", filter=_plain)
    return held.getvalue()


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _small(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=19).compress(data)


def _git(*args: str, cwd: Path = HERE) -> str:
    done = subprocess.run(["git", *args], cwd=cwd, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


if __name__ == "__main__":
    main()
