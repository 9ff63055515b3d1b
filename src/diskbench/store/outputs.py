"""fio's reports, parsed from the bytes of their files once per process.

A run reads the same fio.json for its rows, its audit, its series and its verdict. What was parsed
is kept by the digest of the bytes, so no file can get the content of another.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from hashlib import sha256
from threading import Lock

from diskbench.fio.output import parse_output
from diskbench.fio.reported import FioOutput

MOST_BYTES = 2 * 2**20
"""Of files of which the outcome is kept: a run of a dozen steps has less. Our choice."""
_KEPT: OrderedDict[bytes, tuple[int, FioOutput]] = OrderedDict()
_LOCK = Lock()


def read_output(data: bytes, *, where: str) -> FioOutput:
    """As `fio.output.parse_output`: the last complete document in `data`, which came from the file
    `where`. Raises FioOutputUnreadable, each time anew."""
    digest = sha256(data).digest()
    with _LOCK:
        known = _KEPT.get(digest)
        if known is not None:
            _KEPT.move_to_end(digest)
    if known is not None:
        return replace(known[1], where=where)
    output = parse_output(data, where=where)
    with _LOCK:
        _KEPT[digest] = (len(data), output)
        while sum(size for size, _ in _KEPT.values()) > MOST_BYTES:
            _KEPT.popitem(last=False)
    return output
