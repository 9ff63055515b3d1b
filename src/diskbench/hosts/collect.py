"""Fetch the files of a step as one tar, unpack them safely, and verify every checksum.

The tar comes compressed by what the host has, from this machine as it is, and after a break from
the byte where it broke (parts.py). The host is not trusted: only files with plain names are kept,
none with the name of a record that diskbench writes. Others are listed in LEFT_OUT.
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
from diskbench.hosts.calls import is_kept, request
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
from diskbench.units import counted, format_bytes

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
    parts = Parts(
        directory,
        STEP_BYTES,
        f"what step {unit.name} left on {host.name}",
        f"look at {unit.directory} there; where fio's logs are so large, use a shorter runtime, "
        "fewer jobs or a larger log_avg_msec",
    )

    def pause(state: tenacity.RetryCallState) -> float:
        return tenacity.wait_random(0, min(0.2 * 2**parts.fruitless, _LONGEST_WAIT_S))(state)

    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type((ConnectionLost, EvidenceDamaged)),
        wait=pause,
        stop=lambda _: parts.fruitless + parts.restarts >= ATTEMPTS,
        reraise=True,
    )
    try:
        collected = attempts(_collect_once, host, unit, parts)
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES}:
            raise StoreUnavailable(
                f"cannot keep the files of step {unit.name} in {directory}: {error.strerror}",
                advice=f"they are still on {host.name} in {unit.directory}; make room, then "
                "diskbench resume",
            ) from error
        raise
    names, left_out = set(collected.digests), collected.left_out
    if left_out:
        lines = [f"{name}: {why}\n" for name, why in left_out.items()]
        rest = [f"and {len(lines) - _MOST_NAMED} more\n"] if len(lines) > _MOST_NAMED else []
        (directory / LEFT_OUT).write_text("".join(lines[:_MOST_NAMED] + rest))
        names.add(LEFT_OUT)
        name, why = next(iter(left_out.items()))
        on_note(
            f"left out {counted(len(left_out), 'file')} of step {unit.name} from {host.name}: "
            f"{name} {why}; {LEFT_OUT} in its evidence lists all"
        )
    return tuple(sorted(directory / name for name in names))


def _collect_once(host: Host, unit: Unit, parts: Parts) -> _Collected:
    collected = _Collected(host, unit, parts)
    try:
        collected.fetch()
        collected.unpack()
        collected.verify()
    except (EvidenceDamaged, LimitExceeded):
        parts.discard()
        parts.restarts += 1
        raise
    parts.discard()
    collected.note_skipped()
    return collected


@dataclass
class _Collected:
    """The files of a step from one archive: those that are kept with their SHA-256 as they arrived,
    and why others were left out."""

    host: Host
    unit: Unit
    parts: Parts
    digests: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def leave_out(self, name: str, why: str) -> None:
        """Record why the file `name` is not kept."""
        shown = repr(name)[1:-1]
        self.left_out[shown if len(shown) <= NAME_CHARS else f"{shown[:NAME_CHARS]}…"] = why

    def fetch(self) -> None:
        """Let `parts` hold the whole archive. Raises EvidenceDamaged where it cannot be packed."""
        unit, host, parts = self.unit, self.host, self.parts
        packed_by = "cat" if isinstance(host, LocalHost) else parts.packed_by
        given = {"dir": unit.directory, "skip": parts.arrived, "packed_by": packed_by}
        text = request("pack", kept_in=unit.state_dir, **given)
        status = parts.fetch(
            lambda sink: host.fetch(text, sink, timeout_s=SILENCE_S, root=unit.root)
        )
        if status:
            is_kept(unit.state_dir, "")
            raise EvidenceDamaged(
                f"the files of step {unit.name} cannot be packed on {host.name} (exit {status})",
                advice=f"look at {unit.directory} there",
            )

    def unpack(self) -> None:
        """Write the plain files of the archive into the directory. Raises EvidenceDamaged where it
        is not whole."""
        unit, taken = self.unit, set[str]()
        # Under tarfile, which would read as much as a header says.
        stream = cast("IO[bytes]", Unpacked(self.parts))
        try:
            with tarfile.open(fileobj=stream, mode="r:") as tar:
                for number, member in enumerate(tar):
                    if number >= STEP_FILES:
                        raise LimitExceeded(
                            f"step {unit.name} left more than {STEP_FILES:,} files on "
                            f"{self.host.name}",
                            advice=self.parts.advice,
                        )
                    if why := _why_not(member, taken):
                        self.leave_out(member.name, why)
                    else:
                        taken.add(member.name.casefold())
                        self._write(tar, member)
                        # tarfile would keep every header, and headers may be large.
                        tar.members = []  # type: ignore[attr-defined]
        except (tarfile.TarError, EOFError, ValueError, RecursionError) as error:
            raise EvidenceDamaged(
                f"the archive of step {unit.name} from {self.host.name} is damaged: {error}"
            ) from error

    def _write(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        source, digest, size = tar.extractfile(member), hashlib.sha256(), 0
        assert source is not None
        with (self.parts.directory / member.name).open("wb") as file:
            while block := source.read(TAR_READ_BYTES):
                digest.update(block)
                file.write(block)
                size += len(block)
        if size != member.size:
            raise EvidenceDamaged(f"{member.name} of step {self.unit.name} arrived incomplete")
        self.digests[member.name] = digest.hexdigest()

    def verify(self) -> None:
        """Raise EvidenceDamaged unless every file has the checksum taken on the host."""
        sums, step = self.parts.directory / _SUMS, f"step {self.unit.name}"
        if _SUMS not in self.digests:
            raise EvidenceDamaged(f"{step} arrived from {self.host.name} without checksums")
        if sums.stat().st_size > RECORD_BYTES:
            raise LimitExceeded(
                f"{_SUMS} of {step} from {self.host.name} takes more than "
                f"{format_bytes(RECORD_BYTES)}",
                advice=self.parts.advice,
            )
        pairs = (line.partition(" ") for line in sums.read_text(errors="replace").splitlines())
        expected = {name.lstrip(" *"): digest for digest, _, name in pairs}
        for name, digest in expected.items():
            if name not in self.digests and not _PLAIN.fullmatch(name):
                self.leave_out(name, "is not a plain file name")
                continue
            arrived = self.digests.get(name, digest if name in self.left_out else "")
            if arrived != digest and name != _SUMS:
                raise EvidenceDamaged(
                    f"{name} of {step} does not match its checksum from {self.host.name}",
                    advice=f"the original is {self.unit.directory}/{name} there",
                )
        for name in self.digests.keys() - expected.keys() - {_SUMS}:
            self.leave_out(name, "has no checksum from the host")
            del self.digests[name]
            (self.parts.directory / name).unlink()

    def note_skipped(self) -> None:
        """List the files that the host left out, because they are nearly all holes."""
        if _SKIPPED not in self.digests:
            return
        with (self.parts.directory / _SKIPPED).open(errors="replace") as file:
            rows = [[*line.split(" ", 2), "", ""] for line in file.read(RECORD_BYTES).splitlines()]
        for size, written, name, *_ in rows:
            if (size_bytes := whole(size)) is not None and (kept := whole(written)) is not None:
                self.leave_out(
                    name,
                    f"has {format_bytes(size_bytes)}, but only {format_bytes(kept)} was ever "
                    f"written: the rest is holes",
                )


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
        return "has the name of another file except for letter case"
    if member.size > FILE_BYTES:
        return f"has {format_bytes(member.size)}; at most {format_bytes(FILE_BYTES)} are kept"
    return ""
