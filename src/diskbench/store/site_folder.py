"""A folder that holds a published site: what is in it by our hand, written whole or not at all.

`diskbench-site.json` names every file of ours, what it was made of (a digest), and what other pages
quote from it. A file is named there before it is written, so that no kill leaves one that nobody
knows; only named files are ever overwritten or deleted. Of a named file without a digest nothing is
known: it is made again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import TYPE_CHECKING, Any

from diskbench.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Iterator

MANIFEST = "diskbench-site.json"
FORMAT = 1
_PART = ".part"
_SAVE_EVERY_S = 10.0
"""A killed build makes no more than this again."""


@dataclass
class Entry:
    """One file: `digest` of what it was made of (None: not written yet), its size, and `told`:
    what other pages quote from it (JSON)."""

    digest: str | None = None
    bytes: int = 0
    told: dict[str, Any] | None = None


@dataclass
class SiteFolder:
    """The folder and its manifest. Made by `open_site`; nobody else writes there meanwhile."""

    path: Path
    entries: dict[str, Entry] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    _saved_at: float = 0.0

    def claim(self, names: Iterable[str]) -> None:
        """Name files in the manifest before any is written.

        Raises InvalidValue where somebody else's file has such a name.
        """
        new = [name for name in names if name not in self.entries]
        foreign = [name for name in new if os.path.lexists(self.path / name)]
        if foreign:
            raise InvalidValue(
                f"{self.path / min(foreign)} exists and was not written by diskbench",
                advice="move it away, or publish into another folder",
            )
        if new:
            self.entries |= {name: Entry() for name in new}
            self.save()

    def fresh(self, name: str, digest: str) -> Entry | None:
        """The entry of a file that is there and was made of the same; else None."""
        entry = self.entries.get(name)
        if entry is None or entry.digest != digest:
            return None
        try:
            size = (self.path / name).stat().st_size
        except OSError:
            return None
        return entry if size == entry.bytes else None

    def has(self, name: str) -> bool:
        """Whether a file of ours is there."""
        return name in self.entries and (self.path / name).is_file()

    def write(
        self, name: str, data: bytes, digest: str, told: dict[str, Any] | None = None
    ) -> None:
        """Put a claimed file in its place, whole or not at all; the same bytes are left alone."""
        entry = self.entries[name]
        with _as_invalid(self.path / name, "write"):
            if _replaced(self.path / name, data):
                self.written.append(name)
        entry.digest, entry.bytes, entry.told = digest, len(data), told
        if monotonic() - self._saved_at > _SAVE_EVERY_S:
            self.save()

    def keep_only(self, names: Iterable[str]) -> None:
        """Delete all files of ours but these, and folders that this leaves empty."""
        gone = sorted(set(self.entries) - set(names))
        for name in gone:
            path = self.path / name
            with _as_invalid(path, "delete"):
                for old in (path, _part(path)):
                    old.unlink(missing_ok=True)
                _remove_empty(path.parent, self.path)
            del self.entries[name]
            self.removed.append(name)
        if gone:
            self.save()

    def save(self) -> None:
        """Write the manifest; unchanged, it is left alone."""
        # A line for each file, each written by the encoder in C: `indent` would take the one in
        # Python, five times as slow.
        lines = (
            f"{json.dumps(name)}: {json.dumps(vars(entry))}"
            for name, entry in sorted(self.entries.items())
        )
        text = f'{{"format": {FORMAT}, "files": {{\n' + ",\n".join(lines) + "\n}}\n"
        path = self.path / MANIFEST
        with _as_invalid(path, "write"):
            _replaced(path, text.encode())
        self._saved_at = monotonic()


@contextmanager
def open_site(path: Path) -> Iterator[SiteFolder]:
    """The site in a folder, which is made where it is missing; saved at the end, however it ends.

    Raises InvalidValue for a folder with something in it that is no site, one that cannot be
    written to, a manifest that cannot be read, and while somebody else publishes there.
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
        folder = SiteFolder(path, _entries(path))
        try:
            yield folder
        finally:
            folder.save()
    finally:
        os.close(lock)


def _entries(path: Path) -> dict[str, Entry]:
    manifest = path / MANIFEST
    if not manifest.exists():
        stray = next((child for child in sorted(path.iterdir()) if child != _part(manifest)), None)
        if stray is not None:
            raise InvalidValue(
                f"{path} is not a site of diskbench's, and holds {stray.name}",
                advice="name an empty folder, or one that does not exist",
            )
        return {}
    try:
        document = json.loads(manifest.read_bytes())
        version = document["format"]
        entries = {str(name): Entry(**values) for name, values in document["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidValue(
            f"{manifest} cannot be read: {error}", advice="publish into another folder"
        ) from error
    if version != FORMAT:
        raise InvalidValue(
            f"{manifest} is of format {version}, this diskbench knows {FORMAT}",
            advice="use the diskbench that made it, or publish into another folder",
        )
    for name in entries:
        parts = PurePosixPath(name).parts
        if name.startswith("/") or ".." in parts or not parts:
            raise InvalidValue(
                f"{manifest} names {name!r}, which is not inside the site",
                advice="another program changed it: publish into another folder",
            )
    return entries


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
