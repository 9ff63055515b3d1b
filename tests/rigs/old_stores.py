"""Stores that earlier versions left behind, as a user of theirs has them (tests/cases/stores)."""

from __future__ import annotations

import io
import json
import sqlite3
import tarfile
from dataclasses import dataclass
from pathlib import Path

import zstandard
from tests.cases.stores.make import PLACE
from tests.rigs.cli import Cli

CASES = Path(__file__).parents[1] / "cases" / "stores"
NAMES = sorted(path.name for path in CASES.iterdir() if (path / "HOW.md").exists())


@dataclass(frozen=True)
class OldStore:
    """A store of an earlier version: a run that ended, and one that was killed in its second step.

    `work_dir` is where the killed run's files are, on the host that was measured.
    """

    user: Cli
    database: Path
    evidence: Path
    whole: str
    killed: str
    work_dir: Path


def unpacked(name: str, place: Path) -> OldStore:
    """The store `name`, laid out under `place` as if it had been made there."""
    database, evidence, home = place / "store.db", place / "evidence", place / "home"
    home.mkdir()
    with sqlite3.connect(database) as connection:
        connection.executescript(sql_of(name).replace(PLACE, str(place)))
        runs = dict(connection.execute("SELECT state, run_id FROM diskbench_run"))
        (plan,) = connection.execute(
            "SELECT plan FROM diskbench_trial JOIN diskbench_claim USING (trial_id)"
        ).fetchone()
    work_dir = Path(json.loads(plan)["target"]["work_dir"])
    work_dir.mkdir(parents=True)
    killed = runs["running"]
    _unpack(CASES / name / "evidence.tar.zst", place)
    kept = evidence / "runs" / killed / "plan.json"  # not closed: no digest is kept of it yet
    kept.write_text(kept.read_text().replace(_place_in(kept.read_text()), str(place)))
    user = Cli(
        home,
        {
            "DISKBENCH_DATABASE_URL": f"sqlite:///{database}",
            "DISKBENCH_EVIDENCE_URL": evidence.as_uri(),
        },
    )
    return OldStore(user, database, evidence, runs["done"], killed, work_dir)


def sql_of(name: str) -> str:
    """The database of the store `name` as SQL of SQLite."""
    return _large(CASES / name / "database.sql.zst").decode()


def _place_in(plan: str) -> str:
    """The directory that a store was made in, by the plan of its run."""
    return str(Path(json.loads(plan)["cell"]["target"]["path"]).parent)


def _unpack(archive: Path, place: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(_large(archive))) as tar:
        tar.extractall(place, filter="data")


def _large(path: Path) -> bytes:
    return zstandard.ZstdDecompressor().decompress(path.read_bytes())
