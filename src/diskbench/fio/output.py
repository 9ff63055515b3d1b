"""fio's own result, read: `--output-format=json` and `json+` of versions 2.2 to 3.42.

fio writes other text into the same stream (notices, errors, output of exec_prerun; axboe/fio #731)
and, with --status-interval, a cumulative document each second. So the stream is not read as one
document: the last complete document is used, and `notes` says what was unusual.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from diskbench.errors import FioOutputUnreadable
from diskbench.fio.document import MisshapenError, read_disks, read_jobs, read_options
from diskbench.fio.reported import FioOutput
from diskbench.visible import UNKNOWN, unstorable, unstorable_words

__all__ = ["FioOutput", "parse_output"]

_OPEN_TEXT = re.compile(r'"(?:[^"\\]|\\.)*\\?', re.DOTALL)
"""A JSON string that is not closed."""
_START = re.compile(r'\{\s*"fio version"')
"""How fio begins each document (stat.c, client.c)."""

_ANY_START = re.compile(r'\{\s*"')
"""How a document begins that another program rewrote with its keys in another order."""

_BARE_NUMBER = re.compile(r":\s*-?(?:nan|inf)\b", re.IGNORECASE)
_FOREIGN_LINE = re.compile(r'^(?![ \t]*(?:["{}\[\]]|-?\d)).*\n?', re.MULTILINE)
"""A line that cannot be part of fio's JSON: it begins with no quote, bracket or digit."""

_MOST_CANDIDATES = 32


def parse_output(data: bytes, *, where: str) -> FioOutput:
    """The last complete document in `data`, which came from the file `where`.

    Raises FioOutputUnreadable naming `where`, the cause and the position where there is none.
    """
    document = _find_document(data, where)
    root, notes = document.root, list(document.notes)
    if (bad := unstorable(root)) is not None:
        raise _unreadable(where, f"the text {unstorable_words(bad)}")
    try:
        jobs, disks = read_jobs(root), read_disks(root)
    except MisshapenError as error:
        raise _unreadable(where, str(error)) from None
    if not jobs:
        printed = f"; fio said: {document.text.splitlines()[0][:200]}" if document.text else ""
        raise _unreadable(where, f"it lists no job: fio ended before it started one{printed}")
    if document.documents > 1:
        notes.append(f"{document.documents} documents (--status-interval): the last one is used")
    stamp = root.get("timestamp_ms")
    if stamp is None and isinstance(root.get("timestamp"), int):
        stamp = root["timestamp"] * 1000
    stamp = stamp if isinstance(stamp, int) else None
    # A client writes its time when it connects (client.c), fio alone when it ends (stat.c).
    client = "client_stats" in root and not root.get("jobs")
    return FioOutput(
        where=where,
        version=str(root.get("fio version", "unknown")),
        jobs=jobs,
        options=read_options(root.get("global options")),
        timestamp_ms=None if client else stamp,
        begun_ms=stamp if client else None,
        timeless=client,
        disks=disks,
        documents=document.documents,
        interim=document.interim,
        text=document.text,
        notes=tuple(notes),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """The document to use, the text around all documents, and notes on what was unusual."""

    root: Mapping[str, Any]
    documents: int
    interim: bool
    text: str
    notes: tuple[str, ...]


def _find_document(data: bytes, where: str) -> _Found:
    """The last complete document of fio in `data`; raises FioOutputUnreadable without one."""
    text = data.decode("utf-8", errors="replace").replace("\0", UNKNOWN)
    if not text.strip():
        raise _unreadable(where, "the file is empty")
    starts = [m.start() for m in _START.finditer(text)]
    if not starts:
        starts = [m.start() for m in _ANY_START.finditer(text)][:_MOST_CANDIDATES]
    if not starts:
        raise _unreadable(where, f"no JSON document in it; it begins {text.strip()[:80]!r}")
    roots: list[tuple[int, int, dict[str, Any]]] = []
    outside: list[str] = []
    notes: list[str] = []
    problem = "no document of fio in it"
    end, broken_at, broken = 0, -1, 0
    for start in starts:
        if start < end:
            continue
        try:
            root, stop, repaired = _decode(text, start)
        except (ValueError, RecursionError) as error:
            problem, broken_at = _cause(text, error), start
            broken += 1
            _give_up_at(broken, problem, where)
            continue
        if not isinstance(root, dict) or not ("jobs" in root or "client_stats" in root):
            continue
        roots.append((start, stop, root))
        if repaired:
            notes.append(repaired)
        outside.append(text[end:start])
        end = stop
    if not roots:
        raise _unreadable(where, problem)
    truncated = broken_at > roots[-1][0]
    if truncated:
        notes.append(
            f"the last document, from character {broken_at} on, is not complete ({problem}); "
            "an earlier document, cumulative up to its own time, is used"
        )
    outside.append(text[end : broken_at if truncated else None])
    around = "".join(outside).strip()
    if around:
        notes.append(f"text around the JSON: {around.splitlines()[0][:120]!r}")
    return _Found(roots[-1][2], len(roots), truncated, around, tuple(dict.fromkeys(notes)))


def _give_up_at(broken: int, problem: str, where: str) -> None:
    """Raise after many broken documents: each is read to its end; thousands would take hours."""
    if broken > _MOST_CANDIDATES:
        raise _unreadable(where, f"{broken} documents in it are broken; {problem}")


def _decode(text: str, start: int) -> tuple[Any, int, str]:
    """The JSON value at `start`, where it ends in `text`, and what was repaired to read it."""
    decoder = json.JSONDecoder()
    try:
        root, end = decoder.raw_decode(text, start)
    except ValueError:
        following = _START.search(text, start + 1)
        limit = following.start() if following else len(text)
        numbers = _BARE_NUMBER.sub(": null", text[start:limit])
        lines = _FOREIGN_LINE.sub("", numbers)
        if lines == text[start:limit]:
            raise
        try:
            root, used = decoder.raw_decode(numbers)
        except ValueError:
            root, _ = decoder.raw_decode(lines)
            return root, limit, "lines of other text inside the JSON were left out"
        # Counted from the end, because the repair changed the length before it.
        end = limit - (len(numbers) - used)
        return root, end, "nan and inf, which are no JSON, were read as missing"
    return root, end, ""


def _cause(text: str, error: ValueError | RecursionError) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return "brackets are nested too deep" if isinstance(error, RecursionError) else str(error)
    if error.pos >= len(text.rstrip()) - 1 or _OPEN_TEXT.fullmatch(text, error.pos):
        return f"the file ends in the middle of a document, at character {error.pos}"
    return f"{error.msg} at line {error.lineno}, column {error.colno} (character {error.pos})"


def _unreadable(where: str, cause: str) -> FioOutputUnreadable:
    return FioOutputUnreadable(
        f"{where}: not readable as output of fio: {cause}",
        advice="the file was kept unchanged; look at it, and at stderr.txt in the same folder",
    )
