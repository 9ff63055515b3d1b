"""What dd and hdparm print: one line with an amount, a time and a rate.

dd's last line: GNU coreutils since 5.0, BusyBox, and BSD (coreutils src/dd.c: print_stats).

    419430400 bytes (419 MB, 400 MiB) copied, 5.60153 s, 74.9 MB/s

The bytes and the seconds are used; the rate that dd prints is rounded, in MB of 10^6. The lines
"records in" and "records out" give the I/Os, else the block of the command; lines of
`status=progress` are left out. What was done is not in dd's output: where the command stands above,
`of=/dev/null` is a read and anything else a write, and its flags say whether memory took part;
without it the row is of both directions, and whether a device did it is unknown.

hdparm -t and -T (hdparm.c: time_device, time_cache).

    Timing buffered disk reads: 806 MB in  3.00 seconds = 268.52 MB/sec

hdparm's MB are 2^20 bytes, read in pieces of 2 MiB (TIMING_BUF_MB). The amount and the seconds are
rounded to two decimals, so the rate is taken as printed, and the run time follows from it.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from diskbench.errors import InvalidValue
from diskbench.fio.numbers import bytes_of
from diskbench.importers import form
from diskbench.model.doubts import MAYBE_MEMORY, NOT_A_DISK
from diskbench.model.result import Direction, Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Step
from diskbench.units import KIB, MIB

_LAST = re.compile(
    r"^[ \t]*(?P<size>\d{1,19}) bytes\b[^\n]{0,80}? (?:copied|transferred in)[, ]+"
    r"(?P<seconds>\d{1,12}(?:[.,]\d{1,12})?(?:e[+-]?\d\d?)?) ?(?:s|seconds|secs?)\b",
    re.MULTILINE,
)
_RECORDS = re.compile(r"^[ \t]*(?P<whole>\d{1,18})\+(?P<part>\d{1,18}) records out", re.MULTILINE)
_COMMAND = re.compile(r"^.{0,200}\bdd\b .{0,400}$", re.MULTILINE)
_OPERAND = re.compile(r"\b(?P<key>if|of|i?bs|obs|iflag|oflag|conv)=(?P<value>[^\s;|&]+)")
_NO_DISK = re.compile(r"/dev/(?:zero|null|full|random|urandom|shm/\S+)$")
_FLAGS = re.compile(r"direct|f(?:data)?sync|d?sync")
_MOST_ABOVE = 64 * KIB
_MOST_LINES = 100_000
_LONGEST_BLOCK = 12
_DD_BLOCK = 512
_DD_UNITS = {"c": 1, "w": 2, "b": 512, "kB": 1000, "MB": 1000**2, "GB": 1000**3}
_UNSAID = "dd's command is not in the text: whether device or memory did the I/O is unknown"
_UNREAD = "dd read a file without iflag=direct: memory may have answered part of it"
_IN_MEMORY = (
    "dd wrote without oflag=direct and without a sync: part of it may still have been in memory"
)


def read_dd(data: bytes, name: str) -> form.Imported:
    """Each dd in the text as a step of one run. Raises InvalidValue."""
    text = _with_lines(form.text_of(data, name))
    steps = form.some(_dd_steps(text, name), name, "line of dd with bytes and seconds")
    notes = () if all(step.measurements[0].ios is not None for step in steps) else (
        "dd's records are not in the text: its I/O counts are empty",
    )  # fmt: skip
    return form.Imported("dd", "", (form.ImportedRun(steps),), {}, notes)


def _dd_steps(text: str, where: str) -> Iterator[form.ImportedStep]:
    index = before = 0
    results = list(itertools.islice(_LAST.finditer(text), _MOST_LINES + 1))
    if len(results) > _MOST_LINES:
        raise InvalidValue(f"{where}: it holds more than {_MOST_LINES:,} lines of dd")
    for match, following in itertools.zip_longest(results, results[1:]):
        assert match is not None
        above = text[max(before, match.start() - _MOST_ABOVE) : match.start()]
        records = _RECORDS.findall(above)
        if not records and _is_progress(match, following, text):
            continue
        commands = _COMMAND.findall(above)
        step = form.step_of(index, "dd" if index == 0 else f"dd-{index + 1}")
        at = f"{where}: dd line {index + 1}"
        asked = _asked(commands[-1]) if commands else {}
        yield _dd_step(match, records, asked, step, at)
        before, index = match.end(), index + 1


def _is_progress(match: re.Match[str], following: re.Match[str] | None, text: str) -> bool:
    """Whether a line is of `status=progress`: a later one of the same dd counts on from it."""
    if following is None or _COMMAND.search(text, match.end(), following.start()):
        return False
    size, seconds = (
        [form.number(found[key].replace(",", "."), "") for found in (match, following)]
        for key in ("size", "seconds")
    )
    return match["seconds"].isdecimal() and size[0] <= size[1] and seconds[0] <= seconds[1]


def _dd_step(
    match: re.Match[str], records: Sequence[tuple[str, str]], asked: Mapping[str, str],
    step: Step, where: str,
) -> form.ImportedStep:  # fmt: skip
    size = int(match["size"])
    full, partial = (int(n) for n in records[-1]) if records else (0, 0)
    ios = full + partial
    block = size // ios if ios and not partial and size % ios == 0 else None
    direction: Direction = "mixed"
    if asked:
        direction = "read" if asked.get("of") == "/dev/null" else "write"
        own = "ibs" if direction == "read" else "obs"
        block = block or _dd_bytes(asked.get("bs") or asked.get(own) or "") or _DD_BLOCK
        ios = ios or -(-size // block)
    made = form.row(
        step=step, direction=direction, where=where, ios=ios or None, size=size, block=block,
        seconds=form.number(match["seconds"].replace(",", "."), where),
        rw=direction if direction != "mixed" else None,
        depth=1 if _flags(asked, direction) & {"direct", "sync", "dsync"} else None,
    )  # fmt: skip
    return form.ImportedStep(step, (made,), warnings=tuple(_doubts(asked, direction)))


def _asked(command: str) -> Mapping[str, str]:
    return {match["key"]: match["value"] for match in _OPERAND.finditer(command)} or {"of": ""}


def _flags(asked: Mapping[str, str], direction: Direction) -> set[str]:
    """The flags of the file that is measured. `conv=sync` pads blocks and waits for nothing."""
    flags = set(_FLAGS.findall(asked.get("iflag" if direction == "read" else "oflag", "")))
    return flags | (set(_FLAGS.findall(asked.get("conv", ""))) & {"fsync", "fdatasync"})


def _dd_bytes(text: str) -> int | None:
    """A block of dd: `1M` is 2^20 bytes, `1MB` 10^6."""
    digits = text[: len(text) - len(text.lstrip("0123456789"))]
    unit = text[len(digits) :]
    if not digits or len(digits) > _LONGEST_BLOCK:
        return None
    return int(digits) * _DD_UNITS[unit] if unit in _DD_UNITS else bytes_of(text.replace("iB", ""))


def _doubts(asked: Mapping[str, str], direction: Direction) -> Iterator[Warning]:
    """What a command of dd says against its figure: no file of it is on a disk, or memory may have
    taken part. A device is read from the disk: its pages are dropped when it is closed."""
    files = [asked[key] for key in ("if", "of") if key in asked]
    flags = _flags(asked, direction)
    if len(files) == 2 and all(map(_NO_DISK.search, files)):
        yield NOT_A_DISK.warning(f"dd moved data from {files[0]} to {files[1]}")
    elif not asked:
        yield MAYBE_MEMORY.warning(_UNSAID)
    elif direction == "write" and not flags:
        yield MAYBE_MEMORY.warning(_IN_MEMORY)
    elif direction == "read" and not flags and not asked.get("if", "").startswith("/dev/"):
        yield MAYBE_MEMORY.warning(_UNREAD)


def _with_lines(text: str) -> str:
    """The text with a line for each that a terminal wrote over another."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


DD = form.Format(
    "dd",
    "dd's last line",
    lambda data, _: _LAST.search(_with_lines(form.head_of(data))) is not None,
    read_dd,
)


_TIMING = re.compile(
    r"Timing (?P<what>buffered disk|O_DIRECT disk|cached|buffer-cache|O_DIRECT cached) reads: *"
    r"(?P<mb>\d{1,9}) MB in +(?P<seconds>\d{1,6}\.\d{1,4}) seconds += *"
    r"(?P<rate>\d{1,9}(?:\.\d{1,4})?) (?P<unit>[kMG])B/sec"
)
_BUFFER = 2 * MIB
_STEP_NAMES = {
    "buffered disk": "buffered-reads", "O_DIRECT disk": "direct-reads",
    "cached": "cached-reads", "buffer-cache": "cached-reads", "O_DIRECT cached": "cached-reads",
}  # fmt: skip
_CACHED = {
    "cached": NOT_A_DISK.warning("hdparm -T reads the page cache, not the disk"),
    "O_DIRECT cached": MAYBE_MEMORY.warning(
        "hdparm -T --direct reads the same 2 MiB again and again: a cache of the drive may answer",
        advice="hdparm -t --direct reads the medium",
    ),
}
_CACHED["buffer-cache"] = _CACHED["cached"]
_UNITS = {"k": 1024, "M": MIB, "G": 1024 * MIB}
_ROUNDED = 0.03
"""Most by which amount / seconds may differ from the printed rate, beside half of the last digit of
the seconds: both are rounded."""


def read_hdparm(data: bytes, name: str) -> form.Imported:
    """Each timing in the text as a step of one run. Raises InvalidValue."""
    steps = form.some(_hdparm_steps(form.text_of(data, name), name), name, "timing of hdparm")
    return form.Imported("hdparm", "", (form.ImportedRun(steps),))


def _hdparm_steps(text: str, where: str) -> Iterator[form.ImportedStep]:
    used: dict[str, int] = {}
    for index, match in enumerate(_TIMING.finditer(text)):
        base = _STEP_NAMES[match["what"]]
        used[base] = used.get(base, 0) + 1
        step = form.step_of(index, base if used[base] == 1 else f"{base}-{used[base]}")
        size = int(match["mb"]) * MIB
        at = f"{where}: {match['what']} reads"
        rate = form.number(match["rate"], at) * _UNITS[match["unit"]]
        seconds = form.number(match["seconds"], at)
        off = _ROUNDED + 10.0 ** -len(match["seconds"].partition(".")[2]) / 2 / (seconds or 1.0)
        if not rate or not seconds or abs(size / seconds / rate - 1) > off:
            raise InvalidValue(f"{at}: {match[0][-60:]!r}: amount, seconds and rate disagree")
        made = form.row(
            step=step, direction="read", where=at, ios=-(-size // _BUFFER), size=size,
            seconds=size / rate, rw="read", block=_BUFFER,
        )  # fmt: skip
        doubt = _CACHED.get(match["what"])
        yield form.ImportedStep(step, (made,), warnings=(doubt,) if doubt else ())


HDPARM = form.Format(
    "hdparm",
    "hdparm -tT",
    lambda data, _: b"reads:" in data and _TIMING.search(form.head_of(data)) is not None,
    read_hdparm,
)
