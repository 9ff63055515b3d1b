"""Fetching what a step left: one tar, unpacked with care, every checksum verified."""

from __future__ import annotations

import errno
import hashlib
import shlex
import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from diskbench.errors import ConnectionLost, EvidenceDamaged, StoreUnavailable

if TYPE_CHECKING:
    from diskbench.hosts.unit import Unit
    from diskbench.ports import Host

ATTEMPTS = 8
"""Attempts to fetch a step's files over a connection that breaks or damages them; our choice."""
SILENCE_S = 60.0
"""Longest silence borne while files are fetched; gzip of a large log may take its time."""
_SUMS = "SHA256SUMS"
_BLOCK = 2**20

_PACK = r"""\
cd {directory} || exit 9
export LC_ALL=C
# A unit that died has written no checksums: what it left is evidence all the same.
[ -e SHA256SUMS ] ||
    sha256sum $(ls | grep -v -x -e alive -e pid -e exit -e stop -e exit.new -e 'ready\..*' \
        -e 'pid\..*' -e 'new\..*' -e 'pipe\..*') >SHA256SUMS
if command -v gzip >/dev/null 2>&1; then pack='gzip -1'; else pack=cat; fi
tar -cf - $(sed 's/^[0-9a-f]* [ *]//' SHA256SUMS) SHA256SUMS | $pack
"""


def collect(host: Host, unit: Unit, directory: Path) -> tuple[Path, ...]:
    """Fetch the files of a finished unit into `directory`; returns their paths, sorted.

    Raises EvidenceDamaged when files do not match the checksums taken on the host time after time,
    StoreUnavailable when there is no room here, ConnectionLost when the host stays away.
    """
    import tenacity

    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type((ConnectionLost, EvidenceDamaged)),
        wait=tenacity.wait_random_exponential(multiplier=0.2, max=10),
        stop=tenacity.stop_after_attempt(ATTEMPTS),
        reraise=True,
    )
    try:
        return attempts(_collect_once, host, unit, directory)
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES}:
            raise StoreUnavailable(
                f"cannot keep the files of step {unit.name} in {directory}: {error.strerror}",
                advice=f"they are still on {host.name} in {unit.directory}; make room, then "
                "diskbench resume",
            ) from error
        raise


def _collect_once(host: Host, unit: Unit, directory: Path) -> tuple[Path, ...]:
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=directory) as archive:
        status = host.fetch(
            _PACK.format(directory=shlex.quote(unit.directory)),
            archive,
            timeout_s=SILENCE_S,
            root=unit.root,
        )
        if status:
            raise EvidenceDamaged(
                f"the files of step {unit.name} cannot be packed on {host.name} (exit {status})",
                advice=f"look at {unit.directory} there",
            )
        archive.seek(0)
        try:
            with tarfile.open(fileobj=archive, mode="r:*") as tar:
                names = [_extract(tar, member, directory) for member in tar]
        except (tarfile.TarError, EOFError, ValueError) as error:
            raise EvidenceDamaged(
                f"the archive of step {unit.name} from {host.name} is damaged: {error}"
            ) from error
    _verify(directory, names, unit, host)
    return tuple(sorted(directory / name for name in names))


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, directory: Path) -> str:
    """Write one plain file; anything a tar could do harm with is refused."""
    name = PurePosixPath(member.name)
    if len(name.parts) != 1 or name.name in {"", ".", ".."} or not member.isreg():
        raise ValueError(f"it holds {member.name!r}, which is no plain file name")
    source = tar.extractfile(member)
    assert source is not None
    with (directory / name.name).open("wb") as file:
        shutil.copyfileobj(source, file, _BLOCK)
    return name.name


def _verify(directory: Path, names: list[str], unit: Unit, host: Host) -> None:
    """Raise EvidenceDamaged unless every file has the checksum taken on the host."""
    if _SUMS not in names:
        raise EvidenceDamaged(f"step {unit.name} came from {host.name} without checksums")
    expected: dict[str, str] = {}
    for line in (directory / _SUMS).read_text().splitlines():
        digest, _, name = line.partition(" ")
        expected[name.lstrip(" *")] = digest
    for name, digest in expected.items():
        path = directory / name
        if not path.is_file() or _sha256(path) != digest:
            raise EvidenceDamaged(
                f"{name} of step {unit.name} does not match its checksum from {host.name}",
                advice=f"the original is {unit.directory}/{name} there",
            )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
