"""A folder that holds a published site: what is in it by our hand, written whole or not at all.

The manifest, one JSON file in the folder, names every file of ours, what it was made of (a digest),
and what other pages quote from it. A file is named there before it is written, so that no kill
leaves an unlisted file; only named files are ever overwritten or deleted. A named file without a
digest is made again. A name that ends with `/` is a folder in which everything is ours.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import Any

from diskbench.errors import InvalidValue

MANIFEST = "diskbench-site.json"
FORMAT = 1
_SAVE_EVERY_S = 10.0
"""A killed build makes no more than this again."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: `digest` of what it was made of (None: not written yet), its size, and what other
    pages quote from it (JSON)."""

    digest: str | None = None
    bytes: int = 0
    quoted: Any = None


@dataclass
class SiteFolder:
    """The folder with its files by name, and its folders of which everything is ours. Made by
    `open_site`; no other process writes there meanwhile."""

    path: Path
    files: dict[str, Entry]
    folders: set[str]
    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    _saved_at: float = 0.0

    def claim(self, names: Iterable[str]) -> None:
        """Name files and folders in the manifest before anything is written there.

        Raises InvalidValue if a file of another program has such a name.
        """

        def is_claimed(name: str) -> bool:
            ends = (at + 1 for at, letter in enumerate(name) if letter == "/")
            return name in self.files or any(name[:end] in self.folders for end in ends)

        new = [name for name in dict.fromkeys(names) if not is_claimed(name)]
        foreign = [name for name in new if os.path.lexists(self.path / name)]
        if foreign:
            raise InvalidValue(
                f"{self.path / min(foreign)} exists and was not written by diskbench",
                advice="move it away, or publish into another folder",
            )
        if new:
            self.folders.update(name for name in new if name.endswith("/"))
            self.files |= {name: Entry() for name in new if not name.endswith("/")}
            self.save()

    def fresh(self, name: str, digest: str) -> Entry | None:
        """The entry of a file that is there and was made of the same; else None."""
        entry = self.files.get(name)
        if entry is None or entry.digest != digest:
            return None
        try:
            return entry if (self.path / name).stat().st_size == entry.bytes else None
        except OSError:
            return None

    def has(self, name: str) -> bool:
        """Whether a file of ours is there."""
        return name in self.files and (self.path / name).is_file()

    def write(self, name: str, data: bytes, digest: str, quoted: Any = None) -> None:  # noqa: ANN401 - any JSON
        """Put a claimed file in its place, whole or not at all; equal bytes are not written
        again."""
        with _as_invalid(self.path / name, "write"):
            if _replaced(self.path / name, data):
                self.written.append(name)
        self.files[name] = Entry(digest, len(data), quoted)
        if monotonic() - self._saved_at > _SAVE_EVERY_S:
            self.save()

    def forget_digests(self) -> None:
        """Know nothing any more of what the files were made of."""
        self.files = dict.fromkeys(self.files, Entry())

    def keep_only(self, names: Iterable[str]) -> None:
        """Delete all files of ours but these, what is in folders of ours but these, and folders
        that this leaves empty."""
        wanted = set(names)
        folders = self.folders - wanted
        inside = {name for folder in folders for name in self._inside(folder)}
        for name in sorted((self.files.keys() | inside) - wanted):
            path = self.path / name
            with _as_invalid(path, "delete"):
                for old in (path, _part(path)):
                    old.unlink(missing_ok=True)
                folder = path.parent
                while folder != self.path and folder.is_dir() and not any(folder.iterdir()):
                    folder.rmdir()
                    folder = folder.parent
            self.removed.append(name)
        if self.removed or folders:
            self.files = {name: entry for name, entry in self.files.items() if name in wanted}
            self.folders -= folders
            self.save()

    def _inside(self, folder: str) -> Iterator[str]:
        for at, _, names in os.walk(self.path / folder):
            for name in names:
                yield (Path(at) / name).relative_to(self.path).as_posix()

    def save(self) -> None:
        """Make what is noted in the manifest last, whatever happens to this process."""
        files = {
            name: [entry.digest, entry.bytes, entry.quoted]
            for name, entry in sorted(self.files.items())
        }
        document = {"format": FORMAT, "folders": sorted(self.folders), "files": files}
        with _as_invalid(self.path / MANIFEST, "write"):
            _replaced(self.path / MANIFEST, json.dumps(document).encode())
        self._saved_at = monotonic()


@contextmanager
def open_site(path: Path) -> Iterator[SiteFolder]:
    """The site in a folder, which is made where it is missing; saved at the end, however it ends.

    Raises InvalidValue for a folder with something in it that is no site, one that cannot be
    written to, a manifest that cannot be read, is of another format, or names files elsewhere, and
    while another process publishes there.
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
        folder = _read_manifest(path)
        try:
            yield folder
        finally:
            folder.save()
    finally:
        os.close(lock)


def _read_manifest(path: Path) -> SiteFolder:
    manifest = path / MANIFEST
    try:
        document = json.loads(manifest.read_bytes())
        version = document["format"]
        if version == FORMAT:
            folders = set(map(str, document["folders"]))
            files = {
                name: Entry(digest, int(size), quoted)
                for name, (digest, size, quoted) in document["files"].items()
            }
    except FileNotFoundError:
        ours = _part(manifest)
        stray = next((child for child in sorted(path.iterdir()) if child != ours), None)
        if stray is not None:
            raise InvalidValue(
                f"{path} is not a diskbench site and not empty: it holds {stray.name}",
                advice="name an empty folder, or one that does not exist",
            ) from None
        return SiteFolder(path, {}, set())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidValue(
            f"{manifest} cannot be read: {error}", advice="publish into another folder"
        ) from error
    if version != FORMAT:
        raise InvalidValue(
            f"{manifest} is of format {version}, this diskbench knows {FORMAT}",
            advice="use the diskbench that made it, or publish into another folder",
        )
    for name in (*folders, *files):
        parts = PurePosixPath(name).parts
        if name.startswith("/") or ".." in parts or not parts:
            raise InvalidValue(
                f"{manifest} names {name!r}, which is not inside the site",
                advice="another program changed it: publish into another folder",
            )
    return SiteFolder(path, files, folders)


def _replaced(path: Path, data: bytes) -> bool:
    """Put `data` in the place of `path`; False where it is there already."""
    with contextlib.suppress(OSError):
        if path.stat().st_size == len(data) and path.read_bytes() == data:
            return False
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _part(path)
    part.write_bytes(data)
    part.replace(path)
    return True


def _part(path: Path) -> Path:
    return path.with_name(path.name + ".part")


@contextmanager
def _as_invalid(path: Path, doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidValue(f"cannot {doing} {path}: {error.strerror or error}") from error
