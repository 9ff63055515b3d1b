"""Write-once files in an object store: a directory, a bucket (s3, gs, az), or memory.

What a failed call of an evidence store means, and what to do next.
"""

import errno
import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import LocalStore, ObjectStore, from_url
from platformdirs import user_data_path

from diskbench.errors import KeyTaken, LimitExceeded, StoreUnavailable
from diskbench.files import (
    FILE_MODE,
    data_directory,
    flush_files,
    flush_filesystem,
    is_private,
    private_directory,
)
from diskbench.limits import RECORD_BYTES
from diskbench.ports import ByteSink
from diskbench.store.urls import evidence_directory, evidence_url, printable
from diskbench.units import format_bytes

_PROBE = "diskbench-probe"
_WHOLE_BYTES = 8 * 2**20
"""Files up to this size are uploaded in one call, which fails where the key exists; our choice."""
_PIECE_BYTES = 2**20
_TRIED_BYTES = 4096
CHOOSE = "choose another place with --evidence-url or DISKBENCH_EVIDENCE_URL"


class ObjectEvidence:
    """An EvidenceStore (ports.py) on any store that obstore supports."""

    def __init__(self, url: str, store: ObjectStore) -> None:
        self.url = printable(url)
        self._store = store
        self._directory = evidence_directory(url)
        self._is_private = self._directory is not None and is_private(self._directory)

    def put(self, key: str, data: bytes | Path) -> None:
        """Write `data` (bytes, or a file of any size) under a new key. Writing the same bytes again
        is accepted; other bytes raise KeyTaken.

        Raises StoreUnavailable when the store is full or cannot be written to.
        """
        if isinstance(data, Path):
            if data.stat().st_size > _WHOLE_BYTES:
                self._put_large(key, data)
                return
            data = data.read_bytes()
        try:
            with self._as_unavailable(f"cannot write {key}", AlreadyExistsError, needs=len(data)):
                self._make_folder(key)
                self._store.put(key, data, mode="create")
                self._keep_private(key)
        except AlreadyExistsError:
            if self._digest(key) != hashlib.sha256(data).digest():
                raise self._taken(key) from None

    def _put_large(self, key: str, path: Path) -> None:
        """Upload a file in parts. Stores can only overwrite with parts, so the key is checked
        first. Two processes never write the same step, since only one owns its trial."""
        if (stored := self._digest(key)) is None:
            with self._as_unavailable(f"cannot write {key}", needs=path.stat().st_size):
                self._make_folder(key)
                self._store.put(key, path)
                self._keep_private(key)
            return
        with path.open("rb") as file:
            if stored != hashlib.file_digest(file, "sha256").digest():
                raise self._taken(key)

    def _make_folder(self, key: str) -> None:
        """Make the folder of a key, readable by its owner alone where the store's directory is
        private: obstore makes folders as the umask says."""
        if self._is_private and self._directory is not None:
            folder = f"{self._directory}/{key.rpartition('/')[0]}"
            if not os.path.isdir(folder):  # noqa: PTH112 - once for each file
                private_directory(Path(folder))

    def _keep_private(self, key: str) -> None:
        """Make a file readable by its owner alone where the store's directory is private."""
        if self._is_private and self._directory is not None:
            os.chmod(f"{self._directory}/{key}", FILE_MODE)  # noqa: PTH101 - once for each file

    def get(self, key: str, *, limit: int = RECORD_BYTES) -> bytes:
        """The bytes of `key`; raises KeyError when there are none, LimitExceeded when there are
        more than `limit`."""
        try:
            with self._as_unavailable(f"cannot read {key}", FileNotFoundError):
                result = self._store.get(key)
                if (size := result.meta["size"]) <= limit:
                    return bytes(result.bytes())
        except FileNotFoundError:
            raise KeyError(key) from None
        raise LimitExceeded(
            f"evidence {self.url}: {key} has {format_bytes(size)}; at most {format_bytes(limit)} "
            "are read into memory",
            advice="diskbench writes no such file: restore it from a copy of the store",
        )

    def copy(self, key: str, sink: ByteSink) -> None:
        """Write the bytes of `key` to `sink` in chunks; raises KeyError when there are none."""
        for piece in self._pieces(key):
            sink.write(piece)

    def _pieces(self, key: str) -> Iterator[bytes]:
        try:
            with self._as_unavailable(f"cannot read {key}", FileNotFoundError):
                pieces = iter(self._store.get(key).stream(min_chunk_size=_PIECE_BYTES))
            while True:
                with self._as_unavailable(f"cannot read {key}", FileNotFoundError):
                    piece = next(pieces, None)
                if piece is None:
                    return
                yield bytes(piece)
        except FileNotFoundError:
            raise KeyError(key) from None

    def replace(self, key: str, data: bytes) -> None:
        """Write `data` to `key`, overwriting it: for records of a changing state, and for records
        that can no longer be read."""
        with self._as_unavailable(f"cannot write {key}", needs=len(data)):
            self._make_folder(key)
            self._store.put(key, data, mode="overwrite")
            self._keep_private(key)

    def _digest(self, key: str) -> bytes | None:
        """The SHA-256 of the bytes of `key`; None where the key does not exist."""
        digest = hashlib.sha256()
        try:
            for piece in self._pieces(key):
                digest.update(piece)
        except KeyError:
            return None
        return digest.digest()

    def _taken(self, key: str) -> KeyTaken:
        return KeyTaken(
            f"evidence {self.url}: {key} exists with other content",
            advice="evidence is never overwritten; use another store for another database",
        )

    def list(self, prefix: str) -> Sequence[str]:
        """All keys that start with `prefix/`, sorted."""
        with self._as_unavailable(f"cannot list {prefix}/"):
            return sorted(str(item["path"]) for page in self._store.list(prefix) for item in page)

    def sizes(self, prefix: str) -> Mapping[str, int]:
        """The bytes that each key starting with `prefix/` takes in the store, sorted by key."""
        with self._as_unavailable(f"cannot list {prefix}/"):
            objects = [item for page in self._store.list(prefix) for item in page]
        return dict(sorted((str(item["path"]), int(item["size"])) for item in objects))

    def folders(self, prefix: str) -> Sequence[str]:
        """The names directly under `prefix/` that have keys below them, sorted.

        In a directory this includes names that cannot be keys (control characters, not UTF-8), on
        which obstore would fail, so that the caller can report them.
        """
        if self._directory is None:
            with self._as_unavailable(f"cannot list {prefix}/"):
                prefixes = self._store.list_with_delimiter(prefix)["common_prefixes"]
            return sorted(name.rstrip("/").rpartition("/")[2] for name in prefixes)
        directory = self._directory / prefix
        try:
            return sorted(entry.name for entry in directory.iterdir() if entry.is_dir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise store_unavailable(self.url, f"cannot list {prefix}/", error, directory) from error

    def delete(self, prefix: str) -> None:
        """Delete all keys that start with `prefix/`; there may be none."""
        self.remove(self.list(prefix))

    def remove(self, keys: Iterable[str]) -> None:
        """Delete these keys; any of them may be missing."""
        for key in keys:
            try:
                with self._as_unavailable(f"cannot delete {key}", FileNotFoundError):
                    self._store.delete(key)
            except FileNotFoundError:
                continue  # another process deleted it first

    def check_writable(self) -> None:
        """Write, read and delete a probe; raises StoreUnavailable with the URL and the cause.

        Nothing was started yet, so its advice does not mention resuming.
        """
        folder, data, read_back = f"{_PROBE}-{secrets.token_hex(8)}", secrets.token_bytes(16), b""
        try:
            self.put(f"{folder}/probe", data)
            with suppress(KeyError):
                read_back = self.get(f"{folder}/probe")
            if read_back != data:
                raise StoreUnavailable(
                    f"evidence {self.url}: what was written cannot be read back", advice=CHOOSE
                )
            self.delete(folder)
        except StoreUnavailable as error:
            error.advice = error.advice_before_work
            raise

    def settle(self, prefix: str = "") -> None:
        """Return when what was put so far survives a power failure; a bucket keeps what it has
        accepted. Raises StoreUnavailable.

        With a `prefix` the keys that start with `prefix/` and their directories are flushed, so
        that a run does not wait for what others write in the same filesystem; without, the whole
        filesystem once, which for thousands of files takes less.
        """
        if self._directory is None:
            return
        with self._as_unavailable("cannot flush it to its disk"):
            if prefix:  # the files, and the directories above them, which hold their names
                names = self.list(prefix)
                above = {".", *(str(at) for name in names for at in PurePosixPath(name).parents)}
                flush_files([f"{self._directory}/{name}" for name in (*names, *sorted(above))])
            else:
                flush_filesystem(self._directory)

    @contextmanager
    def _as_unavailable(
        self, doing: str, *through: type[Exception], needs: int = 0
    ) -> Iterator[None]:
        """Turn errors into StoreUnavailable, except those of the types `through`.

        A missing bucket also raises FileNotFoundError, so callers list it only where they expect a
        missing key. `needs` is the number of bytes to be written.
        """
        try:
            yield
        except through:
            raise
        except (BaseError, OSError, ValueError) as error:
            raise store_unavailable(self.url, doing, error, self._directory, needs) from error


def open_evidence(url: str) -> ObjectEvidence:
    """The evidence store at `url`; makes a missing directory, never a bucket.

    Credentials come from the cloud SDK's usual environment, never from the URL. Reads and writes
    nothing (`check_writable` does). Raises InvalidValue or StoreUnavailable.
    """
    url = evidence_url(url)
    directory = evidence_directory(url)
    try:
        if directory is not None:
            # Private where it is new or in the user's data directory; any other existing one,
            # perhaps shared with other workers, keeps its mode.
            is_ours = user_data_path("diskbench") in directory.parents
            if is_ours:
                data_directory()
            if is_ours or not directory.is_dir():
                private_directory(directory)
            return ObjectEvidence(url, LocalStore.from_url(url, automatic_cleanup=True))
        return ObjectEvidence(url, from_url(url))
    except (BaseError, OSError, ValueError) as error:
        unavailable = store_unavailable(printable(url), "cannot open it", error, directory)
        unavailable.advice = unavailable.advice_before_work
        raise unavailable from error


def store_unavailable(
    url: str, doing: str, error: Exception, directory: Path | None, needs: int = 0
) -> StoreUnavailable:
    """The error for a call that failed while `doing` something. `directory` is that of a store on
    this machine, `needs` the number of bytes that were to be written."""
    lines = str(error).strip().splitlines()
    cause = lines[0] if lines else type(error).__name__
    before, after = _advices(error, directory, needs)
    return StoreUnavailable(
        f"evidence {url}: {doing}: {cause}", advice=after, advice_before_work=before
    )


def _advices(error: Exception, directory: Path | None, needs: int) -> tuple[str, str]:
    """What to do next: (before anything was started, after something was measured)."""
    if directory is None and isinstance(error, FileNotFoundError):
        make = "make the bucket first, or correct the URL; diskbench never makes one"
        return make, make
    number = error.errno if isinstance(error, OSError) else None
    if number is None and directory is not None:
        number = _fault_of(directory, needs)
    if number in {errno.ENOSPC, errno.EDQUOT}:
        go_on = (
            "free some space there, then 'diskbench resume': the files are still on the measured "
            "host, and finished steps are not run again"
        )
        return f"free some space there, or {CHOOSE}", go_on
    if number in {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR}:
        return CHOOSE, CHOOSE
    origin = "'diskbench config' shows where the URL comes from"
    return f"{origin}; or {CHOOSE}", f"{origin}; then continue with 'diskbench resume'"


def _fault_of(directory: Path, needs: int) -> int | None:
    """The errno of writing `needs` bytes there, which obstore reports only as text; None where the
    write would succeed. A failed write may have freed its space again, so the free space is checked
    too."""
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(bytes(_TRIED_BYTES))
            file.flush()
        room = shutil.disk_usage(directory).free
    except OSError as error:
        return error.errno
    return errno.ENOSPC if room < needs else None
