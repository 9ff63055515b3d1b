"""The example data: real runs on lab disks, shipped as one archive and unpacked on request.

The archive holds evidence only; the rows are rebuilt from it (store/rebuild.py).
notebooks/example/make.py measures it again.
"""

import hashlib
import io
import tarfile
import tempfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePosixPath

from platformdirs import user_cache_path

from diskbench.errors import StoreUnavailable
from diskbench.packed import unpacked
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.rebuild import rebuild

_ARCHIVE = "example.tar.zst"


@dataclass(frozen=True)
class ExampleData:
    """The URLs of the unpacked example, as `load_runs`, `load_series` and the other functions take
    them. The copy belongs to the user and may be changed."""

    database: str
    evidence: str


def example_data(directory: Path | None = None) -> ExampleData:
    """The example, unpacked once below `directory` (default: the user's cache), by its digest.

    Safe when several processes do it at once. Raises StoreUnavailable where it cannot be written.
    """
    packed = (resources.files("diskbench") / "data" / _ARCHIVE).read_bytes()
    directory = directory or user_cache_path("diskbench").resolve()
    place = directory / f"example-{hashlib.sha256(packed).hexdigest()[:12]}"
    rows, evidence = place / "runs.db", place / "evidence"
    try:
        if not rows.exists():
            place.mkdir(parents=True, exist_ok=True)
            if not evidence.exists():
                _unpack(packed, evidence)
            _make_rows(rows, evidence)
    except OSError as error:
        raise StoreUnavailable(
            f"the example data cannot be unpacked into {place}: {error.strerror}",
            advice="name another directory: diskbench.example_data('DIR')",
        ) from error
    return ExampleData(f"sqlite:///{rows}", evidence.as_uri())


def _unpack(packed: bytes, evidence: Path) -> None:
    """Unpack atomically, by renaming a directory; of several processes the first one wins."""
    with tempfile.TemporaryDirectory(dir=evidence.parent, prefix=".unpacking-") as scratch:
        made = Path(scratch) / "evidence"
        plain = b"".join(unpacked(io.BytesIO(packed)))
        with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
            for member in tar:
                _write_member(tar, member, made)
        try:
            made.rename(evidence)
        except OSError:
            if not evidence.is_dir():
                raise


def _write_member(tar: tarfile.TarFile, member: tarfile.TarInfo, below: Path) -> None:
    name = PurePosixPath(member.name)
    data = tar.extractfile(member) if member.isreg() else None  # links are followed otherwise
    if data is None or name.is_absolute() or ".." in name.parts:
        raise StoreUnavailable(f"the example data has a member {member.name!r}")
    path = below / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.read())


def _make_rows(rows: Path, evidence: Path) -> None:
    with tempfile.TemporaryDirectory(dir=rows.parent, prefix=".rows-") as scratch:
        made = Path(scratch) / rows.name
        engine = open_database(f"sqlite:///{made}")
        try:
            done = rebuild(engine, open_evidence(evidence.as_uri()))
            with engine.connect() as connection:  # only the main file is moved, so empty the WAL
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            engine.dispose()
        if done.failed:
            raise done.failed[0][1]
        made.replace(rows)
