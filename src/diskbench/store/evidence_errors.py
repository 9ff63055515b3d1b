"""What a failed call of an evidence store means, and what to do next."""

from __future__ import annotations

import errno
import shutil
import tempfile
from pathlib import Path

from diskbench.errors import StoreUnavailable

_TRIED_BYTES = 4096
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_NOT_HERE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR})
CHOOSE = "choose another place with --evidence-url or DISKBENCH_EVIDENCE_URL"


def store_unavailable(
    url: str, doing: str, error: Exception, directory: Path | None, needs: int = 0
) -> StoreUnavailable:
    """The error for a call that failed while `doing` something. `directory` is that of a store on
    this machine, `needs` the number of bytes that were to be written."""
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
    if number in _FULL:
        go_on = (
            "free some space there, then 'diskbench resume': the files are still on the measured "
            "host, and finished steps are not run again"
        )
        return f"free some space there, or {CHOOSE}", go_on
    if number in _NOT_HERE:
        return CHOOSE, CHOOSE
    origin = "'diskbench config' shows where the URL comes from"
    return f"{origin}; or {CHOOSE}", f"{origin}; then continue with 'diskbench resume'"


def _fault_of(directory: Path, needs: int) -> int | None:
    """The errno of writing `needs` bytes there, which obstore reports only as text; None where the
    write would succeed. A failed write may have freed its space again, so the free space is checked
    too.
    """
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(bytes(_TRIED_BYTES))
            file.flush()
        room = shutil.disk_usage(directory).free
    except OSError as error:
        return error.errno
    return errno.ENOSPC if room < needs else None
