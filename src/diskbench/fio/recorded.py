"""What a step's unit recorded beside fio: fio's end, the host's clock, the page cache, canaries.

end.txt           why fio ended as it did, with its exit status and stderr; by how much the host's
                  clock was moved. All durations come from clocks that only go forward (fio's own,
                  the uptime), so no figure depends on it. Times of day do: the end of a step is its
                  start plus `seconds_in_fio`
cache.txt         whether the page cache was dropped before the step
canary-*.txt      the same short work before and after a trial (docs/METHOD.md, "Canary")
volume.txt        the cloud's own word on the limit of a step

A line of volume.txt is `WHEN NUMBER PAGE`: `before` or `after` fio, the kernel's number of the
disk, and in hexadecimal the log page 0xD0 of its NVMe volume, whose vendor counts so. The page has
4,096 bytes, little endian: the magic number 0x3C23B510, four unused bytes, then eleven counters of
64 bits (nvme-cli, plugins/amzn/amzn-nvme.c). Four of them are the microseconds for which more was
asked than the volume, or the machine, allows. They only grow, so their differences belong to the
step; to the time that fio took, a read of the page before and after it adds some milliseconds.
"""

import json
import math
import re
import signal
import struct
from collections.abc import Iterator, Mapping
from typing import Literal

from diskbench.fio.declared import Case, is_set
from diskbench.model.base import Frozen
from diskbench.model.doubts import CACHE_KEPT, CLOCK_MOVED, FILES_LEFT_OUT, NO_CANARY
from diskbench.model.expectation import LimitName
from diskbench.model.metrics import Exceeded
from diskbench.model.result import LEFT_OUT, Warning  # noqa: A004 - the field's word
from diskbench.units import format_bytes

STDERR = "stderr.txt"
END = "end.txt"
_OUTPUT = "fio.json"
_TAIL_LINES = 5
_SIGNALLED = 128
"""fio's exit status after SIGINT or SIGTERM; a shell adds the number of any other signal to it."""
_NOT_STARTED = re.compile(r"job startup hung|\d+ jobs? failed to start")
_JOB_KILLED = re.compile(r"got signal=(\d+)")
_CHECKSUM_MIB = 8
"""How much a canary makes the checksum of (hosts/agent.py)."""
CHECKSUM_S, NULL_IOPS = f"checksum of {_CHECKSUM_MIB} MiB s", "null IOPS"
CACHED_SHARE = 0.01
"""A drop counts as verified when at most this share of what was cached is still there, or 1 MiB
(metadata that was read again at once); our choice."""
_ALWAYS_FINE_BYTES = 2**20


def clock_moved_s(end: bytes) -> float:
    """By how much the host's clock was moved, from end.txt; 0 where it does not say."""
    try:
        moved = float(_values(end).get("clock_moved_s", "0"))
    except ValueError:
        return 0.0
    return moved if abs(moved) < float("inf") else 0.0


def was_shutting_down(end: bytes) -> bool:
    """Whether the machine was shutting down when fio ended, from end.txt."""
    return _values(end).get("system") == "stopping"


def why_failed(fio_exit: int, files: Mapping[str, bytes]) -> tuple[str, str] | None:
    """What went wrong in fio, as the beginning of a message, and what to do next; None where fio
    ended well. The last lines of its stderr are not included: see `last_words`."""
    text = "".join(files.get(name, b"").decode(errors="replace") for name in (STDERR, _OUTPUT))
    killed = _JOB_KILLED.search(text)
    number = int(killed[1]) if killed else fio_exit - _SIGNALLED
    oom = _whole(_values(files.get(END, b"")).get("oom_kills")) or 0
    if _NOT_STARTED.search(files.get(STDERR, b"").decode(errors="replace")):
        return (
            "fio gave up before it measured: one of its jobs did not start in time",
            "the machine was short of CPU or memory; give it fewer jobs, or a larger machine",
        )
    if fio_exit == 0:
        return None
    if number == signal.SIGKILL and oom:
        killed_by_oom = f"the kernel killed {oom} process{'es' if oom > 1 else ''} meanwhile"
        return (
            f"fio was killed (signal 9): out of memory, {killed_by_oom}",
            "give it fewer jobs, a lower queue depth or smaller blocks, or a larger machine",
        )
    if number in {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, 0}:
        signal_name = f"signal {number}" if number else "SIGTERM or SIGINT"
        return (
            f"fio was ended by {signal_name} on the host; diskbench did not send it",
            "look for who did: dmesg and journalctl of the host, or the users logged in there",
        )
    if 0 < number < signal.NSIG:
        return (
            f"fio crashed: {_name(number)}",
            "its files are in the evidence; another version of fio may not crash",
        )
    if fio_exit in {126, 127}:
        return (f"fio could not be run (exit {fio_exit})", "install fio on the host")
    return (
        f"fio ended with status {fio_exit}",
        "its job file and output are in the evidence: 'diskbench results show' names it",
    )


def last_words(files: Mapping[str, bytes]) -> str:
    """The last lines that fio wrote to stderr, or among its output, as the end of a message."""
    for name in (STDERR, _OUTPUT):
        text = files.get(name, b"").decode(errors="replace")
        outside, _, document = f"\n{text}".partition("\n{")
        # fio begins what it says of a job with the job's name: "r: you need to specify size=".
        lines = (text if name == STDERR else outside).strip().splitlines()
        shown = lines or [line for line in document.splitlines() if "fio:" in line]
        if shown:
            return ":\n  " + "\n  ".join(shown[-_TAIL_LINES:])
    return ""


def _name(number: int) -> str:
    try:
        return f"signal {number}, {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"


def _values(data: bytes) -> dict[str, str]:
    """The lines `KEY VALUE` of a file."""
    lines = data.decode(errors="replace").splitlines()
    return dict(line.split(" ", 1) for line in lines if " " in line)


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.strip().isdecimal() and len(text) < 20 else None


def clock_doubts(case: Case) -> Iterator[Warning]:
    """The doubt in the times of day of a step."""
    moved = clock_moved_s(case.files.get(END, b""))
    if moved:
        yield CLOCK_MOVED.warning(
            f"the host's clock was moved by {moved:+.1f} s during {case.step.name}; durations "
            f"come from a monotonic clock and are right"
        )


def left_out_doubts(case: Case) -> Iterator[Warning]:
    """That files of the host were not kept."""
    lines = case.files.get(LEFT_OUT, b"").decode(errors="replace").splitlines()
    if lines:
        yield FILES_LEFT_OUT.warning(
            f"files of the host were not kept: {lines[0]}"
            + (f", and {len(lines) - 1} more" if len(lines) > 1 else ""),
            advice=f"{LEFT_OUT} in the step's evidence lists them",
        )


class CacheDrop(Frozen):
    """How the page cache was dropped. `what` was counted: the test files' pages (fincore), or for a
    raw device the kernel's buffers (/proc/meminfo). Bytes are None where the host has no count."""

    method: Literal["drop_caches", "fadvise", "none", "kept"]
    what: str = ""
    before_bytes: int | None = None
    after_bytes: int | None = None

    @property
    def verified(self) -> bool | None:
        """Whether the cache was empty afterwards; None where that is not known."""
        if self.method == "kept" or self.after_bytes is None:
            return None
        if self.method == "none":
            return False
        before = self.before_bytes or 0
        return self.after_bytes <= max(_ALWAYS_FINE_BYTES, before * CACHED_SHARE)


def parse_cache_drop(data: bytes) -> CacheDrop | None:
    """The contents of cache.txt; None where it names no known method."""
    values = _values(data)
    method = values.get("method")
    if method not in ("drop_caches", "fadvise", "none", "kept"):
        return None
    return CacheDrop(
        method=method,
        what=values.get("what", ""),
        before_bytes=_whole(values.get("before_bytes")),
        after_bytes=_whole(values.get("after_bytes")),
    )


def kept_cache_doubts(case: Case) -> Iterator[Warning]:
    """The doubt in a buffered step whose page cache was to be dropped and was still there."""
    drop = parse_cache_drop(case.files.get("cache.txt", b""))
    buffered = any(not is_set(options, "direct") for options in case.sections.values())
    if drop is None or drop.verified is not False or not buffered:
        return
    state = "could not be" if drop.method == "none" else "was not empty after it was"
    amount = f": {format_bytes(drop.after_bytes)} of {drop.what} left" if drop.after_bytes else ""
    words = f"the page cache {state} dropped{amount}; reads may have come from memory"
    yield CACHE_KEPT.warning(words)


def parse_canary(data: bytes) -> dict[str, float]:
    """The figures of a canary-before.txt or canary-after.txt by name, without a part that could not
    be run or read; never fails."""
    head, _, after_head = data.decode(errors="replace").partition("\n")
    word, _, value = head.partition(" ")
    seconds = _positive(value) if word == f"checksum_{_CHECKSUM_MIB}mib_s" else None
    try:
        document = json.loads(after_head[after_head.find("{") : after_head.rfind("}") + 1])
        iops = _positive(document["jobs"][0]["read"]["iops"])
    except (ValueError, LookupError, TypeError, RecursionError):
        iops = None
    figures = {CHECKSUM_S: seconds, NULL_IOPS: iops}
    return {name: figure for name, figure in figures.items() if figure is not None}


def canary_doubts(case: Case) -> Iterator[Warning]:
    """The doubt in a step whose canary took too long and was ended there."""
    canaries = (item for item in case.files.items() if item[0].startswith("canary"))
    late = [name for name, data in canaries if data.startswith(b"limit ")]
    if late:
        yield NO_CANARY.warning(
            f"the canary beside {case.step.name} was ended because it took too long: {late[0]}"
        )


def _positive(value: object) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if number > 0 and math.isfinite(number) else None


VOLUME = "volume.txt"
PAGE_BYTES = 4096
MAGIC = 0x3C23B510
_HEAD = struct.Struct("<I4x11Q")
_FIRST_TIME = 6
_TIMES: tuple[LimitName, ...] = ("disk-iops", "disk-throughput", "vm-iops", "vm-throughput")
"""The limits whose times follow six counters of what was done, in the page's order."""
_US_PER_S = 1e6


def parse_exceeded(data: bytes) -> Exceeded | None:
    """The seconds of a step beyond each limit, of several volumes those of the one that was beyond
    it the longest; None where any page is missing, damaged, or counts backwards. Never raises,
    whatever the host wrote there."""
    pages: dict[bytes, dict[bytes, tuple[int, ...]]] = {b"before": {}, b"after": {}}
    for line in data.splitlines():
        when, number, page = (*line.split(b" ", 2), b"", b"")[:3]
        times = _times(page)
        if when not in pages or times is None:
            return None
        pages[when][number] = times
    before, after = pages[b"before"], pages[b"after"]
    if not before or before.keys() != after.keys():
        return None
    grown = [
        tuple(end - begin for begin, end in zip(before[number], after[number], strict=True))
        for number in before
    ]
    if any(value < 0 for values in grown for value in values):
        return None
    longest = (max(values) / _US_PER_S for values in zip(*grown, strict=True))
    return Exceeded(dict(zip(_TIMES, longest, strict=True)))


def _times(page: bytes) -> tuple[int, ...] | None:
    try:
        raw = bytes.fromhex(page.decode("ascii"))
    except ValueError:
        return None
    if len(raw) != PAGE_BYTES:
        return None
    magic, *counters = _HEAD.unpack_from(raw)
    if magic != MAGIC:
        return None
    return tuple(counters[_FIRST_TIME : _FIRST_TIME + len(_TIMES)])
