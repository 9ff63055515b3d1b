"""Fetch the files of a step as one tar, unpack them safely, and verify every checksum.

The tar comes compressed by what the host has, from this machine as it is. Where the connection
breaks, the next one continues at the byte of the tar where it broke (parts.py): a slow link sends
each byte once.

The host is not trusted: only files with plain names are kept, never one with the name of a record
that diskbench writes. Files that are not kept are listed in LEFT_OUT.
"""

from __future__ import annotations

import errno
import hashlib
import re
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from diskbench.errors import ConnectionLost, EvidenceDamaged, LimitExceeded, StoreUnavailable
from diskbench.hosts.calls import request
from diskbench.hosts.local import LocalHost
from diskbench.hosts.parts import Parts, Unpacked
from diskbench.hosts.shell import whole
from diskbench.hosts.unit import Unit
from diskbench.limits import (
    FILE_BYTES,
    NAME_CHARS,
    RECORD_BYTES,
    STEP_BYTES,
    STEP_FILES,
    TAR_READ_BYTES,
)
from diskbench.model.result import LEFT_OUT, RECORD_NAMES
from diskbench.ports import Host
from diskbench.units import format_bytes

ATTEMPTS = 8
"""Connections in a row that bring nothing, and damaged archives, after which a fetch is given up
for now; our choice. A connection that brings anything counts anew."""
_LONGEST_WAIT_S = 10.0
"""Between two attempts; our choice."""
SILENCE_S = 60.0
"""Seconds without data after which a fetch is given up; gzip of a large log is slow."""
_SUMS = "SHA256SUMS"
_SKIPPED = "skipped.txt"
"""What the host leaves out: a line `SIZE WRITTEN NAME` for each (agent.py)."""
_PLAIN = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.,+@=#-]{{0,{NAME_CHARS - 1}}}")
_READ = ("fio.json", "fio.exit", "stderr.txt", "samples.txt", "cache.txt", _SUMS)
"""The files that results are computed from. A file whose name differs only in letter case must not
replace one of them."""
_MOST_NAMED = 50
"""How many left-out files LEFT_OUT names."""


def collect(
    host: Host, unit: Unit, directory: Path, *, on_note: Callable[[str], None] = lambda _: None
) -> tuple[Path, ...]:
    """Fetch the files of a finished unit into `directory`; returns their paths, sorted.

    Files that cannot be kept (links, devices, names that are no plain file names or belong to
    records of diskbench, files beyond a limit) are left out; the file LEFT_OUT lists them with the
    reasons, and `on_note` gets a message. Raises EvidenceDamaged where files repeatedly do not
    match the checksums of the host, LimitExceeded where they exceed the limit of a step,
    StoreUnavailable where there is no room here, ConnectionLost where the host stays unreachable.
    """
    import tenacity  # at use: commands that only look at hosts do without it

    directory.mkdir(parents=True, exist_ok=True)
    parts = Parts(directory, STEP_BYTES)
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type((ConnectionLost, EvidenceDamaged)),
        wait=lambda state: tenacity.wait_random(0, min(0.2 * 2**parts.fruitless, _LONGEST_WAIT_S))(
            state
        ),
        stop=lambda _: parts.fruitless + parts.restarts >= ATTEMPTS,
        reraise=True,
    )
    try:
        collected = attempts(_collect_once, host, unit, directory, parts)
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES}:
            raise StoreUnavailable(
                f"cannot keep the files of step {unit.name} in {directory}: {error.strerror}",
                advice=f"they are still on {host.name} in {unit.directory}; make room, then "
                "diskbench resume",
            ) from error
        raise
    _note_skipped(directory, collected)
    if collected.left_out:
        (directory / LEFT_OUT).write_text(collected.text())
        collected.kept.append(LEFT_OUT)
        first = next(iter(collected.left_out.items()))
        on_note(
            f"{len(collected.left_out)} files of step {unit.name} from {host.name} are left out: "
            f"{first[0]} {first[1]}; all are in {LEFT_OUT} of its evidence"
        )
    return tuple(sorted(directory / name for name in collected.kept))


@dataclass
class _Collected:
    """The names of the files that were unpacked, and why others were left out."""

    kept: list[str] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    """The SHA-256 of each file that is kept, as it arrived."""
    left_out: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """The text of LEFT_OUT."""
        lines = [f"{name}: {why}\n" for name, why in self.left_out.items()]
        rest = len(lines) - _MOST_NAMED
        return "".join(lines[:_MOST_NAMED]) + (f"and {rest} more\n" if rest > 0 else "")

    def leave_out(self, name: str, why: str) -> None:
        """Record why the file `name` is not kept."""
        shown = repr(name)[1:-1]
        self.left_out[shown if len(shown) <= NAME_CHARS else f"{shown[:NAME_CHARS]}…"] = why


def _collect_once(host: Host, unit: Unit, directory: Path, parts: Parts) -> _Collected:
    try:
        _fetch(host, unit, parts)
        collected = _unpack(parts, directory, unit, host)
        _verify(directory, collected, unit, host)
    except (EvidenceDamaged, LimitExceeded):
        parts.discard()
        parts.restarts += 1
        raise
    parts.discard()
    return collected


def _fetch(host: Host, unit: Unit, parts: Parts) -> None:
    """Let `parts` hold the whole archive. Raises EvidenceDamaged where it cannot be packed."""
    text = request(
        "pack",
        dir=unit.directory,
        skip=parts.arrived,
        packed_by="cat" if isinstance(host, LocalHost) else parts.packed_by,
    )
    status = parts.fetch(
        lambda sink: host.fetch(text, sink, timeout_s=SILENCE_S, root=unit.root),
        _all_of(unit, host),
        _too_much(unit),
    )
    if status:
        raise EvidenceDamaged(
            f"the files of step {unit.name} cannot be packed on {host.name} (exit {status})",
            advice=f"look at {unit.directory} there",
        )


def _unpack(parts: Parts, directory: Path, unit: Unit, host: Host) -> _Collected:
    """Write the plain files of the archive into `directory`. Raises EvidenceDamaged where it is not
    whole."""
    try:
        return _unpacked(parts, directory, unit, host)
    except (tarfile.TarError, EOFError, ValueError, RecursionError) as error:
        raise EvidenceDamaged(
            f"the archive of step {unit.name} from {host.name} is damaged: {error}"
        ) from error


def _unpacked(parts: Parts, directory: Path, unit: Unit, host: Host) -> _Collected:
    collected, taken = _Collected(), set[str]()
    # Under tarfile, which would read as much as a header says.
    stream = cast("IO[bytes]", _Bounded(Unpacked(parts), unit, host))
    with tarfile.open(fileobj=stream, mode="r:") as tar:
        for number, member in enumerate(tar):
            if number >= STEP_FILES:
                raise LimitExceeded(
                    f"step {unit.name} left more than {STEP_FILES:,} files on {host.name}",
                    advice=_too_much(unit),
                )
            why = _why_not(member, taken)
            if why:
                collected.leave_out(member.name, why)
                continue
            taken.add(member.name.casefold())
            source = tar.extractfile(member)
            assert source is not None
            digest, size = hashlib.sha256(), 0
            with (directory / member.name).open("wb") as file:
                while block := source.read(TAR_READ_BYTES):
                    digest.update(block)
                    file.write(block)
                    size += len(block)
            if size != member.size:
                raise EvidenceDamaged(f"{member.name} of step {unit.name} arrived incomplete")
            collected.digests[member.name] = digest.hexdigest()
            collected.kept.append(member.name)
            # tarfile would keep every header, and headers may be large.
            tar.members = []  # type: ignore[attr-defined]
    return collected


def _why_not(member: tarfile.TarInfo, taken: set[str]) -> str:
    """Why a member of the archive is not kept; empty for a plain file of moderate size."""
    if not _PLAIN.fullmatch(member.name):
        return "is not a plain file name"
    if not member.isreg() or member.issparse():
        return "is not a plain file"
    folded = member.name.casefold()
    if folded in {*RECORD_NAMES, LEFT_OUT}:
        return "has the name of a record that diskbench writes itself"
    others = {name.casefold() for name in _READ if name != member.name}
    if folded in taken | others:
        return "has the name of another file, letter case aside"
    if member.size > FILE_BYTES:
        return f"has {format_bytes(member.size)}; at most {format_bytes(FILE_BYTES)} are kept"
    return ""


class _Bounded:
    """The unpacked archive for tarfile, which may read up to STEP_BYTES, and little at once."""

    def __init__(self, stream: Unpacked, unit: Unit, host: Host) -> None:
        self._stream, self._unit, self._host = stream, unit, host

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= TAR_READ_BYTES:
            raise ValueError(f"a header of {size:,} bytes")
        self._check(self._stream.tell() + size)
        return self._stream.read(size)

    def seek(self, position: int) -> int:
        self._check(position)
        return self._stream.seek(position)

    def tell(self) -> int:
        return self._stream.tell()

    def _check(self, position: int) -> None:
        if position > STEP_BYTES:
            raise LimitExceeded(
                f"{_all_of(self._unit, self._host)} takes more than {format_bytes(STEP_BYTES)}",
                advice=_too_much(self._unit),
            )


def _note_skipped(directory: Path, collected: _Collected) -> None:
    """List the files that the host left out, because they are nearly all holes."""
    if _SKIPPED not in collected.kept:
        return
    with (directory / _SKIPPED).open(errors="replace") as file:
        for line in file.read(RECORD_BYTES).splitlines():
            size, written, name = [*line.split(" ", 2), "", "", ""][:3]
            if (size_bytes := whole(size)) is not None and (kept := whole(written)) is not None:
                collected.leave_out(
                    name,
                    f"has {format_bytes(size_bytes)}, of which {format_bytes(kept)} were ever "
                    "written: the rest are holes",
                )


def _all_of(unit: Unit, host: Host) -> str:
    return f"what step {unit.name} left on {host.name}"


def _too_much(unit: Unit) -> str:
    return (
        f"look at {unit.directory} there; where fio's logs are so large, use a shorter runtime, "
        "fewer jobs or a larger log_avg_msec"
    )


def _verify(directory: Path, collected: _Collected, unit: Unit, host: Host) -> None:
    """Raise EvidenceDamaged unless every file has the checksum taken on the host."""
    if _SUMS not in collected.kept:
        raise EvidenceDamaged(f"step {unit.name} arrived from {host.name} without checksums")
    if (directory / _SUMS).stat().st_size > RECORD_BYTES:
        raise LimitExceeded(
            f"{_SUMS} of step {unit.name} from {host.name} takes more than "
            f"{format_bytes(RECORD_BYTES)}",
            advice=_too_much(unit),
        )
    expected: dict[str, str] = {}
    for line in (directory / _SUMS).read_text(errors="replace").splitlines():
        digest, _, name = line.partition(" ")
        expected[name.lstrip(" *")] = digest
    for name in expected.keys() - set(collected.kept) - collected.left_out.keys():
        if _PLAIN.fullmatch(name):
            raise _mismatch(name, unit, host)
        collected.leave_out(name, "is not a plain file name")
    for name in [name for name in collected.kept if name != _SUMS]:
        if name not in expected:
            collected.leave_out(name, "has no checksum from the host")
            collected.kept.remove(name)
            (directory / name).unlink()
        elif collected.digests[name] != expected[name]:
            raise _mismatch(name, unit, host)


def _mismatch(name: str, unit: Unit, host: Host) -> EvidenceDamaged:
    return EvidenceDamaged(
        f"{name} of step {unit.name} does not match its checksum from {host.name}",
        advice=f"the original is {unit.directory}/{name} there",
    )
