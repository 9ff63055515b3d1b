"""A folder that holds a published site: what is in it by our hand, written whole or not at all.

The manifest (store/site_manifest.py) names every file of ours, what it was made of (a digest), and
what other pages quote from it. A file is named there before it is written, so that no kill leaves
an unlisted file; only named files are ever overwritten or deleted. A named file
without a digest is made again.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from diskbench.errors import InvalidValue
from diskbench.store.site_manifest import FORMER, MANIFEST, Entry, SiteManifest, open_manifest

__all__ = ["MANIFEST", "Entry", "SiteFolder", "open_site"]
_PART = ".part"
_SAVE_EVERY_S = 10.0
"""A killed build makes no more than this again."""


@dataclass
class SiteFolder:
    """The folder and its manifest. Made by `open_site`; no other process writes there meanwhile."""

    path: Path
    manifest: SiteManifest
    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    _saved_at: float = 0.0

    def claim(self, names: Iterable[str]) -> None:
        """Name files in the manifest before any is written.

        Raises InvalidValue if a file of another program has such a name.
        """
        new = self.manifest.new(names)
        foreign = [name for name in new if os.path.lexists(self.path / name)]
        if foreign:
            raise InvalidValue(
                f"{self.path / min(foreign)} exists and was not written by diskbench",
                advice="move it away, or publish into another folder",
            )
        if new:
            self.manifest.add(new)
            self.save()

    def fresh(self, name: str, digest: str) -> Entry | None:
        """The entry of a file that is there and was made of the same; else None."""
        entry = self.manifest.entry(name)
        return entry if entry is not None and self.is_fresh(name, entry, digest) else None

    def is_fresh(self, name: str, entry: Entry, digest: str) -> bool:
        """Whether the file of an entry is there and was made of the same."""
        if entry.digest != digest:
            return False
        try:
            return (self.path / name).stat().st_size == entry.bytes
        except OSError:
            return False

    def has(self, name: str) -> bool:
        """Whether a file of ours is there."""
        return self.manifest.entry(name) is not None and (self.path / name).is_file()

    def write(
        self, name: str, data: bytes, digest: str, summary: dict[str, Any] | None = None
    ) -> None:
        """Put a claimed file in its place, whole or not at all; equal bytes are not written
        again."""
        with _as_invalid(self.path / name, "write"):
            if _replaced(self.path / name, data):
                self.written.append(name)
        self.manifest.put(name, Entry(digest, len(data), summary))
        if monotonic() - self._saved_at > _SAVE_EVERY_S:
            self.save()

    def keep_only(self, names: Iterable[str] = ()) -> None:
        """Delete all files of ours but these and those that were named as wanted
        (`manifest.want`), and folders that this leaves empty."""
        self.manifest.want(names)
        gone = self.manifest.unwanted()
        for name in gone:
            path = self.path / name
            with _as_invalid(path, "delete"):
                for old in (path, _part(path)):
                    old.unlink(missing_ok=True)
                _remove_empty(path.parent, self.path)
            self.removed.append(name)
        if gone:
            self.manifest.forget(gone)
            self.save()

    def save(self) -> None:
        """Make what is noted in the manifest last, whatever happens to this process."""
        self.manifest.commit()
        self._saved_at = monotonic()


@contextmanager
def open_site(path: Path) -> Iterator[SiteFolder]:
    """The site in a folder, which is made where it is missing; saved at the end, however it ends.

    Raises InvalidValue for a folder with something in it that is no site, one that cannot be
    written to, a manifest that cannot be read, and while another process publishes there.
    """
    with _as_invalid(path, "write to"):
        path.mkdir(parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InvalidValue(
                f"{path}: another diskbench publishes there", advice="wait until it has ended"
            ) from None
        _refuse_foreign(path)
        with open_manifest(path) as manifest:
            folder = SiteFolder(path, manifest)
            try:
                yield folder
            finally:
                folder.save()
    finally:
        os.close(lock)


def _refuse_foreign(path: Path) -> None:
    """Refuse a folder that is not empty and holds no manifest."""
    if (path / MANIFEST).exists() or (path / FORMER).exists():
        return
    ours = {_part(path / FORMER)}
    stray = next((child for child in sorted(path.iterdir()) if child not in ours), None)
    if stray is not None:
        raise InvalidValue(
            f"{path} is not a diskbench site and not empty: it holds {stray.name}",
            advice="name an empty folder, or one that does not exist",
        )


def _replaced(path: Path, data: bytes) -> bool:
    """Put `data` in the place of `path`; False where it is there already."""
    if _same(path, data):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _part(path)
    part.write_bytes(data)
    part.replace(path)
    return True


def _same(path: Path, data: bytes) -> bool:
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False


def _part(path: Path) -> Path:
    return path.with_name(path.name + _PART)


def _remove_empty(folder: Path, top: Path) -> None:
    """Delete a folder of the site that is empty, and those above it."""
    while folder != top and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


@contextmanager
def _as_invalid(path: Path, doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidValue(f"cannot {doing} {path}: {error.strerror or error}") from error
