"""Stores that earlier versions left behind, as a user of theirs has them (tests/cases/stores)."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

import zstandard
from tests.cases.stores.make import PLACE
from tests.rigs.cli import Cli

from diskbench.plan.trial import STATE_ROOT

CASES = Path(__file__).parents[1] / "cases" / "stores"
NAMES = sorted(path.name for path in CASES.iterdir() if (path / "HOW.md").exists())


@dataclass(frozen=True)
class OldStore:
    """A store of an earlier version: a run that ended, and one that was killed in its second step.

    `work_dir` and `state_dir` are what the killed run has on the host that was measured; `marked`
    is whether the version that made them could tell its directory from another (since 21 November
    2026).
    """

    user: Cli
    database: Path
    evidence: Path
    whole: str
    killed: str
    work_dir: Path
    state_dir: Path
    marked: bool


def unpacked(name: str, place: Path) -> OldStore:
    """The store `name`, laid out under `place` as if it had been made there.

    Nothing of it lies elsewhere, also not what a host has under /var/tmp: tests of another checkout
    on this machine, which use the same store at the same moment, have theirs.
    """
    database, evidence, home = place / "store.db", place / "evidence", place / "home"
    home.mkdir()
    with sqlite3.connect(database) as connection:
        connection.executescript(_moved(sql_of(name), PLACE, place))
        runs = dict(connection.execute("SELECT state, run_id FROM diskbench_run"))
        (plan,) = connection.execute(
            "SELECT plan FROM diskbench_trial JOIN diskbench_claim USING (trial_id)"
        ).fetchone()
    target = json.loads(plan)["target"]
    work_dir, state_dir = Path(target["work_dir"]), Path(target["state_dir"])
    work_dir.mkdir(parents=True)
    state_dir.parent.mkdir()
    killed = runs["running"]
    _unpack(CASES / name / "evidence.tar.zst", place)
    kept = evidence / "runs" / killed / "plan.json"  # not closed: no digest is kept of it yet
    kept.write_text(_moved(kept.read_text(), _place_in(kept.read_text()), place))
    marked = _lay_on_host(name, state_dir, work_dir)
    user = Cli(
        home,
        {
            "DISKBENCH_DATABASE_URL": f"sqlite:///{database}",
            "DISKBENCH_EVIDENCE_URL": evidence.as_uri(),
        },
    )
    return OldStore(user, database, evidence, runs["done"], killed, work_dir, state_dir, marked)


def _lay_on_host(name: str, state_dir: Path, work_dir: Path) -> bool:
    """Put back what the killed run has on its host; whether its directory was marked."""
    with tempfile.TemporaryDirectory(dir=state_dir.parent) as beside:
        _unpack(CASES / name / "host.tar.zst", Path(beside))
        Path(beside, "state").rename(state_dir)
    mark = state_dir / "work.id"
    if not mark.exists():
        return False
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    found = work_dir.stat()
    mark.write_text(f"{boot} {found.st_dev} {found.st_ino}\n")
    return True


def _moved(text: str, made_in: str, place: Path) -> str:
    """The text of a store that was made in `made_in`, for one in `place`; its trials have their
    directories on the host there, too."""
    trials = f"{re.escape(STATE_ROOT)}(?=/diskbench-[0-9a-z]{{26}})"

    def there(found: re.Match[str]) -> str:
        return str(place) if found[0] == made_in else str(place / "host")

    return re.sub(f"{re.escape(made_in)}|{trials}", there, text)


def sql_of(name: str) -> str:
    """The database of the store `name` as SQL of SQLite."""
    return _large(CASES / name / "database.sql.zst").decode()


def _place_in(plan: str) -> str:
    """The directory that a store was made in, by the plan of its run."""
    return str(Path(json.loads(plan)["cell"]["target"]["path"]).parent)


def _unpack(archive: Path, place: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(_large(archive))) as tar:
        # Python before 3.11.4 has no filters, and warns of nothing.
        if hasattr(tarfile, "data_filter"):
            tar.extractall(place, filter="data")
        else:
            tar.extractall(place)  # noqa: S202 - our own archives


def _large(path: Path) -> bytes:
    return zstandard.ZstdDecompressor().decompress(path.read_bytes())
